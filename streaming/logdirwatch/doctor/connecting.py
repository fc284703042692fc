"""What is said when a cluster cannot be asked, and who its user is. Pure."""

import re
from collections.abc import Mapping
from typing import Any

from logdirwatch.doctor.findings import Finding

_REMEDIES = (
    (
        r"DNS|looked up",
        (
            "correct the host in {}.bootstrap_servers, or let this machine's DNS or /etc/hosts know it; "
            "getent hosts NAME tells whether it does"
        ),
    ),
    (
        r"connection refused",
        "start the broker, or correct host and port in {}.bootstrap_servers: nothing listens at that port",
    ),
    (
        r"IllegalSaslState|takes no SASL",
        (
            "name the port of a SASL listener in {0}.bootstrap_servers, or leave SASL out: {0}.client "
            "security.protocol PLAINTEXT, or SSL where that port speaks TLS"
        ),
    ),
    (r"SaslMechanism", "correct {}.client: sasl.mechanism must be one that the broker offers"),
    (
        r"authenticat|credential|sasl",
        "correct {}.client: security.protocol, sasl.mechanism, the name and the password",
    ),
    (
        r"ssl|certificate|tls",
        "correct {}.client: security.protocol and ssl.truststore.location (PEM)",
    ),
)
"""What to do by what the error says, the first that fits; ``{}`` is where the configuration names the cluster."""
_OTHERWISE = (
    "start it, correct {0}.bootstrap_servers, open the network path from this machine, or, where the listener wants "
    "TLS or a password, set {0}.client"
)


def unreachable(where: str, setting: str, error: str) -> Finding:
    """Return the finding of a cluster that does not answer; ``setting`` is where the configuration names it."""
    return Finding("connectivity", where, error, _remedy(setting, error))


def _remedy(setting: str, error: str) -> str:
    found = (remedy for pattern, remedy in _REMEDIES if re.search(pattern, error, re.IGNORECASE))
    return next(found, _OTHERWISE).format(setting)


def principal(arguments: Mapping[str, Any]) -> str | None:
    """Return the principal by which Kafka knows a client of these arguments, as far as they tell it."""
    protocol = arguments.get("security_protocol", "PLAINTEXT")
    if protocol.startswith("SASL"):
        name = arguments.get("sasl_plain_username")
        return None if name is None else f"User:{name}"
    return None if {"ssl_certfile", "ssl_context"} & arguments.keys() else "User:ANONYMOUS"
