"""The log directories that a broker's ``server.properties`` names. Pure."""

import re
from collections.abc import Iterable, Iterator, Mapping

from logdirwatch.errors import UserError

DEFAULT_LOG_DIRS = "/tmp/kafka-logs"  # noqa: S108 - Kafka's own default of log.dir
NODE_ID_KEYS = ("node.id", "broker.id")
_NUMBER = re.compile(r"[0-9]{1,10}")
_PAIR = re.compile(r"\s*([^\s=:]+)\s*[=:\s]\s*(.*?)\s*")
_COMMENT = re.compile(r"\s*[#!]")
_GOES_ON = re.compile(r"(?<!\\)(?:\\\\)*\\$")


def parsed(text: str) -> dict[str, str]:
    """Return the properties of ``text``: without comments, lines that end in a backslash joined; the last one holds."""
    return {match[1]: match[2] for line in _whole_lines(text) if (match := _PAIR.fullmatch(line))}


def _whole_lines(text: str) -> Iterator[str]:
    """Yield lines as Java joins them: a comment never goes on, and what goes on from another line is no comment."""
    lines = iter(text.split("\n"))
    for first in lines:
        if _COMMENT.match(first):
            continue
        whole = first
        while _GOES_ON.search(whole):
            whole = whole[:-1] + next(lines, "").lstrip()
        yield whole


def log_dirs_of(properties: Mapping[str, str]) -> tuple[str, ...]:
    """Return the paths as the broker reports them: ``log.dirs``, else ``log.dir``.

    Raises UserError for a relative one: what it is relative to is known to the broker only.
    """
    named = properties.get("log.dirs") or properties.get("log.dir") or DEFAULT_LOG_DIRS
    return absolute(part.strip() for part in named.split(",") if part.strip())


def absolute(paths: Iterable[str]) -> tuple[str, ...]:
    """Return ``paths`` as Java spells them, each once: no double slashes, none at the end.

    Raises UserError for a relative one.
    """
    spelled = [re.sub(r"(?<=.)/$", "", re.sub(r"/+", "/", path)) for path in paths]
    for path in spelled:
        if not path.startswith("/"):
            raise UserError(f"host: log directory {path} is relative; name it absolutely in host.log_dirs", exit_code=2)
    return tuple(dict.fromkeys(spelled))


def check_broker(properties: Mapping[str, str], broker: int) -> None:
    """Raise UserError when the file is another broker's."""
    node = next((properties[key] for key in NODE_ID_KEYS if key in properties), str(broker))
    if _NUMBER.fullmatch(node) and int(node) != broker:
        raise UserError(f"host.broker is {broker}, but host.properties_file is that of node {node}", exit_code=2)
