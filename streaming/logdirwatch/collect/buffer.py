"""What waits to be sent while the telemetry cluster is away. Pure: no clock, no threads, no network."""

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from logdirwatch.model import topics


@dataclass(frozen=True)
class Outgoing:
    """One record on its way: topic, key and the encoded value.

    One that ``waits`` is sent when everything before it is acknowledged, so that readers meet it last.
    """

    topic: str
    key: bytes
    value: bytes
    waits: bool = False

    @property
    def is_event(self) -> bool:
        """Whether this is an event, which is dropped last."""
        return self.topic == topics.EVENTS


class Buffer:
    """A queue of at most ``capacity`` records: when full the oldest goes, an event only if nothing else is left."""

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._events: deque[tuple[int, Outgoing]] = deque()
        self._others: deque[tuple[int, Outgoing]] = deque()
        self._first = self._next = 0
        self.dropped = 0

    def __len__(self) -> int:
        return len(self._events) + len(self._others)

    def put(self, records: Iterable[Outgoing]) -> None:
        """Append ``records``."""
        for record in records:
            self._queue_of(record).append((self._next, record))
            self._next += 1
        self._trim()

    def take(self, limit: int) -> list[Outgoing]:
        """Remove and return the next batch, in order, at most ``limit`` records; one that waits begins its batch."""
        batch: list[Outgoing] = []
        while len(self) and len(batch) < limit and not (batch and self._head().waits):
            batch.append(self._oldest().popleft()[1])
        return batch

    def put_back(self, records: Sequence[Outgoing]) -> None:
        """Return what could not be sent to the front, in its order."""
        for record in reversed(records):
            self._first -= 1
            self._queue_of(record).appendleft((self._first, record))
        self._trim()

    def _queue_of(self, record: Outgoing) -> deque[tuple[int, Outgoing]]:
        return self._events if record.is_event else self._others

    def _head(self) -> Outgoing:
        return self._oldest()[0][1]

    def _oldest(self) -> deque[tuple[int, Outgoing]]:
        if not self._others or (self._events and self._events[0][0] < self._others[0][0]):
            return self._events
        return self._others

    def _trim(self) -> None:
        while len(self) > self._capacity:
            (self._others or self._events).popleft()
            self.dropped += 1
