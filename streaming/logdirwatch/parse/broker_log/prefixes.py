"""Prefixes of a broker's log lines from container runtimes, journals and service wrappers. Pure.

They may be nested, and a multi-line exception has them on each of its lines.
"""

import re

from logdirwatch.parse.broker_log.heads import DATE, LEVEL
from logdirwatch.parse.patterns import compiled

_COLOURS = compiled(r"(?:\x1b|#033)\[[0-9;]*[A-Za-z]")
_RFC_3339 = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:?\d\d)"
CRI = compiled(rf"{_RFC_3339} (?P<stream>stdout|stderr) (?P<tag>[FP])(?::\S+)? ?")
"""The prefix of containerd and CRI-O; F ends a line, P is a part of one."""
# Theirs, kubectl logs --prefix, the Java service wrapper, compose, syslog (RFC 5424, RFC 3164
# and with an ISO date) and journalctl in its short forms, docker logs -t and kubectl logs --timestamps.
_PREFIXES = tuple(
    compiled(pattern)
    for pattern in (
        CRI.pattern,
        r"\[pod/[^\]]+\] ?",
        rf"(?:STATUS|{LEVEL}) *\|(?:[^|]*\|){{0,3}}? *{DATE} *\| ?",
        r"[\w./-]+ *\| ",
        rf"<\d+>1 {_RFC_3339} \S+ \S+ \S+ \S+ (?:-|\[.*?\]) ?(?:\ufeff|BOM)?",
        rf"(?:<\d+>)?\[? *(?:{DATE}|\d+\.\d+)\]? (?!Caused by|\d{{4}}-)[\w.-]+ [A-Za-z_/][\w./@-]*(?:\[\d+\])?: ?",
        rf"{_RFC_3339} ",
    )
)
_UNKNOWN = compiled(rf"(?P<prefix>\S.{{0,120}}?[^\w.,-])(?=[\[(]?{DATE}[\])]?[ \t|:,-]+[\[(]?{LEVEL}\b)")
LONGEST = 500
_DIGITS = compiled(r"\d+")
_SEPARATOR = compiled(r",\s*(?=\{)")
"""What log4j2's JsonLayout writes between the events of one array (``complete="true"``)."""


def cleaned(line: str) -> str:
    """Return a line without colours, and with a tab wherever syslog escaped one."""
    text = line.lstrip("\ufeff")
    if text[:1] == ",":
        text = _SEPARATOR.sub("", text, count=1)
    if "[" in text:
        text = _COLOURS.sub("", text)
    return text.replace("#011", "\t") if "#011" in text else text


def without_prefix(text: str) -> str | None:
    """Return a line without its first known prefix, None if it has none."""
    found = next((match for pattern in _PREFIXES if (match := pattern.match(text, 0, LONGEST))), None)
    return None if found is None or not found.end() else text[found.end() :]


def unknown_prefix(text: str) -> str | None:
    """Return the text before the date and level of a line that has them further on."""
    found = _UNKNOWN.match(text)
    return None if found is None else found["prefix"]


def shape_of(prefix: str) -> "re.Pattern[str]":
    """Return a pattern of a prefix for other lines: its numbers and times differ."""
    return compiled(_DIGITS.sub(r"\\d+", re.escape(prefix)))
