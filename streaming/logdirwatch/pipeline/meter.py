"""How far one query is behind its topics, and what it lost there, from its offsets and Kafka's. Pure.

A query has caught up with the last check whose end offsets it has reached, so its lag is known to within one check
interval, independent of the query's own reports.
"""

from collections import Counter
from collections.abc import Collection, Mapping
from typing import NamedTuple

from logdirwatch.model.evidence.stream import LostRange

Partition = tuple[str, int]
Offsets = Mapping[Partition, int]
MOST_LOOKS = 1_000


class Bounds(NamedTuple):
    """The first and the next offset of every partition in Kafka."""

    begins: Offsets
    ends: Offsets

    def of(self, topics: Collection[str]) -> "Bounds":
        """Return the offsets of some topics."""
        begins, ends = ({part: at for part, at in offsets.items() if part[0] in topics} for offsets in self)
        return Bounds(begins, ends)


class Progress(NamedTuple):
    """The offsets that a query has read up to, and those that its present run began with, if known."""

    began: Offsets
    reached: Offsets


class QueryLag(NamedTuple):
    """The result of one check; None when unknown. ``found_unread``: the present run began with something to read."""

    lag_ms: int | None
    behind: dict[str, int] | None
    read_rows: int
    lost: list[LostRange]
    found_unread: bool


class Meter:
    """One query, checked repeatedly; ``at_ms`` is when it began to run."""

    def __init__(self, at_ms: int) -> None:
        self._caught_up_ms = at_ms
        self._looks: list[tuple[int, Offsets]] = []
        self._read: dict[Partition, int] | None = None
        self._gone: dict[Partition, int] = {}
        self._ends: Offsets = {}

    def look(self, at_ms: int, progress: Progress | None, bounds: Bounds) -> QueryLag:
        """Check the query; without progress the present run has not ended a batch, nor found nothing to run."""
        is_first = self._read is None and progress is not None
        before: Offsets = self._read or {}
        if is_first and progress is not None:
            before = {**progress.reached, **progress.began}
        reached: Offsets = self._read or {} if progress is None else progress.reached
        lost = [*self._lost_with_topic(before, reached, bounds), *self._lost(before, bounds)]
        if progress is not None:
            self._read = dict(progress.reached)
        self._ends = bounds.ends
        behind, read_rows = self._behind(bounds), _advance(before, self._read or {})
        return QueryLag(self._lag_ms(at_ms, behind, bounds), behind, read_rows, lost, is_first and read_rows > 0)

    def _behind(self, bounds: Bounds) -> dict[str, int] | None:
        """Return the unread records by topic; None while the read offsets are unknown and records exist."""
        unread: Counter[str] = Counter()
        for part, end in bounds.ends.items():
            begin = bounds.begins.get(part, end)
            read = begin if self._read is None else max(self._read.get(part, begin), begin)
            unread[part[0]] += max(0, end - read)
        if self._read is None and unread.total():
            return None
        return dict(unread)

    def _lag_ms(self, at_ms: int, behind: dict[str, int] | None, bounds: Bounds) -> int:
        if behind is not None and not any(behind.values()):
            self._caught_up_ms = at_ms
            self._looks.clear()
            return 0
        self._looks.append((at_ms, bounds.ends))
        while self._looks and self._has_reached(self._looks[0][1], bounds):
            self._caught_up_ms = self._looks.pop(0)[0]
        if len(self._looks) > MOST_LOOKS:
            # A long lag is not given to the second.
            self._looks = self._looks[::2]
        return at_ms - self._caught_up_ms

    def _has_reached(self, ends: Offsets, bounds: Bounds) -> bool:
        read = self._read
        return read is not None and all(read.get(part, bounds.begins.get(part, 0)) >= end for part, end in ends.items())

    def _lost_with_topic(self, before: Offsets, reached: Offsets, bounds: Bounds) -> list[LostRange]:
        """Return what was lost with a topic that was deleted and recreated: its offsets begin at 0.

        That is what was unread in the old one, and what the new one contains when Spark finds its end below the offset
        it had read up to: it continues from that end and skips what is before it.
        """
        lost: list[LostRange] = []
        for part, end in sorted(bounds.ends.items()):
            was = before.get(part, 0)
            if end >= was:
                continue
            now = reached.get(part, was)
            lost += _range(part, was, self._ends.get(part, was))
            lost += _range(part, bounds.begins.get(part, 0), now) if now < was else []
            self._gone.pop(part, None)
        return lost

    def _lost(self, before: Offsets, bounds: Bounds) -> list[LostRange]:
        """Return what was unread at the previous check and has been deleted.

        The query may have read a part of it in between: this is an upper bound of the loss.
        """
        lost: list[LostRange] = []
        for part, begin in sorted(bounds.begins.items()):
            if part not in before:
                continue
            unread_from = max(before[part], self._gone.get(part, 0))
            gone_to = min(begin, self._ends.get(part, begin))
            if gone_to > unread_from:
                self._gone[part] = gone_to
                lost += _range(part, unread_from, gone_to)
        return lost


def _advance(before: Offsets, after: Offsets) -> int:
    return sum(max(0, offset - before.get(part, offset)) for part, offset in after.items())


def _range(part: Partition, begin: int, end: int) -> list[LostRange]:
    """Return the range as a list, empty if the range is."""
    return [LostRange(topic=part[0], partition=part[1], from_offset=begin, to_offset=end)] if end > begin else []
