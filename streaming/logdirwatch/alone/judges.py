"""The stream's processors, called with the collector's records as they come, their state and timers in memory."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from logdirwatch.collect.publish.buffer import Outgoing
from logdirwatch.detect.spark.judge import ShardJudge
from logdirwatch.fleet.judge import ClusterJudge
from logdirwatch.model import topics
from logdirwatch.model.records import AlertRecord
from logdirwatch.parse.records import Accepted, parse
from logdirwatch.settings import Settings

Key = tuple[Any, ...]


class Stored(NamedTuple):
    """The state of one key: its value, and the times of its timers."""

    value: tuple[Any, ...] | None = None
    timers: frozenset[int] = frozenset()


class Handle:
    """Spark's handle and timer values for one key of a batch after the other; ``states`` are those after the batch."""

    def __init__(self, states: Mapping[Key, Stored], now_ms: int) -> None:
        self.states: dict[Key, Stored] = dict(states)
        self._now_ms, self._expires_ms = now_ms, 0
        self._key: Key = ()

    def run(self, processor: Any, grouped: Mapping[Key, Sequence[Mapping[str, Any]]]) -> Iterator[Any]:
        """Yield what a processor writes about the rows of each key, and then of each timer that has expired."""
        processor.init(self)
        for self._key in sorted(grouped):
            yield from processor.handleInputRows(self._key, iter(grouped[self._key]), self)
        for key in sorted(self.states):
            for at_ms in sorted(at for at in self.states[key].timers if at <= self._now_ms):
                self._key, self._expires_ms = key, at_ms
                self.deleteTimer(at_ms)
                yield from processor.handleExpiredTimer(key, self, self)

    def begin(self, processor: Any, memories: Mapping[Key, Mapping[str, Any]]) -> None:
        """Give a processor the initial state of each key."""
        processor.init(self)
        for self._key, memory in sorted(memories.items()):
            processor.handleInitialState(self._key, memory, self)

    # -- Spark's names

    def getValueState(self, *_: Any) -> "Handle":  # noqa: N802
        """Return the state, of which there is one."""
        return self

    def get(self) -> tuple[Any, ...] | None:
        """Return the value of the present key."""
        return self._stored.value

    def update(self, value: tuple[Any, ...]) -> None:
        """Replace the value of the present key."""
        self.states[self._key] = self._stored._replace(value=value)

    def registerTimer(self, at_ms: int) -> None:  # noqa: N802
        """Set a timer of the present key."""
        self.states[self._key] = self._stored._replace(timers=self._stored.timers | {at_ms})

    def deleteTimer(self, at_ms: int) -> None:  # noqa: N802
        """Delete a timer of the present key."""
        self.states[self._key] = self._stored._replace(timers=self._stored.timers - {at_ms})

    def getCurrentProcessingTimeInMs(self) -> int:  # noqa: N802
        """Return the time of the batch."""
        return self._now_ms

    def getExpiryTimeInMs(self) -> int:  # noqa: N802
        """Return the time of the timer that expired."""
        return self._expires_ms

    @property
    def _stored(self) -> Stored:
        return self.states.get(self._key, Stored())


Written = tuple[str, bytes, bytes | None]
"""A record's topic, key and value."""


class Judges:
    """``detect`` and ``fleet`` with their state; offsets are counted here, as there is no topic."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._brokers: dict[Key, Stored] = {}
        self._clusters: dict[Key, Stored] = {}
        self._offset = 0

    def take(self, sent: Iterable[Outgoing], now_ms: int) -> list[Written]:
        """Judge records, and that time has passed; return the states and the revisions of alerts."""
        handle = Handle(self._brokers, now_ms)
        detect = ShardJudge(self._settings.detect, self._settings.default_cluster)
        grouped = self._grouped(((one.topic, one.key, one.value) for one in sent), now_ms, by_broker=True)
        written = [_encoded(*row) for row in handle.run(detect, grouped)]
        self._brokers = handle.states
        handle = Handle(self._clusters, now_ms)
        fleet = ClusterJudge(self._settings.fleet, self._settings.detect)
        grouped = self._grouped((one for one in written if one[0] == topics.STATE), now_ms, by_broker=False)
        written += [_encoded(*row) for row in handle.run(fleet, grouped)]
        self._clusters = handle.states
        return written

    def _grouped(self, records: Iterable[Written], now_ms: int, *, by_broker: bool) -> dict[Key, list[dict[str, Any]]]:
        """Return the rows of the records whose key is ``cluster/broker``, under the processor's key."""
        found: dict[Key, list[dict[str, Any]]] = {}
        for topic, key, value in records:
            cluster, _, broker = key.decode().rpartition("/")
            if not broker.isdecimal() or topic == topics.INVENTORY:
                continue
            self._offset += 1
            row = {"cluster": cluster, "broker": int(broker), "topic": topic, "partition": 0, "offset": self._offset}
            row |= {"timestamp_ms": now_ms, "key": key, "value": value}
            found.setdefault((cluster, int(broker)) if by_broker else (cluster,), []).append(row)
        return found


def _encoded(topic: str, key: str, value: str | None) -> Written:
    return topic, key.encode(), None if value is None else value.encode()


def alerts_of(written: Iterable[Written]) -> Iterator[AlertRecord]:
    """Yield the alerts among records."""
    for topic, key, value in written:
        found = parse(topic, key, value, 0, "") if topic == topics.ALERTS else None
        if isinstance(found, Accepted) and isinstance(found.record, AlertRecord):
            yield found.record
