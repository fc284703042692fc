"""A broker's log as entries: the line that begins one, and what belongs to it. Pure; bytes in, entries out.

An entry begins with a line that begins with a date, as in Kafka's own pattern ``[%d] %p %m (%c)%n``; the lines below it
(a Java exception, its causes, its frames) are its own. How the bytes were cut into reads makes no difference.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

# More than any line of use; a longer one is read up to here, its rest only counted.
LINE_BYTES = 16_384
# An exception, its causes and what a message holds beside; frames are not kept.
ENTRY_LINES = 50

_BEGINS = re.compile(r"\[?(\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(?:[.,]\d+)?)\S*\s*")
_LEVEL = re.compile(r"(TRACE|DEBUG|INFO|WARN|ERROR|FATAL)\s+")
_LOGGER = re.compile(r"\s*\([\w.$]+\)(?: \[[^\]]*\])?\s*$")
_FRAME = re.compile(r"\s+(?:at |\.\.\. \d+ more)")


@dataclass(frozen=True)
class Entry:
    """One entry: its first line, and below it the lines of an exception without the frames."""

    first: str
    more: tuple[str, ...] = ()

    @property
    def at(self) -> str:
        """When the broker wrote it, in its own words; it does not say in which time zone."""
        begins = _BEGINS.match(self.first)
        return begins[1] if begins else ""

    @property
    def message(self) -> str:
        """What it says, without time, level and logger."""
        text = _BEGINS.sub("", self.first, count=1)
        return _LOGGER.sub("", _LEVEL.sub("", text, count=1))

    @property
    def exception(self) -> str:
        """The exception with its causes, one a line; empty when there is none."""
        return "\n".join(self.more)


class Lines:
    """Cuts bytes into lines; a last line without its end waits for it."""

    def __init__(self) -> None:
        self._begun = b""
        self.held_bytes = 0
        """Bytes of the line that waits."""

    def feed(self, data: bytes) -> Iterator[tuple[str, int]]:
        """Yield every line that ``data`` completes, with its length in bytes."""
        *ends, rest = data.split(b"\n")
        for end in ends:
            self._grow(end)
            yield self._line(self.held_bytes + 1)
        self._grow(rest)

    def end(self) -> Iterator[tuple[str, int]]:
        """Yield the line that waits, since nothing comes any more."""
        if self.held_bytes:
            yield self._line(self.held_bytes)

    def _grow(self, data: bytes) -> None:
        self._begun += data[: LINE_BYTES - len(self._begun)]
        self.held_bytes += len(data)

    def _line(self, size: int) -> tuple[str, int]:
        text = self._begun.decode(errors="replace").rstrip("\r")
        self._begun, self.held_bytes = b"", 0
        return text, size


class Entries:
    """Cuts bytes into entries; the last one waits until the next one begins, or until it is said to be complete."""

    def __init__(self) -> None:
        self._lines = Lines()
        self._open: list[str] = []
        self._open_bytes = 0

    @property
    def held_bytes(self) -> int:
        """How many of the bytes fed belong to no finished entry yet."""
        return self._open_bytes + self._lines.held_bytes

    def feed(self, data: bytes) -> Iterator[Entry]:
        """Yield every entry that ``data`` completes."""
        for text, size in self._lines.feed(data):
            yield from self._take(text, size)

    def flush(self) -> Iterator[Entry]:
        """Yield the entry that waits, since nothing was added to it for a while; a line without its end stays."""
        if self._open:
            yield Entry(self._open[0], tuple(self._open[1:]))
        self._open, self._open_bytes = [], 0

    def end(self) -> Iterator[Entry]:
        """Yield what is left at the end of a file."""
        for text, size in self._lines.end():
            yield from self._take(text, size)
        yield from self.flush()

    def _take(self, text: str, size: int) -> Iterator[Entry]:
        if _BEGINS.match(text):
            yield from self.flush()
            self._open = [text]
        elif self._open and len(self._open) < ENTRY_LINES and not _FRAME.match(text):
            self._open.append(text)
        self._open_bytes += size if self._open else 0
