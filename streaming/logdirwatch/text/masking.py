"""Settings with secrets masked."""

import re
from typing import Any

MASK = "********"

# Kafka's and Spark's own names: sasl.jaas.config, ssl.key.password, ssl.keystore.key, fs.s3a.access.key, ...
MASKED_NAMES = r"(?i)password|passphrase|secret|jaas|token|credential|(^|[._])key([._]|$)"
"""The names of keys that hold secrets; a regular expression for Python and for Java."""

_SECRET_KEY = re.compile(MASKED_NAMES)
_USER_INFO = re.compile(r"(?<=://)[^/@\s]+@")


def masked(value: Any, key: str = "") -> Any:
    """Return ``value`` for printing: values of secret keys, and the user part of URLs, are masked."""
    if isinstance(value, dict):
        return {name: masked(item, str(name)) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [masked(item, key) for item in value]
    if isinstance(value, str):
        return MASK if value and _SECRET_KEY.search(key) else _USER_INFO.sub(f"{MASK}@", value)
    return value
