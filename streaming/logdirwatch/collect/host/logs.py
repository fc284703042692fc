"""The logs that the host source reads, as findings: the broker's own, and the kernel's."""

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple, Protocol

from logdirwatch.collect.host.tail import END_OF_FILE, Piece, Position
from logdirwatch.model.broker_failures import BrokerFailureReason
from logdirwatch.parse.broker_log import findings as log_findings
from logdirwatch.parse.broker_log.entries import ENTRY_LINES, Entries, Entry, Lines
from logdirwatch.parse.broker_log.failures import BrokerFailed, failed_by
from logdirwatch.parse.broker_log.findings import Finding, Started
from logdirwatch.parse.broker_log.process_ends import reason_in_log_of_host
from logdirwatch.parse.kernel_log.lines import KernelError, kernel_news

# An exception is written right behind its line; after this many reads without a byte the entry is complete.
QUIET_LOOKS = 4
# The kernel writes its line before the process ends: one that still runs after this many reads was not killed.
LOOKS_TO_END = 12
RECORD_BYTES = 8_192


class Source(Protocol):
    """A growing log."""

    def read(self) -> Iterator[Piece]:
        """Yield what was appended since the last call."""

    def position(self, held_bytes: int = 0) -> Position | None:
        """Return where to resume after a restart, None if that is impossible."""

    def close(self) -> None:
        """Close it."""

    @property
    def began_midway(self) -> bool:
        """Tell whether the first data read may be the end of an entry."""


class LogRead(NamedTuple):
    """How much of a log was read: "no failure" is only true of entries, not of lines that were not understood."""

    entries: int
    lines_not_understood: int


class BrokerLog:
    """The findings in one log of a broker."""

    def __init__(self, source: Source, log_dirs: Sequence[str]) -> None:
        self._source = source
        self._log_dirs = log_dirs
        self._entries = Entries()
        self._quiet_looks = 0

    def findings(self, since: str = "") -> Iterator[Finding]:
        """Yield the findings since the last call, of entries that are not older than ``since``."""
        for entry in self._new():
            yield from self._told(entry, since)

    def position(self) -> Position | None:
        """Return where to resume after a restart: at the first entry that is not judged yet."""
        return self._source.position(self._entries.held_bytes)

    def close(self) -> None:
        """Close the log."""
        self._source.close()

    @property
    def read(self) -> LogRead:
        """How much was read; a first entry that began before the start of reading is not counted."""
        found, rest = self._entries.not_understood_lines, self._entries.lines_before_first
        is_rest = self._source.began_midway and self._entries.understood_lines > 0 and rest <= ENTRY_LINES
        return LogRead(self._entries.understood_lines, found - rest if is_rest else found)

    def _new(self) -> Iterator[Entry]:
        is_quiet = True
        for piece in self._source.read():
            is_quiet = False
            yield from self._entries.end() if piece is END_OF_FILE else self._entries.feed(piece)
        self._quiet_looks = self._quiet_looks + 1 if is_quiet else 0
        if self._quiet_looks == QUIET_LOOKS:
            yield from self._entries.flush()

    def rest(self, since: str = "") -> Iterator[Finding]:
        """Yield the findings of the last entry without waiting for the next one."""
        for entry in self._entries.end():
            yield from self._told(entry, since)

    def _told(self, entry: Entry, since: str) -> Iterator[Finding]:
        is_older = _ISO.match(since) and _ISO.match(entry.at) and entry.at < since
        return iter(()) if is_older else log_findings.findings(entry, self._log_dirs)


class BrokerLogs:
    """A broker's main log, which alone shows when a run began, and its other logs.

    Findings of the others from an earlier run are left out if both logs write dates alike.
    """

    def __init__(self, main: BrokerLog, others: Mapping[str, BrokerLog]) -> None:
        self._main = main
        self._others = dict(others)
        self._started_at = ""

    def findings(self) -> Iterator[Finding]:
        """Yield the findings since the last call."""
        yield from self._noting_starts(self._main.findings())
        for log in self._others.values():
            yield from _without_starts(log.findings(self._started_at))

    def rest(self) -> Iterator[Finding]:
        """Yield the findings of the last entries without waiting for the next ones."""
        yield from self._noting_starts(self._main.rest())
        for log in self._others.values():
            yield from _without_starts(log.rest(self._started_at))

    def positions(self, main: str) -> dict[str, Position]:
        """Return the position in each log, by path; ``main`` is that of the main one."""
        found = {path: log.position() for path, log in ((main, self._main), *self._others.items())}
        return {path: position for path, position in found.items() if position is not None}

    @property
    def read(self) -> LogRead:
        """How much was read of all of them."""
        parts = [log.read for log in (self._main, *self._others.values())]
        return LogRead(sum(part.entries for part in parts), sum(part.lines_not_understood for part in parts))

    def close(self) -> None:
        """Close the logs."""
        for log in (self._main, *self._others.values()):
            log.close()

    def _noting_starts(self, findings: Iterator[Finding]) -> Iterator[Finding]:
        for found in findings:
            if isinstance(found, Started):
                self._started_at = found.at
            yield found


def _without_starts(findings: Iterator[Finding]) -> Iterator[Finding]:
    return (found for found in findings if not isinstance(found, Started))


_ISO = re.compile(r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d")


class KernelLog:
    """The kernel's messages about disks, file systems, and killed processes of a broker.

    ``is_running`` tells whether the broker runs: while it does, the OOM killer killed another Java process.
    """

    def __init__(self, source: Source, is_running: Callable[[], bool] = lambda: False) -> None:
        self._source = source
        self._is_running = is_running
        self._lines = Lines()
        self._held: list[BrokerFailed] = []
        self._looks_held = 0

    def news(self) -> Iterator[KernelError]:
        """Yield the troubles reported since the last call, and those that have ended."""
        return (found for found in self.findings() if isinstance(found, KernelError))

    def findings(self) -> Iterator[KernelError | BrokerFailed]:
        """Yield the troubles, and why a broker of this host ended if its own log cannot say so."""
        for piece in self._source.read():
            for text, _ in self._lines.end() if piece is END_OF_FILE else self._lines.feed(piece):
                yield from kernel_news(text)
                if (ended := reason_in_log_of_host(text)) is not None:
                    yield from self._ended(failed_by(*ended))
        yield from self._judged()

    def _ended(self, failed: BrokerFailed) -> Iterator[BrokerFailed]:
        if failed.reason is BrokerFailureReason.OOM_KILLED and self._is_running():
            self._held.append(failed)
            self._looks_held = 0
        else:
            yield failed

    def _judged(self) -> Iterator[BrokerFailed]:
        """Yield pending kills once the broker is gone; drop them when it is too late."""
        if not self._held:
            return
        self._looks_held += 1
        if not self._is_running():
            yield from self._held
            self._held = []
        elif self._looks_held > LOOKS_TO_END:
            self._held = []

    def position(self) -> Position | None:
        """Return where to resume after a restart."""
        return self._source.position(self._lines.held_bytes)

    def close(self) -> None:
        """Close the log."""
        self._source.close()


class KernelRing:
    """The kernel's own buffer (/dev/kmsg): one record per read, nothing to resume.

    Starts at its end, or with what it still holds. Raises OSError when it cannot be opened.
    """

    began_midway = False

    def __init__(self, path: str, *, from_start: bool = False) -> None:
        self._descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        os.lseek(self._descriptor, 0, os.SEEK_SET if from_start else os.SEEK_END)

    def read(self) -> Iterator[Piece]:
        """Yield the records that came since the last call."""
        while True:
            try:
                record = os.read(self._descriptor, RECORD_BYTES)
            except BlockingIOError:
                return
            except BrokenPipeError:
                continue  # records were overwritten before they were read; the next read goes on behind them
            if not record:
                return
            yield record

    def position(self, held_bytes: int = 0) -> Position | None:
        """Return None: a restart begins at the end again."""
        del held_bytes
        return None

    def close(self) -> None:
        """Close it."""
        os.close(self._descriptor)
