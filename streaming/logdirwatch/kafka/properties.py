"""Kafka's own client properties, translated for kafka-python and for Spark. Pure; no value ever reaches a message."""

import re
from collections.abc import Callable, Mapping
from typing import Any

from logdirwatch.config.servers import server_list
from logdirwatch.kafka import logins
from logdirwatch.kafka.logins import (
    DEFAULTS,
    GSSAPI,
    JAAS_KEY,
    MECHANISM_MODULES,
    MECHANISMS,
    MSK_IAM,
    OAUTH,
    PASSWORD_MODULES,
    refused,
)
from logdirwatch.text.words import did_you_mean

DNS_LOOKUPS = ("use_all_dns_ips", "resolve_canonical_bootstrap_servers_only")
INT_MAX = 2**31 - 1
"""The largest int of Java."""
PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")


def _text(_key: str, value: str) -> str:
    return value


def _milliseconds(key: str, value: str) -> int:
    if re.fullmatch(r"[0-9]{1,10}", value) is None or int(value) > INT_MAX:
        raise refused(key, f"expected a whole number of milliseconds, at most {INT_MAX}")
    return int(value)


def _path(key: str, value: str) -> str:
    if not value.strip():
        raise refused(key, "expected the path of a file")
    return value


def _dns_lookup(key: str, value: str) -> str:
    if value not in DNS_LOOKUPS:
        raise refused(key, f"expected one of {', '.join(DNS_LOOKUPS)}")
    return value


def _one_of(*allowed: str) -> Callable[[str, str], str]:
    def check(key: str, value: str) -> str:
        if value.upper() not in allowed:
            raise refused(key, f"expected one of {', '.join(allowed)}")
        return value.upper()

    return check


def _pem(key: str, value: str) -> str:
    if value.upper() != "PEM":
        raise refused(key, "expected PEM: Python's client reads no JKS or PKCS12; convert it (docs/guides/sasl-tls.md)")
    return value


def _hostname_check(key: str, value: str) -> bool:
    if value.lower() not in ("", "https"):
        raise refused(key, "expected https, or nothing to turn the check off")
    return value != ""


# Kafka's name -> (kafka-python's name, how its value reads). A PEM store holds what kafka-python calls cafile or
# certfile; a PEM key store holds the private key too (KIP-651). What is given as PEM itself has no name there, so
# ``network.with_stores`` makes an SSL context of it.
_TRANSLATIONS: dict[str, tuple[str | None, Callable[[str, str], Any]]] = {
    "client.id": ("client_id", _text),
    "client.dns.lookup": ("client_dns_lookup", _dns_lookup),
    "security.protocol": ("security_protocol", _one_of(*PROTOCOLS)),
    "sasl.mechanism": ("sasl_mechanism", _one_of(*MECHANISMS)),
    "sasl.username": ("sasl_plain_username", _text),
    "sasl.password": ("sasl_plain_password", _text),
    "sasl.kerberos.service.name": ("sasl_kerberos_service_name", _text),
    "ssl.truststore.location": ("ssl_cafile", _path),
    "ssl.truststore.certificates": ("ssl_ca_pem", _text),
    "ssl.truststore.type": (None, _pem),
    "ssl.keystore.location": ("ssl_certfile", _path),
    "ssl.keystore.certificate.chain": ("ssl_cert_pem", _text),
    "ssl.keystore.key": ("ssl_key_pem", _text),
    "ssl.keystore.type": (None, _pem),
    "ssl.key.password": ("ssl_password", _text),
    "ssl.endpoint.identification.algorithm": ("ssl_check_hostname", _hostname_check),
    "request.timeout.ms": ("request_timeout_ms", _milliseconds),
    "connections.max.idle.ms": ("connections_max_idle_ms", _milliseconds),
    "metadata.max.age.ms": ("metadata_max_age_ms", _milliseconds),
    "reconnect.backoff.ms": ("reconnect_backoff_ms", _milliseconds),
    "reconnect.backoff.max.ms": ("reconnect_backoff_max_ms", _milliseconds),
    "retry.backoff.ms": ("retry_backoff_ms", _milliseconds),
}
# What is of no use alone: the property, its argument -> the one that it needs.
_NEEDS = {
    "sasl.password": ("sasl_plain_password", "sasl.username"),
    "ssl.keystore.key": ("ssl_key_pem", "ssl.keystore.certificate.chain"),
}
_SERVICE_CREDENTIAL = "databricks.serviceCredential"
_OF_DATABRICKS = (_SERVICE_CREDENTIAL, f"{_SERVICE_CREDENTIAL}.scope")
_INSTEAD = {
    r"ssl\.ca\.(location|pem)": "its name in Java's client is ssl.truststore.location or ssl.truststore.certificates",
    r"ssl\.(certificate|key)\.(location|pem)": "its name in Java's client is ssl.keystore.location, or "
    "ssl.keystore.certificate.chain and ssl.keystore.key",
    r"enable\.ssl\.certificate\.verification": "name the authority in ssl.truststore.location",
    r"sasl\.oauthbearer\.assertion\..+": "tokens are asked for by client credentials only; see "
    "sasl.oauthbearer.client.credentials.client.id",
    r"ssl\.(truststore|keystore)\.password": "stores are PEM files without a password; ssl.key.password opens a key",
    r"ssl\.(protocol|enabled\.protocols|cipher\.suites)": "leave it out: each client agrees on it with the broker",
    r"ssl\.(provider|engine\.factory\.class|(key|trust)manager\.algorithm|secure\.random\.implementation)"
    r"|security\.providers": "leave it out: only Java's client has it",
}
"""Properties of Java's client that Python's does not have, and names of librdkafka -> what to do instead."""
_ON_DATABRICKS = {"org.apache.kafka.": "kafkashaded.", "software.amazon.msk.": "shadedmskiam."}
"""Databricks' prefix for the names of Kafka's classes, and of Amazon's login module."""


def python_arguments(bootstrap_servers: str, client: Mapping[str, str]) -> dict[str, Any]:
    """Return kafka-python's arguments for a cluster.

    Raises UserError naming a property that cannot be translated or is missing, never its value.
    """
    arguments = _arguments(client)
    if (missing := _missing(arguments, client)) is not None:
        raise refused(missing, "is missing")
    return {"bootstrap_servers": server_list(bootstrap_servers), **arguments}


def check(client: Mapping[str, str]) -> None:
    """Raise UserError for a property that is wrong, or that needs another one, by its name.

    What holds a secret may be missing: the environment of another part completes the file.
    """
    arguments = _arguments(client)
    for key, (secret, other) in _NEEDS.items():
        if secret in arguments and _translation(other)[0] not in arguments:
            raise refused(key, f"needs {other}")
    is_used = JAAS_KEY not in client or "sasl_mechanism" in arguments
    if "sasl_plain_username" in arguments and is_used and _SERVICE_CREDENTIAL not in client:
        _jaas_config(arguments)


def remarks(client: Mapping[str, str]) -> list[str]:
    """Return what is probably not intended in properties that are valid."""
    arguments = _arguments(client)
    protocol = arguments.get("security_protocol", "PLAINTEXT")
    ignored = {"sasl.": not protocol.startswith("SASL"), "ssl.": not protocol.endswith("SSL")}
    found = [] if (missing := _missing(arguments, client)) is None else [f"{missing} is missing"]
    if _SERVICE_CREDENTIAL in client:
        return found
    return found + [
        f"with security.protocol {protocol}, no property {prefix}* has an effect"
        for prefix, is_ignored in ignored.items()
        if is_ignored and any(key.startswith(prefix) for key in client)
    ]


def _missing(arguments: Mapping[str, Any], client: Mapping[str, str]) -> str | None:
    """Return the property that has to be there too, and holds a secret."""
    if "ssl_cert_pem" in arguments and "ssl_key_pem" not in arguments:
        return "ssl.keystore.key"
    if not arguments.get("security_protocol", "").startswith("SASL"):
        return None
    mechanism = arguments["sasl_mechanism"]
    if mechanism in MECHANISM_MODULES and "sasl_plain_password" not in arguments:
        return "sasl.password" if "sasl_plain_username" in arguments else JAAS_KEY
    if mechanism == OAUTH and "client_credentials" not in arguments:
        return logins.SECRET_KEY if logins.ID_KEY in client else JAAS_KEY
    return None


def _arguments(client: Mapping[str, str]) -> dict[str, Any]:
    arguments = logins.arguments(client)
    for key, value in client.items():
        if _is_of_login(key):
            continue
        name, read = _translation(key)
        translated = read(key, value)
        if name is not None:
            arguments[name] = translated
    if arguments.get("security_protocol", "").startswith("SASL"):
        arguments.setdefault("sasl_mechanism", GSSAPI)
    if arguments.get("sasl_mechanism") == MSK_IAM and arguments.get("security_protocol") == "SASL_PLAINTEXT":
        raise refused("security.protocol", f"{MSK_IAM} needs SASL_SSL")
    return arguments


def spark_options(bootstrap_servers: str, client: Mapping[str, str], *, on_databricks: bool = False) -> dict[str, str]:
    """Return the options of Spark's Kafka source and sink for a cluster: the same properties under ``kafka.``.

    On Databricks, Kafka's classes have the names that they have there. Raises UserError as :func:`python_arguments`
    does, so that one configuration serves both or neither.
    """
    arguments = python_arguments(bootstrap_servers, client)
    if _SERVICE_CREDENTIAL in client:
        return _by_service_credential(bootstrap_servers, client)
    client = logins.for_spark(client)
    options = {f"kafka.{key}": value for key, value in client.items() if key not in ("sasl.username", "sasl.password")}
    for store in ("truststore", "keystore"):
        if any(key.startswith(f"ssl.{store}.") for key in client):
            options.setdefault(f"kafka.ssl.{store}.type", "PEM")
    if "sasl_plain_username" in arguments and JAAS_KEY not in client:
        options[f"kafka.{JAAS_KEY}"] = _jaas_config(arguments)
    for key, value in _defaults(arguments).items():
        options.setdefault(f"kafka.{key}", value)
    if on_databricks:
        options = {key: _as_databricks_has_it(key, value) for key, value in options.items()}
    return {"kafka.bootstrap.servers": bootstrap_servers, **options}


def _defaults(arguments: Mapping[str, Any]) -> dict[str, str]:
    """Return what Java's client needs to log in as Python's does."""
    mechanism = arguments.get("sasl_mechanism", "")
    if mechanism == GSSAPI and "sasl_kerberos_service_name" not in arguments:
        return {"sasl.kerberos.service.name": "kafka"}
    return DEFAULTS.get(mechanism, {})


def _by_service_credential(bootstrap_servers: str, client: Mapping[str, str]) -> dict[str, str]:
    """Return the options with a credential of Unity Catalog, which replaces all others."""
    of_others = re.compile(r"sasl\..+|security\.protocol")
    options = {
        key if key.startswith(_SERVICE_CREDENTIAL) else f"kafka.{key}": value
        for key, value in client.items()
        if not of_others.fullmatch(key)
    }
    return {"kafka.bootstrap.servers": bootstrap_servers, **options}


def _as_databricks_has_it(key: str, value: str) -> str:
    """Return a property with class names as Databricks shades them.

    >>> _as_databricks_has_it("kafka.sasl.login.class", "org.apache.kafka.Login")
    'kafkashaded.org.apache.kafka.Login'
    """
    if not key.endswith((".class", JAAS_KEY)):
        return value
    name = value.lstrip()
    added = next((prefix for package, prefix in _ON_DATABRICKS.items() if name.startswith(package)), "")
    return f"{added}{name}"


def _translation(key: str) -> tuple[str | None, Callable[[str, str], Any]]:
    try:
        return _TRANSLATIONS[key]
    except KeyError:
        raise refused(key, unsupported(key) or "not supported") from None


def unsupported(key: str) -> str | None:
    """Return why a property is not supported, with the name that is probably meant; None if it is supported."""
    known = sorted([*_TRANSLATIONS, *logins.KEYS])
    if key in _TRANSLATIONS or _is_of_login(key):
        return None
    if (instead := next((text for pattern, text in _INSTEAD.items() if re.fullmatch(pattern, key)), None)) is not None:
        return f"not supported; {instead}"
    return f"not supported{did_you_mean(key, known) or '; supported are ' + ', '.join(known)}"


def _is_of_login(key: str) -> bool:
    return key in logins.KEYS or key in _OF_DATABRICKS or logins.tunes_java(key)


def _jaas_config(arguments: Mapping[str, Any]) -> str:
    module = MECHANISM_MODULES.get(arguments.get("sasl_mechanism", ""))
    if module is None:
        raise refused("sasl.username", f"needs sasl.mechanism to be one of {', '.join(MECHANISM_MODULES)}")
    username, password = (arguments.get(f"sasl_plain_{part}", "") for part in ("username", "password"))
    return logins.written(PASSWORD_MODULES[module], username=username, password=password)
