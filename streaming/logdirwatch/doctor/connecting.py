"""Findings about clusters that do not answer, and the principal of a client. Pure."""

import re
from collections.abc import Mapping
from typing import Any

from logdirwatch.doctor.findings import Finding

_REMEDIES = (
    (
        r"DNS|looked up",
        (
            "correct the host in {}.bootstrap_servers, or add it to DNS or /etc/hosts; "
            "getent hosts NAME shows whether it resolves"
        ),
    ),
    (
        r"connection refused",
        "start the broker, or correct host and port in {}.bootstrap_servers: nothing listens on that port",
    ),
    (
        r"IllegalSaslState|takes no SASL",
        (
            "use the port of a SASL listener in {0}.bootstrap_servers, or disable SASL: {0}.client "
            "security.protocol PLAINTEXT, or SSL if that port uses TLS"
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
"""Remedies by error text, the first match applies; ``{}`` is the cluster's key in the configuration."""
_OTHERWISE = (
    "start it, correct {0}.bootstrap_servers, open the network path from this machine, or, if the listener requires "
    "TLS or a password, set {0}.client"
)


def unreachable(where: str, setting: str, error: str) -> Finding:
    """Return the finding for a cluster that does not answer; ``setting`` is its key in the configuration."""
    return Finding("connectivity", where, error, _remedy(setting, error))


def _remedy(setting: str, error: str) -> str:
    found = (remedy for pattern, remedy in _REMEDIES if re.search(pattern, error, re.IGNORECASE))
    return next(found, _OTHERWISE).format(setting)


def principal(arguments: Mapping[str, Any]) -> str | None:
    """Return the principal of a client with these arguments, as far as they show it."""
    protocol = arguments.get("security_protocol", "PLAINTEXT")
    if protocol.startswith("SASL"):
        name = arguments.get("sasl_plain_username")
        return None if name is None else f"User:{name}"
    return None if {"ssl_certfile", "ssl_context"} & arguments.keys() else "User:ANONYMOUS"
