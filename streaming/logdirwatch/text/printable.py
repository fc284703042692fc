"""Makes text of unknown origin safe to print: no control sequences, and no secrets."""

import re
from typing import Any


def printable(text: str) -> str:
    r"""Return a text on one line without control characters; those that cannot be shown are escaped.

    >>> print(printable("a\tb\x1b[31m"))
    a\tb\x1b[31m
    """
    return text if text.isprintable() else "".join(char if char.isprintable() else repr(char)[1:-1] for char in text)


def printable_lines(text: str) -> str:
    """Return a text that keeps its line ends, with each line ``printable``."""
    return "\n".join(map(printable, text.split("\n")))


_NAME = re.compile(r"[\w .-]{1,64}")


def name_or_mask(text: str) -> str:
    """Return a key as it was written if it is a name: anything else may be a secret in the wrong place.

    >>> name_or_mask("slack://TokenA/TokenB")
    '********'
    """
    return text if _NAME.fullmatch(text) else MASK


MASK = "********"

# Kafka's and Spark's own names: sasl.jaas.config, ssl.key.password, ssl.keystore.key, fs.s3a.access.key, ...
MASKED_NAMES = r"(?i)password|passphrase|secret|jaas|token|credential|(^|[._])key([._]|$)"
"""The names of keys that hold secrets; a regular expression for Python and for Java."""

# In mappings whose names are Kafka's or Spark's, whatever is not listed here may be a secret, even a misspelt one.
_FREE_MAPPINGS = ("client", "extra")
_HARMLESS_NAMES = re.compile(
    r"security\.protocol|client\.(id|dns\.lookup)|sasl\.(mechanism|username|kerberos\.service\.name)"
    r"|ssl\.(key|trust)store\.(location|type)|ssl\.endpoint\.identification\.algorithm"
    r"|sasl\.oauthbearer\.token\.endpoint\.url|sasl\.(login|client)\.callback\.handler\.class"
    r"|(request\.timeout|connections\.max\.idle|metadata\.max\.age|(reconnect|retry)\.backoff(\.max)?)\.ms"
    r"|spark\.(app|default|dynamicAllocation|eventLog|local|locality|memory|network|rpc|scheduler|serializer|shuffle"
    r"|speculation|sql|task|ui)(\..+)?|spark\.(driver|executor)\.(cores|memory|memoryOverhead|instances)"
)

_SECRET_KEY = re.compile(MASKED_NAMES)
_USER_INFO = re.compile(r"(?<=://)[^/@\s]+@")
_QUERY = re.compile(r"(://[^?\s]+\?)\S+")
"""Where a signed URL has its signature."""


def masked(value: Any, key: str = "") -> Any:
    """Return ``value`` for printing: values of secret keys, user part and query of URLs, are masked.

    Of client properties and Spark's configuration, every value is masked that is not known to be harmless.
    """
    if isinstance(value, dict):
        is_free = key in _FREE_MAPPINGS and not any(isinstance(item, dict) for item in value.values())
        return {name: _free(str(name), item) if is_free else masked(item, str(name)) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [masked(item, key) for item in value]
    if isinstance(value, str):
        shown = _QUERY.sub(rf"\1{MASK}", _USER_INFO.sub(f"{MASK}@", value))
        return MASK if value and _SECRET_KEY.search(key) else shown
    return value


def _free(name: str, value: Any) -> Any:
    if name == "databricks.serviceCredential":
        return value  # the name of a credential, not the credential
    return masked(value, name) if _HARMLESS_NAMES.fullmatch(name) or not value else MASK
