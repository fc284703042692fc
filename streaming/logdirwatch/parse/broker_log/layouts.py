"""One line of a broker's log: removes foreign prefixes, then parses it as the head or a continuation of an entry. Pure.

A small table of prefixes and one of patterns (``log_prefixes``, ``log_heads``) may be combined in any way; an unknown
prefix is learnt from a line with a date and level behind it.
"""

import re

from logdirwatch.parse.broker_log.heads import Head, head_of
from logdirwatch.parse.broker_log.json_lines import read_object
from logdirwatch.parse.broker_log.prefixes import cleaned, shape_of, unknown_prefix, without_prefix

NESTED = 5


class Layout:
    """Reads the lines of one log."""

    def __init__(self) -> None:
        self._learnt: re.Pattern[str] | None = None

    def read(self, line: str) -> Head | str:
        """Return the head of an entry, or what a line adds to the open one.

        A date without a level may belong to a prefix, so the text behind it is parsed first.
        """
        text, vague = cleaned(line), None
        for _ in range(NESTED):
            found = read_object(text)
            head = found if isinstance(found, Head) else head_of(text)
            if head is not None and head.level:
                return head
            vague = vague or head
            inner = found if isinstance(found, str) else without_prefix(text)
            if inner is None:
                break
            text = cleaned(inner)
        found = self._behind_unknown(text)
        return vague if vague is not None and isinstance(found, str) else found

    def _behind_unknown(self, text: str) -> Head | str:
        prefix = unknown_prefix(text)
        head = None if prefix is None else head_of(text[len(prefix) :])
        if prefix is not None and head is not None:
            self._learnt = shape_of(prefix)
            return head
        known = self._learnt.match(text) if self._learnt else None
        return text if known is None else text[known.end() :]
