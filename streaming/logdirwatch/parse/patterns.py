"""Patterns for lines that other programs write: each takes time that is linear in the line, whatever it says. Pure.

In a pattern of this package ``*`` means at most ``LONGEST`` times. Repeats without a bound, one behind the other, try
every way to share a line between them, which takes minutes for 60 KB.
"""

import re
from functools import cache

LONGEST = 512
"""The most characters that a repeat matches: more than a topic's name (249) or a file's name (255).

A pattern that needs more, as for paths, says how much.
"""

LINE_CHARACTERS = 4_096
"""The characters of a message that patterns see: Linux cuts its own at 1,024 (``PRINTKRB_RECORD_MAX``)."""

_TOKEN = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\(\?[a-zA-Z<=!:]|[*+]|.", re.DOTALL)
_BOUNDS = {"*": f"{{0,{LONGEST}}}", "+": f"{{1,{LONGEST}}}"}


def bounded(pattern: str) -> str:
    """Return a pattern whose repeats have an end."""
    return "".join(_BOUNDS.get(token, token) for token in _TOKEN.findall(pattern))


@cache
def compiled(pattern: str, flags: int = 0) -> "re.Pattern[str]":
    """Compile a pattern whose repeats have an end."""
    return re.compile(bounded(pattern), flags)
