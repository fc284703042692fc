"""Who logs in, by Kafka's own properties: only what Java's and Python's client both do. Pure; no value is ever shown.

What would let the two log in as different users, or only one of them at all, is refused. Names and defaults are those
of kafka-clients 3.9.2, which Spark has, and of 4.3.1; Python's are those of kafka-python 3.0.12.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from logdirwatch.config.servers import is_web_url
from logdirwatch.errors import UserError
from logdirwatch.text.printable import name_or_mask

_ENTRY = re.compile(
    r"\s*(?P<module>[\w.$]+)\s+(?i:required|requisite|sufficient|optional)(?:\s(?P<options>.*))?;\s*", re.DOTALL
)
# A quoted value ends with its line at the latest, and one without quotes is a word.
_OPTION = re.compile(
    r"""([\w.$-]+)\s*=\s*("(?:[^"\\\r\n]|\\.)*"|'(?:[^'\\\r\n]|\\.)*'|(?:[^\W\d]|\$)[\w.$-]*)\s*""", re.DOTALL
)
_ESCAPE = re.compile(r"\\([0-3][0-7]{0,2}|[4-7][0-7]?|.)", re.DOTALL)
_ESCAPED = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}


class LoginModule(NamedTuple):
    """A login module: its class without the package, and its options."""

    name: str
    options: dict[str, str]


def read(text: str) -> LoginModule:
    r"""Return the one login module of a JAAS configuration; raises ValueError without any part of it.

    >>> read(r'org.example.PlainLoginModule required username="me" password="a\\b";').options["password"]
    'a\\b'
    """
    match = _ENTRY.fullmatch(text)
    if match is None:
        raise ValueError("expected one login module, ended by a semicolon")
    options = match["options"] or ""
    if _OPTION.sub("", options).strip():
        raise ValueError(r'expected options name="value"; in a value write \" for a quote and \\ for a backslash')
    return LoginModule(
        match["module"].rpartition(".")[2], {name: _unquoted(value) for name, value in _OPTION.findall(options)}
    )


def written(module: str, **options: str) -> str:
    """Return the JAAS configuration of a login module."""
    return " ".join([module, "required", *(f"{name}={_quoted(value)}" for name, value in options.items())]) + ";"


def _unquoted(text: str) -> str:
    return _ESCAPE.sub(_character, text[1:-1]) if text[0] in "\"'" else text


def _character(escape: re.Match[str]) -> str:
    """Return the character of an escape sequence, which may be octal."""
    code = escape[1]
    return chr(int(code, 8)) if code.isdecimal() and code < "8" else _ESCAPED.get(code, code)


def _quoted(value: str) -> str:
    escaped = re.sub(r'(["\\])', r"\\\1", value).replace("\n", r"\n").replace("\r", r"\r")
    return f'"{escaped}"'


PASSWORD_MODULES = {
    "PlainLoginModule": "org.apache.kafka.common.security.plain.PlainLoginModule",
    "ScramLoginModule": "org.apache.kafka.common.security.scram.ScramLoginModule",
}
MECHANISM_MODULES = {
    "PLAIN": "PlainLoginModule",
    "SCRAM-SHA-256": "ScramLoginModule",
    "SCRAM-SHA-512": "ScramLoginModule",
}
GSSAPI, OAUTH, MSK_IAM = "GSSAPI", "OAUTHBEARER", "AWS_MSK_IAM"
MECHANISMS = (*MECHANISM_MODULES, GSSAPI, OAUTH, MSK_IAM)
_OAUTH_MODULE, _MSK_MODULE, _KERBEROS_MODULE = "OAuthBearerLoginModule", "IAMLoginModule", "Krb5LoginModule"
_MODULES = (*PASSWORD_MODULES, _OAUTH_MODULE, _MSK_MODULE, _KERBEROS_MODULE)
_SECURITY = "org.apache.kafka.common.security."
_MSK = "software.amazon.msk.auth.iam."
JAAS_KEY = "sasl.jaas.config"
_ENDPOINT_KEY = "sasl.oauthbearer.token.endpoint.url"
ID_KEY = "sasl.oauthbearer.client.credentials.client.id"
SECRET_KEY = "sasl.oauthbearer.client.credentials.client.secret"  # noqa: S105 - the name of a property
_SCOPE_KEY, _URLENCODE_KEY = "sasl.oauthbearer.scope", "sasl.oauthbearer.header.urlencode"
_OF_KIP_1139 = {ID_KEY: "clientId", SECRET_KEY: "clientSecret", _SCOPE_KEY: "scope"}
"""Properties of Kafka 4.1 -> the option of the login module that Spark's client, 3.9, has for it."""
_LOGIN_HANDLER_KEY, _CLIENT_HANDLER_KEY = "sasl.login.callback.handler.class", "sasl.client.callback.handler.class"
DEFAULTS = {
    MSK_IAM: {JAAS_KEY: f"{_MSK}IAMLoginModule required;", _CLIENT_HANDLER_KEY: f"{_MSK}IAMClientCallbackHandler"},
    OAUTH: {_LOGIN_HANDLER_KEY: f"{_SECURITY}oauthbearer.OAuthBearerLoginCallbackHandler"},
}
"""What Java's client needs of a mechanism, and Python's does not."""
_CLASSES = {
    _LOGIN_HANDLER_KEY: {
        f"{_SECURITY}oauthbearer.OAuthBearerLoginCallbackHandler",
        f"{_SECURITY}oauthbearer.secured.OAuthBearerLoginCallbackHandler",
    },
    _CLIENT_HANDLER_KEY: {
        f"{_MSK}IAMClientCallbackHandler",
        f"{_SECURITY}authenticator.SaslClientCallbackHandler",
        f"{_SECURITY}oauthbearer.internals.OAuthBearerSaslClientCallbackHandler",
    },
    "sasl.login.class": {
        f"{_SECURITY}authenticator.DefaultLogin",
        f"{_SECURITY}oauthbearer.internals.OAuthBearerRefreshingLogin",
    },
    "sasl.oauthbearer.jwt.retriever.class": {
        f"{_SECURITY}oauthbearer.DefaultJwtRetriever",
        f"{_SECURITY}oauthbearer.ClientCredentialsJwtRetriever",
    },
}
"""The classes that log in as Python's client does."""
_SHADED = re.compile(r"^(kafkashaded|shadedmskiam)\.")
_INSTEAD_OF_CLASSES = {
    "com.google.": "log in by PLAIN with a key of the service account",
    f"{_MSK}IAMOAuth": f"use sasl.mechanism {MSK_IAM}",
    "io.strimzi.": f"leave it out, and name the token endpoint in {_ENDPOINT_KEY}",
}
_TUNES_JAVA = re.compile(
    r"sasl\.login\.(refresh\.(buffer\.seconds|min\.period\.seconds|window\.(factor|jitter))"
    r"|retry\.backoff\.(max\.)?ms|(connect|read)\.timeout\.ms)"
    r"|sasl\.kerberos\.(kinit\.cmd|min\.time\.before\.relogin|ticket\.renew\.(jitter|window\.factor))"
    r"|sasl\.oauthbearer\.(jwks\.endpoint\.(url|refresh\.ms|retry\.backoff\.(max\.)?ms)|clock\.skew\.seconds"
    r"|expected\.(audience|issuer)|(scope|sub)\.claim\.name|jwt\.validator\.class)"
)
"""How Java's client renews and checks what it logs in with; the user stays the same."""
KEYS = {JAAS_KEY, _ENDPOINT_KEY, _URLENCODE_KEY, *_OF_KIP_1139, *_CLASSES}
"""The properties read here."""
# RFC 7628, as Kafka's OAuthBearerClientInitialResponse checks it.
_EXTENSION, _EXTENSION_NAME, _EXTENSION_VALUE = "extension_", re.compile("[A-Za-z]+"), re.compile("[\x21-\x7e \t\r\n]+")
_OPTIONS_OF_MSK = {"awsProfileName", "awsDebugCreds", "awsMaxRetries", "awsMaxBackOffTimeMs"}


@dataclass(frozen=True)
class ClientCredentials:
    """The credentials for a token endpoint, and the SASL extensions that go to the broker with its tokens."""

    endpoint: str
    client_id: str = field(repr=False)
    client_secret: str = field(repr=False)
    scope: str | None = None
    extensions: Mapping[str, str] = field(default_factory=dict, repr=False)
    is_urlencoded: bool = False


def tunes_java(key: str) -> bool:
    """Tell whether a property only says how Java's client does what Python's does in its own way."""
    return _TUNES_JAVA.fullmatch(key) is not None


def arguments(client: Mapping[str, str]) -> dict[str, Any]:
    """Return kafka-python's arguments for the properties of :data:`KEYS`, and two of ours for :mod:`.oauth`.

    ``client_credentials`` are :class:`ClientCredentials`, ``aws_profile`` names a profile. Raises UserError naming a
    property that Python's client would not do as Java's does.
    """
    for key, allowed in _CLASSES.items():
        if key in client:
            _check_class(key, _SHADED.sub("", client[key].strip()), allowed)
    if JAAS_KEY not in client:
        return _oauth({}, client) if ID_KEY in client and SECRET_KEY in client else {}
    try:
        module, options = read(client[JAAS_KEY])
    except ValueError as error:
        raise refused(JAAS_KEY, str(error)) from None
    try:
        return _by_module(module, options, client)
    except KeyError as missing:
        raise refused(JAAS_KEY, f"the login module has no option {missing.args[0]}") from None


def _check_class(key: str, name: str, allowed: set[str]) -> None:
    if name not in allowed:
        instead = next((text for start, text in _INSTEAD_OF_CLASSES.items() if name.startswith(start)), None)
        remedy = instead or f"leave it out, or name {' or '.join(sorted(allowed))}"
        raise refused(key, f"only Java's client has that class, and Python's would log in otherwise: {remedy}")


def _by_module(module: str, options: Mapping[str, str], client: Mapping[str, str]) -> dict[str, Any]:
    if module in PASSWORD_MODULES:
        if options.get("tokenauth", "").lower() == "true":
            raise refused(JAAS_KEY, "Python's client cannot log in by a delegation token: name a user and a password")
        return {"sasl_plain_username": options["username"], "sasl_plain_password": options["password"]}
    if module == _OAUTH_MODULE:
        return _oauth(options, client)
    if module == _MSK_MODULE:
        return _msk(options)
    if module == _KERBEROS_MODULE:
        return _kerberos(options)
    raise refused(JAAS_KEY, f"expected one login module of {', '.join(_MODULES)}, ended by a semicolon")


def oauth_options(options: Mapping[str, str], client: Mapping[str, str]) -> dict[str, str]:
    """Return the options of OAUTHBEARER's login module; a property of its own comes first, as in Kafka 4.1."""
    return {**options, **{option: client[key] for key, option in _OF_KIP_1139.items() if key in client}}


def _oauth(options: Mapping[str, str], client: Mapping[str, str]) -> dict[str, Any]:
    if _ENDPOINT_KEY not in client:
        raise refused(JAAS_KEY if JAAS_KEY in client else ID_KEY, f"needs the property {_ENDPOINT_KEY}")
    if not is_web_url(client[_ENDPOINT_KEY]):
        raise refused(_ENDPOINT_KEY, "expected http://HOST[:PORT]/... or https://HOST[:PORT]/...")
    if any(name.startswith("ssl.") for name in options):
        raise refused(JAAS_KEY, "leave out ssl.*: both clients check the endpoint with the authorities of the machine")
    if ID_KEY in client and SECRET_KEY not in client and "clientSecret" not in options:
        return {}  # the secret may come from the environment of another part
    merged = oauth_options(options, client)
    return {
        "client_credentials": ClientCredentials(
            client[_ENDPOINT_KEY],
            merged["clientId"],
            merged["clientSecret"],
            merged.get("scope"),
            _extensions(options),
            _is_true(_URLENCODE_KEY, client.get(_URLENCODE_KEY, "false")),
        )
    }


def _extensions(options: Mapping[str, str]) -> dict[str, str]:
    found = {name.removeprefix(_EXTENSION): value for name, value in options.items() if name.startswith(_EXTENSION)}
    for name, value in found.items():
        if not _EXTENSION_NAME.fullmatch(name) or name == "auth" or not _EXTENSION_VALUE.fullmatch(value):
            raise refused(
                JAAS_KEY, "an extension_NAME has letters as its name, not auth, and a value of ASCII characters"
            )
    return found


def _is_true(key: str, value: str) -> bool:
    if value.lower() not in ("true", "false"):
        raise refused(key, "expected true or false")
    return value.lower() == "true"


def _msk(options: Mapping[str, str]) -> dict[str, Any]:
    if others := sorted(options.keys() - _OPTIONS_OF_MSK):
        raise refused(
            JAAS_KEY,
            f"Python's client has no option {', '.join(others)}: make a profile with role_arn in ~/.aws/config, and "
            "name it in awsProfileName or AWS_PROFILE, which both clients read",
        )
    return {"aws_profile": options["awsProfileName"]} if "awsProfileName" in options else {}


def _kerberos(options: Mapping[str, str]) -> dict[str, Any]:
    """Return the arguments for a ticket in the cache, which is all that kafka-python can use."""
    of_java = {"keyTab", "principal", "ticketCache"} & options.keys()
    if options.get("useTicketCache", "").lower() != "true" or options.get("useKeyTab") == "true" or of_java:
        raise refused(
            JAAS_KEY,
            "Python's client takes its ticket from the cache alone: renew that (kinit -k -t KEYTAB PRINCIPAL, k5start) "
            "and write Krb5LoginModule required useTicketCache=true;",
        )
    return {"sasl_kerberos_service_name": options["serviceName"]} if "serviceName" in options else {}


def for_spark(client: Mapping[str, str]) -> dict[str, str]:
    """Return the properties as Spark's client, 3.9, knows them: those of KIP-1139 as options of the login module."""
    if not _OF_KIP_1139.keys() & client.keys():
        return dict(client)
    given = read(client[JAAS_KEY]).options if JAAS_KEY in client else {}
    module = f"{_SECURITY}oauthbearer.{_OAUTH_MODULE}"
    rest = {key: value for key, value in client.items() if key not in _OF_KIP_1139}
    return {**rest, JAAS_KEY: written(module, **oauth_options(given, client))}


def refused(key: str, problem: str) -> UserError:
    """Return the error about a property, without its value."""
    return UserError(f"Kafka client property {name_or_mask(key)}: {problem}", exit_code=2)
