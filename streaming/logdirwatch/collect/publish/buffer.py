"""The records to send while the telemetry cluster, or a part of it, is down. Pure: no clock, threads, network."""

from collections import deque
from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass

from logdirwatch.model import topics


@dataclass(frozen=True)
class Outgoing:
    """One record to send: topic, key and the encoded value.

    One that ``waits`` is sent after everything before it was tried, and everything of its topic with a key below its
    own is acknowledged, so that readers get it last.
    """

    topic: str
    key: bytes
    value: bytes
    waits: bool = False

    @property
    def is_event(self) -> bool:
        """Whether this is an event, which is dropped last."""
        return self.topic == topics.EVENTS


# A record with its place in the order in which all were put.
_Placed = tuple[int, Outgoing]
_Lane = tuple[str, bytes]


class Buffer:
    """A queue of at most ``capacity`` records: when full the oldest is dropped, an event only if nothing else is left.

    Records that failed while others could be sent are set aside, and later records of the same topic and key behind
    them: :meth:`take` returns the others, :meth:`take_aside` those set aside.
    """

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._events: deque[_Placed] = deque()
        self._others: deque[_Placed] = deque()
        self._aside = _Aside()
        self._shut: Set[str] = frozenset()
        self._taken: list[_Placed] = []
        self._next = 0
        self.dropped = 0

    def __len__(self) -> int:
        return len(self._events) + len(self._others) + len(self._aside)

    @property
    def aside(self) -> int:
        """The number of records set aside."""
        return len(self._aside)

    def put(self, records: Iterable[Outgoing]) -> None:
        """Append ``records``."""
        for record in records:
            self._queue_of(record).append((self._next, record))
            self._next += 1
        self._trim()

    def take(self, limit: int) -> list[Outgoing]:
        """Remove and return the next batch, in order, at most ``limit`` records; one that waits begins its batch."""
        self._taken = []
        while (queue := self._oldest()) and len(self._taken) < limit and not (self._taken and queue[0][1].waits):
            placed = queue.popleft()
            if placed[1].topic in self._shut or self._aside.holds(placed[1]):
                self._aside.append(placed)
            else:
                self._taken.append(placed)
        return [record for _, record in self._taken]

    def take_aside(self, limit: int) -> list[Outgoing]:
        """Remove and return at most ``limit`` of the records set aside, some of every key in turn."""
        self._taken = self._aside.take(limit)
        return [record for _, record in self._taken]

    def set_aside(self, failed: Sequence[Outgoing], shut: Set[str] = frozenset()) -> None:
        """Set aside the failed records of the last batch, and everything else of the topics ``shut``."""
        self._shut = (self._shut - {record.topic for _, record in self._taken}) | shut
        self._aside.put_back(self._placed(failed))
        self._trim()

    def put_back(self, failed: Sequence[Outgoing]) -> None:
        """Put the failed records of the last batch back in their place, with all that were set aside."""
        for placed in sorted([*self._placed(failed), *self._aside.clear()], reverse=True):
            self._queue_of(placed[1]).appendleft(placed)
        self._shut = frozenset()
        self._trim()

    def _placed(self, failed: Sequence[Outgoing]) -> list[_Placed]:
        those = set(map(id, failed))
        return [placed for placed in self._taken if id(placed[1]) in those]

    def _queue_of(self, record: Outgoing) -> deque[_Placed]:
        return self._events if record.is_event else self._others

    def _oldest(self) -> deque[_Placed]:
        if not self._others or (self._events and self._events[0][0] < self._others[0][0]):
            return self._events
        return self._others

    def _trim(self) -> None:
        """Drop records beyond the capacity; those set aside are older than the others."""
        while len(self) > self._capacity:
            if not self._aside.drop(events=False):
                if self._others:
                    self._others.popleft()
                elif not self._aside.drop(events=True):
                    self._events.popleft()
            self.dropped += 1


class _Aside:
    """Records by topic and key, those of one key in their order."""

    def __init__(self) -> None:
        self._lanes: dict[_Lane, deque[_Placed]] = {}
        self._size = 0

    def __len__(self) -> int:
        return self._size

    def holds(self, record: Outgoing) -> bool:
        """Whether a record is held that must be sent before ``record``."""
        return _lane(record) in self._lanes or self._is_early(record)

    def append(self, placed: _Placed) -> None:
        """Add a record as the last of its key."""
        self._lanes.setdefault(_lane(placed[1]), deque()).append(placed)
        self._size += 1

    def put_back(self, those: Sequence[_Placed]) -> None:
        """Add records before all others of their keys, and give these keys the last turn."""
        for placed in reversed(those):
            self._lanes.setdefault(_lane(placed[1]), deque()).appendleft(placed)
        self._size += len(those)
        for lane in {_lane(record): None for _, record in those}:
            self._lanes[lane] = self._lanes.pop(lane)

    def take(self, limit: int) -> list[_Placed]:
        """Remove and return at most ``limit`` records, in their order, evenly from each key."""
        share = max(1, limit // max(1, len(self._lanes)))
        due = [lane for lane, waiting in self._lanes.items() if not self._is_early(waiting[0][1])]
        return sorted(placed for lane in due[:limit] for placed in self._pop(lane, share))

    def drop(self, *, events: bool) -> bool:
        """Remove the oldest record of the next key, of events or of anything else, if there is one."""
        lane = next((lane for lane in self._lanes if (lane[0] == topics.EVENTS) is events), None)
        if lane is None:
            return False
        self._pop(lane, 1)
        if lane in self._lanes:
            self._lanes[lane] = self._lanes.pop(lane)
        return True

    def clear(self) -> list[_Placed]:
        """Remove and return everything."""
        everything = [placed for waiting in self._lanes.values() for placed in waiting]
        self._lanes, self._size = {}, 0
        return everything

    def _pop(self, lane: _Lane, limit: int) -> list[_Placed]:
        waiting = self._lanes[lane]
        popped = [waiting.popleft() for _ in range(min(limit, len(waiting)))]
        self._size -= len(popped)
        if not waiting:
            del self._lanes[lane]
        return popped

    def _is_early(self, record: Outgoing) -> bool:
        """Whether ``record`` waits for one that is held."""
        return record.waits and any(
            topic == record.topic and key.startswith(record.key + b"/") for topic, key in self._lanes
        )


def _lane(record: Outgoing) -> _Lane:
    return record.topic, record.key
