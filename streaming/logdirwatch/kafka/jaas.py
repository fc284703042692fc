"""A login module of ``sasl.jaas.config``, as Kafka's ``JaasConfig`` reads it: by Java's ``StreamTokenizer``."""

import re
from typing import NamedTuple

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
