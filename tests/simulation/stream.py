"""The stream: Spark's protocol of batches and checkpoints around the product's processors of ``detect`` and ``fleet``.

A batch is planned (its offsets and its time are stored), run, written to Kafka, and committed with its state; a crash
between any two of these runs the same batch again, at the same time, from the state before.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import msgspec

from logdirwatch.alone.judges import Handle, Key, Stored
from logdirwatch.detect.settings import DetectSettings
from logdirwatch.detect.spark.judge import HEARTBEAT_BROKER, PIPELINE_BROKER, ShardJudge
from logdirwatch.detect.spark.shard import NEIGHBOURS, SHARDS
from logdirwatch.detect.state import broker_state
from logdirwatch.fleet import memory as fleet_memory
from logdirwatch.fleet.judge import ClusterJudge
from logdirwatch.fleet.settings import FleetSettings
from logdirwatch.jobs.queries.start_state import memories_from_alerts
from logdirwatch.model import topics
from logdirwatch.model.vocabulary import NO_CLUSTER
from logdirwatch.parse.records import Accepted, parse
from tests.simulation.brokers import CLUSTER
from tests.simulation.clock import Host
from tests.simulation.topics import Entry, Telemetry

Written = tuple[str, str, str | None]
POINTS = ("planned", "half written", "written")
"""Where a crash interrupts a batch."""
DETECT, FLEET = DetectSettings(), FleetSettings()


class Planned(NamedTuple):
    """A batch in the log of offsets: where it ends, and its time."""

    begins: Mapping[str, int]
    ends: Mapping[str, int]
    at_ms: int


@dataclass
class Checkpoint:
    """The folder of a query: what survives a crash."""

    offsets: dict[str, int] = field(default_factory=dict)
    planned: Planned | None = None
    states: dict[Key, Stored] = field(default_factory=dict)


class _Peek(msgspec.Struct):
    """What ``detect`` groups records by before it parses them."""

    type: Any = None
    cluster: Any = None
    broker: Any = None


_PEEK = msgspec.json.Decoder(_Peek)


def detect_key(entry: Entry) -> Key | None:
    """Return the (cluster, broker) of a record as ``jobs.queries.detect.keyed`` does; None: not for ``detect``."""
    try:
        found = _PEEK.decode(entry.value or b"")
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return None
    if found.type == "pipeline":
        return NO_CLUSTER, PIPELINE_BROKER
    broker = HEARTBEAT_BROKER if found.type == "heartbeat" else found.broker
    is_number = isinstance(broker, int) and not isinstance(broker, bool) and abs(broker) < 2**63
    return (str(found.cluster or CLUSTER), broker) if is_number else None


def fleet_key(entry: Entry) -> Key | None:
    """Return the cluster of a state record by its key."""
    cluster, _, broker = (entry.key or b"").decode(errors="replace").rpartition("/")
    return (cluster, int(broker)) if cluster and broker.isdecimal() and broker.isascii() else None


@dataclass(frozen=True)
class Kind:
    """One query: its name, topics, trigger, how its records are keyed, and its processor."""

    name: str
    topics: tuple[str, ...]
    trigger_ms: int
    key_of: Callable[[Entry], Key | None]
    group_of: Callable[[Key], Key]
    processor: Callable[[], Any]
    runs_empty: bool = False


KINDS = (
    Kind(
        "detect",
        (topics.METRICS, topics.EVENTS, topics.DECISIONS),
        500,
        detect_key,
        lambda key: (key[0], key[1] // NEIGHBOURS % SHARDS),
        lambda: ShardJudge(DETECT, CLUSTER),
    ),
    Kind(
        "fleet",
        (topics.STATE,),
        15_000,
        fleet_key,
        lambda key: (key[0],),
        lambda: ClusterJudge(FLEET, DETECT),
        runs_empty=True,
    ),
)


class Query:
    """One streaming query between two restarts; ``crash_at`` is where the next batch is interrupted."""

    def __init__(
        self,
        kind: Kind,
        host: Host,
        telemetry: Telemetry,
        checkpoint: Checkpoint,
        crash: Callable[[], None],
        died: Callable[[str, Exception], None],
    ) -> None:
        self.kind, self.checkpoint, self.crash_at = kind, checkpoint, ""
        self._host, self._telemetry, self._crash, self._died = host, telemetry, crash, died
        self.is_alive = True
        self._is_due = False
        for topic in kind.topics:
            checkpoint.offsets.setdefault(topic, telemetry.logs[topic].begin)
        self.wake()

    def wake(self) -> None:
        """Run a batch at the next trigger."""
        if self.is_alive and not self._is_due:
            self._is_due = True
            wall_ms = self._host.wall_ms()
            self._host.after(self.kind.trigger_ms - wall_ms % self.kind.trigger_ms, self._trigger)

    def _trigger(self) -> None:
        self._is_due = False
        if not self.is_alive:
            return
        if not self._telemetry.reaches(self._host) or self._telemetry.unreadable & set(self.kind.topics):
            self._host.after(1_000, self.wake)
            return
        kept = self.checkpoint
        if kept.planned is None:
            ends = {name: self._telemetry.logs[name].end for name in self.kind.topics}
            wall_ms = self._host.wall_ms()
            has_timer = any(at <= wall_ms for stored in kept.states.values() for at in stored.timers)
            # Detect runs no batch without input (docs/decisions/0041-detect-runs-no-empty-batches.md).
            if ends != kept.offsets or (has_timer and self.kind.runs_empty):
                kept.planned = Planned(dict(kept.offsets), ends, wall_ms)
        if kept.planned is not None:
            self._batch(kept, kept.planned)
        # A batch that a restart repeats ends where it was planned to end: what arrived meanwhile is for the next one.
        is_behind = any(self._telemetry.logs[name].end != offset for name, offset in kept.offsets.items())
        if self.kind.runs_empty or is_behind:
            self.wake()

    def _batch(self, kept: Checkpoint, planned: Planned) -> None:
        if self._crashes("planned"):
            return
        handle = Handle(kept.states, planned.at_ms)
        try:
            written = list(self._run(handle, planned))
        except Exception as error:
            self._died(self.kind.name, error)
            return
        half = len(written) // 2 if self.crash_at == "half written" else len(written)
        self._write(written[:half])
        if self._crashes("half written"):
            return
        if self._crashes("written"):
            return
        kept.states, kept.offsets, kept.planned = handle.states, dict(planned.ends), None

    def _crashes(self, point: str) -> bool:
        if self.crash_at == point:
            self._crash()
            return True
        return False

    def _run(self, handle: Handle, planned: Planned) -> Iterator[Written]:
        grouped: dict[Key, list[dict[str, Any]]] = {}
        for topic in self.kind.topics:
            for entry in self._telemetry.logs[topic].read(planned.begins[topic], planned.ends[topic]):
                if (key := self.kind.key_of(entry)) is not None:
                    grouped.setdefault(self.kind.group_of(key), []).append(_row(key, entry))
        yield from map(tuple, handle.run(self.kind.processor(), grouped))

    def _write(self, written: Sequence[Written]) -> None:
        for topic, key, value in written:
            self._telemetry.append(topic, key.encode(), None if value is None else value.encode(), self._host.wall_ms())


def _row(key: Key, entry: Entry) -> dict[str, Any]:
    return {
        "cluster": key[0],
        "broker": key[1],
        "topic": entry.topic,
        "partition": entry.partition,
        "offset": entry.offset,
        "timestamp_ms": entry.timestamp,
        "key": entry.key,
        "value": entry.value,
    }


class Stream:
    """The application: its queries, restarted together as one process is, over checkpoints that stay."""

    restart_ms = 20_000

    def __init__(self, host: Host, telemetry: Telemetry, died: Callable[[str, Exception], None]) -> None:
        self.host, self._telemetry, self._died = host, telemetry, died
        self.checkpoints = {kind.name: Checkpoint() for kind in KINDS}
        self.queries: dict[str, Query] = {}
        self._starts = 0
        telemetry.listeners.append(self._heard)
        self.start()

    def start(self) -> None:
        """Start every query from its checkpoint."""
        self._starts += 1
        self.queries = {
            kind.name: Query(kind, self.host, self._telemetry, self.checkpoints[kind.name], self._crashed, self._died)
            for kind in KINDS
        }

    def kill(self, restart_ms: int) -> None:
        """End it, and start it again after a while."""
        for query in self.queries.values():
            query.is_alive = False
        self.queries, starts = {}, self._starts
        self.host.after(restart_ms, lambda: self.start() if self._starts == starts and not self.queries else None)

    def lose_checkpoint(self, name: str) -> None:
        """Lose the folder of a query while the application is down."""
        self.kill(self.restart_ms)
        kind = next(kind for kind in KINDS if kind.name == name)
        self.checkpoints[name] = restored(kind, self._telemetry)

    def look_again(self) -> None:
        """Go on: the telemetry cluster can be read again."""
        for query in self.queries.values():
            query.wake()

    def _crashed(self) -> None:
        self.kill(self.restart_ms)

    def _heard(self, entry: Entry) -> None:
        for query in self.queries.values():
            if entry.topic in query.kind.topics:
                query.wake()


def restored(kind: Kind, telemetry: Telemetry) -> Checkpoint:
    """Return the checkpoint of a start without one, as ``jobs.queries.start_state`` and ``fleet`` make it."""
    memories = _detect_memories(telemetry) if kind.name == "detect" else _fleet_memories(telemetry)
    handle = Handle({}, 0)
    handle.begin(kind.processor(), memories)
    offsets = _lowest_positions(telemetry) if kind.name == "detect" else {}
    return Checkpoint(offsets={name: offsets[name] for name in kind.topics if name in offsets}, states=handle.states)


def _latest(telemetry: Telemetry, topic: str) -> Iterator[Any]:
    """Yield the last record of every key that can be read."""
    for entry in telemetry.latest(topic).values():
        found = parse(topic, entry.key, entry.value, 0, CLUSTER)
        if isinstance(found, Accepted):
            yield found.record


def _detect_memories(telemetry: Telemetry) -> dict[Key, dict[str, Any]]:
    grouped: dict[Key, list[dict[str, Any]]] = {}
    states, alerts = _latest(telemetry, topics.STATE), list(_latest(telemetry, topics.ALERTS))
    of_brokers = [(one.cluster, one.broker, broker_state.MEMORY_VERSION, one.machine) for one in states]
    for cluster, broker, version, body in (*of_brokers, *memories_from_alerts(alerts)):
        memory = {"broker": broker, "version": version, "body": body}
        grouped.setdefault((cluster, broker // NEIGHBOURS % SHARDS), []).append(memory)
    return {key: {"memories": msgspec.json.encode(memories)} for key, memories in grouped.items()}


def _lowest_positions(telemetry: Telemetry) -> dict[str, int]:
    """Return the next offsets: those of silent brokers do not count."""
    found: dict[str, int] = {}
    for state in _latest(telemetry, topics.STATE):
        for source, offset in state.positions.items() if state.is_reported else ():
            name = source.partition("/")[0]
            found[name] = min(found.get(name, offset + 1), offset + 1)
    return found


def _fleet_memories(telemetry: Telemetry) -> dict[Key, dict[str, Any]]:
    alerts = _latest(telemetry, topics.ALERTS)
    restored = fleet_memory.restored(alert for alert in alerts if alert.rule in fleet_memory.RULES)
    return {
        (one.cluster,): {"version": fleet_memory.MEMORY_VERSION, "body": fleet_memory.encode(one)} for one in restored
    }
