"""What is said when a cluster cannot be asked, and who its user is. Pure."""

import re
from collections.abc import Mapping
from typing import Any

from logdirwatch.doctor.findings import Finding

_REFUSED = re.compile(r"authenticat|credential|sasl", re.IGNORECASE)
_TLS = re.compile(r"ssl|certificate|tls", re.IGNORECASE)


def unreachable(where: str, setting: str, error: str) -> Finding:
    """Return the finding of a cluster that does not answer; ``setting`` is where the configuration names it."""
    return Finding("connectivity", where, error, _remedy(setting, error))


def _remedy(setting: str, error: str) -> str:
    if _REFUSED.search(error):
        return f"correct {setting}.client: security.protocol, sasl.mechanism, the name and the password"
    if _TLS.search(error):
        return f"correct {setting}.client: security.protocol and ssl.truststore.location (PEM)"
    return (
        f"start it, correct {setting}.bootstrap_servers, open the way from this machine, or, where the listener wants "
        f"TLS or a password, set {setting}.client"
    )


def principal(arguments: Mapping[str, Any]) -> str | None:
    """Return the principal by which Kafka knows a client of these arguments, as far as they tell it."""
    protocol = arguments.get("security_protocol", "PLAINTEXT")
    if protocol.startswith("SASL"):
        name = arguments.get("sasl_plain_username")
        return None if name is None else f"User:{name}"
    return None if {"ssl_certfile", "ssl_context"} & arguments.keys() else "User:ANONYMOUS"
