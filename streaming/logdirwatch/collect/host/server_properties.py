"""The log directories that a broker's ``server.properties`` names. Pure."""

import re
from collections.abc import Iterable, Iterator, Mapping

from logdirwatch.errors import UserError

DEFAULT_LOG_DIRS = "/tmp/kafka-logs"  # noqa: S108 - Kafka's own default of log.dir
NODE_ID_KEYS = ("node.id", "broker.id")
ENCODING = "iso-8859-1"
"""How Java reads such a file (``Properties.load(InputStream)``, Kafka's ``Utils.loadProps``), whatever wrote it."""

_NUMBER = re.compile(r"[0-9]{1,10}")
_BLANKS = " \t\f"
_LINE_END = re.compile(r"\r\n|\r|\n")
_GOES_ON = re.compile(r"(?<!\\)(?:\\\\)*\\$")
_PAIR = re.compile(r"((?:\\.|[^\\=: \t\f])*)[ \t\f]*[=:]?[ \t\f]*(.*)", re.DOTALL)
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))", re.DOTALL)
_ESCAPED = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
_PROVIDED = re.compile(r"\$\{[^}:]+:[^}]*\}")
"""A value that the broker asks a configuration provider for (KIP-297, ``ConfigTransformer``)."""


def parsed(text: str) -> dict[str, str]:
    """Return the properties of ``text`` as Java's ``Properties`` reads them; the last value of a key counts.

    Raises UserError for an escape that Java refuses too.
    """
    pairs = (match for line in _whole_lines(text) if (match := _PAIR.fullmatch(line)))
    return {_unescaped(pair[1]): _unescaped(pair[2]) for pair in pairs}


def _whole_lines(text: str) -> Iterator[str]:
    """Yield lines as Java joins them: a comment is never continued, and a continuation is never a comment."""
    lines = iter(_LINE_END.split(text))
    for line in lines:
        whole = line.lstrip(_BLANKS)
        if not whole or whole[0] in "#!":
            continue
        while _GOES_ON.search(whole):
            whole = whole[:-1] + next(lines, "").lstrip(_BLANKS)
        yield whole


def _unescaped(text: str) -> str:
    return _ESCAPE.sub(_character, text)


def _character(escape: re.Match[str]) -> str:
    if escape[1]:
        return chr(int(escape[1], 16))
    if escape[2] == "u":
        raise UserError(r"host.properties_file: \u without four hexadecimal digits, which Java refuses", exit_code=2)
    return _ESCAPED.get(escape[2], escape[2])


def log_dirs_of(properties: Mapping[str, str]) -> tuple[str, ...]:
    """Return the paths as the broker reports them: ``log.dirs``, else ``log.dir``.

    Kafka's ``ConfigDef`` strips the blanks around each path. Raises UserError for a path that only the broker can
    resolve: a relative one, or a variable.
    """
    named = _value(properties, "log.dirs") or _value(properties, "log.dir") or DEFAULT_LOG_DIRS
    return absolute(part.strip() for part in named.split(",") if part.strip())


def _value(properties: Mapping[str, str], key: str) -> str:
    return properties.get(key, "").strip()


def absolute(paths: Iterable[str]) -> tuple[str, ...]:
    """Return ``paths`` as Java spells them, each once: no double slashes, none at the end.

    Raises UserError for one that only the broker can resolve.
    """
    spelled = [re.sub(r"(?<=.)/$", "", re.sub(r"/+", "/", path)) for path in paths]
    for path in spelled:
        if (why := _unusable(path)) is not None:
            raise UserError(f"host: log directory {path} {why}; name it absolutely in host.log_dirs", exit_code=2)
    return tuple(dict.fromkeys(spelled))


def _unusable(path: str) -> str | None:
    if _PROVIDED.search(path) or path.startswith("$"):
        return "is a variable that only the broker resolves"
    if path[:1] in {'"', "'"}:
        return "begins with a quote, which Kafka takes for a part of a relative path"
    return None if path.startswith("/") else "is relative"


def doubts(paths: Iterable[str]) -> Iterator[str]:
    """Yield what is probably unintended in the paths of a properties file, although Kafka accepts it."""
    for path in paths:
        if re.search(r"\s[#!]", path):
            yield f"the comment in {path!r} is a part of the path: behind a value Java knows none"
        elif '"' in path or "'" in path:
            yield f"the quotes in {path!r} are a part of the path"
        elif "${" in path:
            yield f"{path!r} holds a variable that Kafka does not replace"


def check_broker(properties: Mapping[str, str], broker: int) -> None:
    """Raise UserError when the file belongs to another broker."""
    node = next((properties[key].strip() for key in NODE_ID_KEYS if key in properties), str(broker))
    if _NUMBER.fullmatch(node) and int(node) != broker:
        raise UserError(f"host.broker is {broker}, but host.properties_file is that of node {node}", exit_code=2)
