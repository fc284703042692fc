"""Splits a broker's log into entries, joins lines that a container runtime split. Pure; bytes in, entries out.

``Layout`` recognises the lines that begin one; the lines below (a Java exception, its causes, its frames) belong
to it. A line that neither begins an entry nor belongs to one is counted as not understood. The result does not depend
on how the bytes are split into reads.

A small table of prefixes and one of patterns may be combined in any way; an unknown prefix is learnt from a line with
a date and level behind it. A container runtime splits lines that are longer than 16 KiB.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from logdirwatch.parse.broker_log import json_lines, xml_events
from logdirwatch.parse.broker_log.heads import (
    CRI,
    Head,
    cleaned,
    container_of,
    head_of,
    is_aside,
    shape_of,
    unknown_prefix,
    without_prefix,
)
from logdirwatch.parse.os_errors import decoded_line
from logdirwatch.parse.patterns import LINE_CHARACTERS, compiled

LONGEST = 65_536
"""The maximum length of a line that is kept."""
DOCKER_BYTES = 16_384
"""The maximum that Docker writes at once; shorter text without a line end comes from a program that strips it."""
_DOCKER, _STREAM = '{"log":"', '","stream":"'
_ESCAPED_END = compiled(r"(?<!\\)(?:\\\\)*\\n$")


class Parts:
    """Keeps the parts of a line until the last one arrives; the two streams of a container may be interleaved."""

    def __init__(self) -> None:
        self._held: dict[str, tuple[str, int]] = {}

    @property
    def held_bytes(self) -> int:
        """The bytes of unfinished lines."""
        return sum(size for _, size in self._held.values())

    def joined(self, text: str, size: int) -> tuple[str, int] | None:
        """Return the line that ``text`` completes, with its length in bytes; None for an unfinished part."""
        stream, begin, is_part = _part(text)
        before, before_size = self._held.pop(stream, ("", 0))
        whole = before + text[begin if before else 0 :]
        if not is_part:
            return whole, before_size + size
        end = whole.rfind(_STREAM) if whole.startswith(_DOCKER) else len(whole)
        self._held[stream] = whole[:end][:LONGEST], before_size + size
        return None

    def end(self) -> list[tuple[str, int]]:
        """Return the unfinished lines, because nothing follows."""
        left, self._held = self._held, {}
        return [
            (f'{text}{_STREAM}{stream}"}}' if text.startswith(_DOCKER) else text, size)
            for stream, (text, size) in left.items()
        ]


def _part(text: str) -> tuple[str, int, bool]:
    """Return the stream of a line, the start of its content, and whether it continues in another line."""
    if text.startswith(_DOCKER) and (end := text.rfind(_STREAM)) > 0:
        written, stream = text[len(_DOCKER) : end], text[end + len(_STREAM) :].partition('"')[0]
        is_part = len(written.encode()) >= DOCKER_BYTES and _ESCAPED_END.search(written) is None
        return stream, len(_DOCKER), is_part
    cut = CRI.match(text)
    return ("", 0, False) if cut is None else (cut["stream"], cut.end(), cut["tag"] == "P")


NESTED = 5


class Layout:
    """Reads the lines of one log."""

    def __init__(self) -> None:
        self._learnt: re.Pattern[str] | None = None
        self.container = ""
        """The container that the last line names; empty if it names none."""

    def read(self, line: str) -> Head | str:
        """Return the head of an entry, or what a line adds to the open one.

        A date without a level may belong to a prefix, so the text behind it is parsed first.
        """
        text, vague = cleaned(line), None
        self.container = container_of(text)
        for _ in range(NESTED):
            found = json_lines.read_object(text)
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


# More than any useful line, including an exception as a JSON object; the rest of a longer one is only counted.
LINE_BYTES = 65_536
# An exception, its causes and what a message holds beside; frames are not kept.
ENTRY_LINES = 50

# What log4j2's JsonLayout, and its and log4j's XML layouts, write of one event unless they are told to be compact.
OBJECT_LINES = 2_000
_FRAME = compiled(r"\s+(?:at |\.\.\. \d+ more)")


@dataclass(frozen=True)
class Entry:
    """One entry: its first line parsed, and below it the lines of an exception without the frames.

    ``at`` is the broker's timestamp as written, not always with a time zone.
    """

    at: str
    level: str
    logger: str
    message: str
    more: tuple[str, ...] = ()

    @property
    def exception(self) -> str:
        """The exception with its causes, one per line; empty if there is none."""
        return "\n".join(self.more)

    def shortened(self) -> "Entry":
        """Return it with lines of at most ``LINE_CHARACTERS``, for patterns."""
        more = tuple(line[:LINE_CHARACTERS] for line in self.more)
        return replace(self, message=self.message[:LINE_CHARACTERS], more=more)


class Lines:
    """Splits bytes into lines; an unfinished last line waits for its end."""

    def __init__(self) -> None:
        self._begun = b""
        self.held_bytes = 0
        """The bytes of the unfinished line."""

    def feed(self, data: bytes) -> Iterator[tuple[str, int]]:
        """Yield every line that ``data`` completes, with its length in bytes."""
        *ends, rest = data.split(b"\n")
        for end in ends:
            self._grow(end)
            yield self._line(self.held_bytes + 1)
        self._grow(rest)

    def end(self) -> Iterator[tuple[str, int]]:
        """Yield the unfinished line, because nothing follows."""
        if self.held_bytes:
            yield self._line(self.held_bytes)

    def _grow(self, data: bytes) -> None:
        # A file system that lost power may leave zeros where a line was about to be written; the next one follows.
        kept = data if self._begun else data.lstrip(b"\0")
        self._begun += kept[: LINE_BYTES - len(self._begun)]
        self.held_bytes += len(data)

    def _line(self, size: int) -> tuple[str, int]:
        text = decoded_line(self._begun).rstrip("\r")
        self._begun, self.held_bytes = b"", 0
        return text, size


class Entries:
    """Splits bytes into entries; the last one waits until the next one begins, or until it is flushed."""

    def __init__(self) -> None:
        self._lines = Lines()
        self._parts = Parts()
        self._layout = Layout()
        self._open: Head | None = None
        self._open_container = ""
        self._more: list[str] = []
        self._below = 0
        self._object: list[str] = []
        self._object_end: str | None = None
        self._open_bytes = 0
        self.understood_lines = 0
        """The number of lines that began an entry."""
        self.not_understood_lines = 0
        """The number of non-blank lines that neither began an entry nor belonged to one."""

        self.lines_before_first = 0
        """Those of them before the first entry: the end of one if reading began in the middle."""

    @property
    def held_bytes(self) -> int:
        """The number of bytes that belong to no finished entry yet."""
        return self._open_bytes + self._parts.held_bytes + self._lines.held_bytes

    def feed(self, data: bytes) -> Iterator[Entry]:
        """Yield every entry that ``data`` completes."""
        yield from self._join(self._lines.feed(data))

    def flush(self) -> Iterator[Entry]:
        """Yield the waiting entry, because nothing was added to it for a while; an unfinished line stays."""
        if self._open is not None:
            head = self._open
            yield Entry(head.at, head.level, head.logger, head.message, (*head.more, *self._more)[:ENTRY_LINES])
        self._open, self._more, self._below, self._open_bytes = None, [], 0, 0

    def end(self) -> Iterator[Entry]:
        """Yield what is left at the end of a file."""
        yield from self._join(self._lines.end())
        for text, size in self._parts.end():
            yield from self._take(text, size)
        self.not_understood_lines += len(self._object)
        self._object = []
        yield from self.flush()

    def _join(self, lines: Iterable[tuple[str, int]]) -> Iterator[Entry]:
        """Process complete lines: a container runtime splits long ones."""
        for text, size in lines:
            if (whole := self._parts.joined(text, size)) is not None:
                yield from self._take(*whole)

    def _take(self, text: str, size: int) -> Iterator[Entry]:
        read = self._layout.read(text)
        if isinstance(read, str) and not self._object:
            self._object_end = json_lines.end_of(read) or xml_events.end_of(read)
        if isinstance(read, str) and self._object_end is not None:
            yield from self._take_part(read, size, self._object_end)
            return
        if isinstance(read, Head) and self._open is not None and is_aside(read):
            self.understood_lines += 1
            if read.logger:
                yield Entry(read.at, read.level, read.logger, read.message)
        elif isinstance(read, Head):
            yield from self._begin(read)
        else:
            self._go_on(read)
        self._open_bytes += size if self._open is not None else 0

    def _begin(self, head: Head) -> Iterator[Entry]:
        yield from self.flush()
        self._open = head
        self._open_container = self._layout.container
        self.understood_lines += 1

    def _take_part(self, text: str, size: int, end: str) -> Iterator[Entry]:
        """Process one line of an object that spans several and ends with ``end``."""
        if not self._object:
            yield from self.flush()
        self._object.append(text)
        self._open_bytes += size
        # What is inside a JSON object is indented, and ends with the same bracket.
        line = text.rstrip()
        is_ended = line.rstrip(",") == end if end == "}" else line.endswith(end)
        if not is_ended and len(self._object) < OBJECT_LINES:
            return
        lines, held_bytes = self._object, self._open_bytes
        self._object, self._object_end = [], None
        read = self._layout.read("\n".join(lines).rstrip(","))
        if isinstance(read, Head):
            yield from self._begin(read)
            self._open_bytes = held_bytes
        else:
            self._open_bytes = 0
            self.not_understood_lines += len(lines)
            self.lines_before_first += 0 if self.understood_lines else len(lines)

    def _go_on(self, text: str) -> None:
        """Process a line that begins no entry; from ``ENTRY_LINES`` on only an indented one still belongs to one."""
        self._below += 1
        if xml_events.is_around(text):
            return
        # Several containers may share a stream: an exception of one is none of another's entry.
        is_foreign = bool(self._layout.container) and self._layout.container != self._open_container
        is_lost = self._open is None or is_foreign or (self._below > ENTRY_LINES and not text[:1].isspace())
        if is_lost and text.strip():
            self.not_understood_lines += 1
            self.lines_before_first += not self.understood_lines
        elif self._open is not None and len(self._more) < ENTRY_LINES and text.strip() and not _FRAME.match(text):
            self._more.append(text)
