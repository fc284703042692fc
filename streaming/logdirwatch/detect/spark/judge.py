"""The judge of a shard's brokers: rows of records in, records for Kafka out, with Spark's names and without Spark.

Keyed by (cluster, shard). Broker ``HEARTBEAT_BROKER`` stands for a cluster's heartbeats, ``PIPELINE_BROKER`` of cluster
``NO_CLUSTER`` for the queries of the stream itself. Batch time comes from Spark, which replays it after a crash.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import msgspec
import structlog
from msgspec import Struct

from logdirwatch.detect import machine, state_view
from logdirwatch.detect.alerts.context import Outcome
from logdirwatch.detect.observations import Decided, Event, HostView, Observation, Sample, in_order
from logdirwatch.detect.pipeline import heartbeats, queries
from logdirwatch.detect.pipeline.heartbeats import HeartbeatMemory
from logdirwatch.detect.settings import DetectSettings
from logdirwatch.detect.spark.shard import Shard
from logdirwatch.detect.state import broker_state
from logdirwatch.detect.state.broker_state import BrokerMemory
from logdirwatch.model import topics
from logdirwatch.model.identity import Origin
from logdirwatch.model.records import (
    AlertRecord,
    DecisionRecord,
    EventRecord,
    HeartbeatRecord,
    HostRecord,
    MetricsRecord,
    NotificationRecord,
    PipelineRecord,
    StateRecord,
)
from logdirwatch.model.times import effective_ms
from logdirwatch.parse.decoding import Decoder
from logdirwatch.parse.records import Accepted, parse
from logdirwatch.state.codec import StateCodec, UnreadableStateError

log = structlog.get_logger(__name__)

HEARTBEAT_BROKER = -1
PIPELINE_BROKER = -2
AT_ONCE = 512
"""Brokers whose records are in memory at once."""
_CODECS: Mapping[int, StateCodec[Any]] = {HEARTBEAT_BROKER: heartbeats.CODEC, PIPELINE_BROKER: queries.CODEC}


class StartMemory(Struct, frozen=True):
    """What is remembered of a broker at the start without a checkpoint."""

    broker: int
    version: int
    body: str


_MEMORIES = Decoder(list[StartMemory])


class Tombstone(NamedTuple):
    """A broker that is written to ``logdir.state`` as a tombstone."""

    cluster: str
    broker: int


Written = AlertRecord | StateRecord | Tombstone


class Made(NamedTuple):
    """A record to write."""

    topic: str
    key: str
    value: str | None


Row = Mapping[str, Any]
"""A record as it comes: cluster, broker, topic, partition, offset, timestamp_ms and value."""


class ShardJudge:
    """Runs the state machine of every broker of a shard."""

    schema: Any = None
    """Of the state, for Spark."""
    made: Callable[[str, str, str | None], Any] = staticmethod(Made)
    """Makes a row of a record's topic, key and value."""

    def __init__(self, settings: DetectSettings, default_cluster: str) -> None:
        self._settings = settings
        self._default_cluster = default_cluster

    def init(self, handle: Any) -> None:
        """Declare the state."""
        self._shard = Shard(handle, self._settings, self.schema)

    def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Iterator[Any]:  # noqa: N802, N803
        """Process a batch's records, each broker's in their total order."""
        cluster, now_ms = key[0], timerValues.getCurrentProcessingTimeInMs()
        grouped = _by_broker(rows)
        yield from map(self._row, self._pipeline(grouped.pop(PIPELINE_BROKER, [])))
        yield from map(self._row, self._heartbeats(cluster, grouped.pop(HEARTBEAT_BROKER, [])))
        of_brokers = list(grouped.items())
        for start in range(0, len(of_brokers), AT_ONCE):
            yield from map(self._row, self._brokers(cluster, of_brokers[start : start + AT_ONCE], now_ms))
        self._shard.write()

    def handleExpiredTimer(self, key: Any, timerValues: Any, expiredTimerInfo: Any) -> Iterator[Any]:  # noqa: N802, N803
        """Let time pass for the brokers whose timer fired."""
        del key
        now_ms = timerValues.getCurrentProcessingTimeInMs()
        for known in self._shard.due(expiredTimerInfo.getExpiryTimeInMs(), now_ms):
            outcome = machine.tick(known, now_ms, self._settings)
            yield from map(self._row, self._finish(known, [outcome]))
        self._shard.write()

    def handleInitialState(self, key: Any, initialState: Any, timerValues: Any) -> None:  # noqa: N802, N803
        """Start with the memories of a shard's brokers; their timers belonged to another checkpoint."""
        del key, timerValues
        for one in _MEMORIES.decode(initialState["memories"]):
            self._begin_with(one)
        self._shard.write()

    def _begin_with(self, one: "StartMemory") -> None:
        """Keep the memory of a broker that its state record holds; one that cannot be read begins again."""
        try:
            if (codec := _CODECS.get(one.broker)) is not None:
                codec.keep(self._shard.entry(one.broker), codec.decode(one.version, one.body))
                return
            known = broker_state.decode(one.version, one.body)
        except UnreadableStateError as error:
            log.warning("detect.memory_unreadable", broker=one.broker, error=str(error), meaning="it begins again")
            return
        known.timer_ms = None
        self._keep(known)

    def close(self) -> None:
        """Do nothing: no resource is held open."""

    def _accepted(self, cluster: str, rows: list[Row]) -> Iterator[Observation | HeartbeatRecord]:
        """Yield the accepted records; ``store`` keeps the rejected ones."""
        for row in rows:
            kafka_ms = row["timestamp_ms"]
            result = parse(row["topic"], None, row["value"], kafka_ms, self._default_cluster)
            if not isinstance(result, Accepted) or isinstance(result.record, PipelineRecord | NotificationRecord):
                continue
            if result.record.cluster != cluster:
                continue
            origin = Origin(row["topic"], row["partition"], row["offset"], kafka_ms)
            if isinstance(result.record, MetricsRecord):
                yield Sample(result.record, origin)
            elif isinstance(result.record, EventRecord):
                yield Event(result.record, origin)
            elif isinstance(result.record, HostRecord):
                yield HostView(result.record, origin)
            elif isinstance(result.record, DecisionRecord):
                yield Decided(result.record, origin)
            elif isinstance(result.record, HeartbeatRecord):
                at_ms, _ = effective_ms(result.record.timestamp_ms, kafka_ms, self._settings.clock_skew_ms)
                yield msgspec.structs.replace(result.record, timestamp_ms=at_ms)

    def _heartbeats(self, cluster: str, rows: list[Row]) -> list[AlertRecord]:
        """Process a cluster's heartbeats."""
        heard = [item for item in self._accepted(cluster, rows) if isinstance(item, HeartbeatRecord)]
        if not heard:
            return []
        entry = self._shard.entry(HEARTBEAT_BROKER)
        known = heartbeats.CODEC.load(entry) or HeartbeatMemory()
        alerts = heartbeats.answer(known, heard)
        heartbeats.CODEC.keep(entry, known)
        return alerts

    def _brokers(self, cluster: str, grouped: Iterable[tuple[int, list[Row]]], now_ms: int) -> Iterator[Written]:
        """Process the records of some brokers; one without an accepted record leaves no memory behind."""
        seen = {broker: self._observations(cluster, broker, rows) for broker, rows in grouped}
        alone = (of_broker[0] for of_broker in seen.values() if len(of_broker) == 1)
        at_rest = self._shard.advance((one for one in alone if isinstance(one, Sample)), now_ms)
        for broker, of_broker in seen.items():
            if broker not in at_rest:
                yield from self._broker(cluster, broker, of_broker, now_ms)
            elif at_rest[broker]:
                yield self._state_at_rest(broker)

    def _observations(self, cluster: str, broker: int, rows: list[Row]) -> list[Observation]:
        return [
            item
            for item in self._accepted(cluster, rows)
            # A record may name two brokers, of which its row has the first.
            if not isinstance(item, HeartbeatRecord) and item.record.broker == broker
        ]

    def _state_at_rest(self, broker: int) -> StateRecord:
        known = self._shard.load(broker)
        assert known is not None
        record = state_view.state_record(known, [])
        self._shard.wrote(known)
        return record

    def _broker(self, cluster: str, broker: int, seen: list[Observation], now_ms: int) -> list[Written]:
        """Process the records of one broker."""
        if not seen:
            return []
        known = self._shard.load(broker) or BrokerMemory(cluster=cluster, broker=broker)
        seen = in_order(seen)
        outcomes = [machine.advance(known, one, now_ms, self._settings) for one in seen]
        return self._finish(known, outcomes, _last_sample(seen))

    def _pipeline(self, rows: list[Row]) -> list[AlertRecord]:
        """Judge the stream's records about its own queries."""
        if not rows:
            return []
        entry = self._shard.entry(PIPELINE_BROKER)
        known = queries.CODEC.load(entry) or queries.PipelineMemory()
        seen = in_order(_fares(rows, self._default_cluster))
        if not seen:
            return []
        alerts = [alert for item in seen for alert in queries.take(known, item, self._settings)]
        queries.CODEC.keep(entry, known)
        return alerts

    def _finish(self, known: BrokerMemory, outcomes: list[Outcome], last: Sample | None = None) -> list[Written]:
        """Collect the records to write, set the timer, and store the memory."""
        alerts = [alert for outcome in outcomes for alert in outcome.alerts]
        transitions = [transition for outcome in outcomes for transition in outcome.transitions]
        records: list[Written] = list(alerts)
        if alerts or transitions or (not known.is_gone and state_view.has_news(known, self._settings.state_refresh_ms)):
            records.append(state_view.state_record(known, transitions))
        if not known.is_gone:
            self._keep(known, last)
            return records
        self._shard.drop(known.broker)
        return [*records, Tombstone(known.cluster, known.broker)] if records else []

    def _row(self, record: Written) -> Any:
        if isinstance(record, AlertRecord):
            return self.made(topics.ALERTS, record.alert_id, _json(record))
        value = None if isinstance(record, Tombstone) else _json(record)
        return self.made(topics.STATE, f"{record.cluster}/{record.broker}", value)

    def _keep(self, known: BrokerMemory, last: Sample | None = None) -> None:
        self._shard.keep(known, machine.next_deadline_ms(known, self._settings), last)


def _last_sample(seen: list[Observation]) -> Sample | None:
    return next((one for one in reversed(seen) if isinstance(one, Sample)), None)


def _by_broker(rows: Iterable[Row]) -> dict[int, list[Row]]:
    found: dict[int, list[Row]] = {}
    for row in rows:
        found.setdefault(row["broker"], []).append(row)
    return found


def _fares(rows: list[Row], default_cluster: str) -> Iterator[queries.QueryProgress]:
    for row in rows:
        result = parse(row["topic"], None, row["value"], row["timestamp_ms"], default_cluster)
        if isinstance(result, Accepted) and isinstance(result.record, PipelineRecord):
            origin = Origin(row["topic"], row["partition"], row["offset"], row["timestamp_ms"])
            yield queries.QueryProgress(result.record, origin)


def _json(record: AlertRecord | StateRecord) -> str:
    return msgspec.json.encode(record).decode()
