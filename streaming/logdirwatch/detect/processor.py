"""The thin Spark adapter: rows of one broker in, records for Kafka out.

Keyed by (cluster, broker); broker ``HEARTBEAT_BROKER`` stands for a cluster's heartbeats, ``PIPELINE_BROKER`` of
cluster ``NO_CLUSTER`` for the queries of the stream itself. State is one value
``struct<version:int, body:string>``. Batch time comes from Spark, which replays it after a crash.
"""

from collections.abc import Iterator
from typing import Any

import msgspec
from pyspark.sql import Row
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from logdirwatch.detect import machine, memory, pipeline, pipeline_memory, views
from logdirwatch.detect.desk import Outcome
from logdirwatch.detect.heartbeats import answer
from logdirwatch.detect.memory import BrokerMemory
from logdirwatch.detect.observations import Decided, Event, HostView, Observation, Sample, in_order
from logdirwatch.detect.settings import DetectSettings
from logdirwatch.model import topics
from logdirwatch.model.identity import Origin
from logdirwatch.model.records import (
    AlertRecord,
    DecisionRecord,
    EventRecord,
    HeartbeatRecord,
    HostRecord,
    MetricsRecord,
    PipelineRecord,
    StateRecord,
)
from logdirwatch.parse.records import Accepted, parse
from logdirwatch.state_codec import STATE_SCHEMA

HEARTBEAT_BROKER = -1
PIPELINE_BROKER = -2


class BrokerProcessor(StatefulProcessor):
    """Runs the state machine of one broker a key."""

    def __init__(self, settings: DetectSettings, default_cluster: str) -> None:
        self._settings = settings
        self._default_cluster = default_cluster

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Declare the one state value."""
        self._handle = handle
        self._state = handle.getValueState("broker", STATE_SCHEMA)

    def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Iterator[Row]:  # noqa: N802, N803
        """Show the machine a batch's records of one broker, in their total order."""
        cluster, broker = key
        if broker == PIPELINE_BROKER:
            yield from map(_row, self._pipeline(rows))
            return
        accepted = list(self._accepted(cluster, rows))
        if broker == HEARTBEAT_BROKER:
            yield from map(_row, answer(item for item in accepted if isinstance(item, HeartbeatRecord)))
            return
        now_ms = timerValues.getCurrentProcessingTimeInMs()
        broker_memory = memory.CODEC.load(self._state) or BrokerMemory(cluster=cluster, broker=broker)
        outcomes = [
            machine.advance(broker_memory, observation, now_ms, self._settings)
            for observation in in_order([item for item in accepted if not isinstance(item, HeartbeatRecord)])
        ]
        yield from map(_row, self._finish(broker_memory, outcomes))

    def handleExpiredTimer(self, key: Any, timerValues: Any, expiredTimerInfo: Any) -> Iterator[Row]:  # noqa: N802, N803
        """Let time pass for one broker."""
        del key, expiredTimerInfo
        broker_memory = memory.CODEC.load(self._state)
        if broker_memory is None:
            return
        broker_memory.timer_ms = None
        outcome = machine.tick(broker_memory, timerValues.getCurrentProcessingTimeInMs(), self._settings)
        yield from map(_row, self._finish(broker_memory, [outcome]))

    def handleInitialState(self, key: Any, initialState: Any, timerValues: Any) -> None:  # noqa: N802, N803
        """Begin with the memory of a state record; its timer was another checkpoint's."""
        del timerValues
        if key[1] == PIPELINE_BROKER:
            known = pipeline_memory.CODEC.decode(initialState["version"], initialState["body"])
            pipeline_memory.CODEC.keep(self._state, known)
            return
        broker_memory = memory.decode(initialState["version"], initialState["body"])
        broker_memory.timer_ms = None
        self._keep(broker_memory)

    def close(self) -> None:
        """Nothing is held open."""

    def _accepted(self, cluster: str, rows: Iterator[Row]) -> Iterator[Observation | HeartbeatRecord]:
        """Yield what the parser accepts; ``store`` keeps what it rejects."""
        for row in rows:
            kafka_ms = row["timestamp_ms"]
            result = parse(row["topic"], None, row["value"], kafka_ms, self._default_cluster)
            if not isinstance(result, Accepted) or isinstance(result.record, PipelineRecord):
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
                yield result.record

    def _pipeline(self, rows: Iterator[Row]) -> list[AlertRecord]:
        """Judge what the stream says of its own queries."""
        known = pipeline_memory.CODEC.load(self._state) or pipeline_memory.PipelineMemory()
        seen = in_order(_fares(rows, self._default_cluster))
        alerts = [alert for item in seen for alert in pipeline.take(known, item, self._settings)]
        pipeline_memory.CODEC.keep(self._state, known)
        return alerts

    def _finish(self, broker_memory: BrokerMemory, outcomes: list[Outcome]) -> list[AlertRecord | StateRecord]:
        """Gather what must be written, set the timer, and keep the memory."""
        alerts = [alert for outcome in outcomes for alert in outcome.alerts]
        transitions = [transition for outcome in outcomes for transition in outcome.transitions]
        records: list[AlertRecord | StateRecord] = list(alerts)
        if alerts or transitions or views.has_news(broker_memory, self._settings.state_refresh_ms):
            records.append(views.state_record(broker_memory, transitions))
        self._keep(broker_memory)
        return records

    def _keep(self, broker_memory: BrokerMemory) -> None:
        deadline_ms = machine.next_deadline_ms(broker_memory, self._settings)
        if deadline_ms is not None and (broker_memory.timer_ms is None or deadline_ms < broker_memory.timer_ms):
            # One timer, looked at again when it fires: setting it anew for every record is what costs.
            if broker_memory.timer_ms is not None:
                self._handle.deleteTimer(broker_memory.timer_ms)
            self._handle.registerTimer(deadline_ms)
            broker_memory.timer_ms = deadline_ms
        memory.CODEC.keep(self._state, broker_memory)


def _fares(rows: Iterator[Row], default_cluster: str) -> Iterator[pipeline.Fares]:
    for row in rows:
        result = parse(row["topic"], None, row["value"], row["timestamp_ms"], default_cluster)
        if isinstance(result, Accepted) and isinstance(result.record, PipelineRecord):
            origin = Origin(row["topic"], row["partition"], row["offset"], row["timestamp_ms"])
            yield pipeline.Fares(result.record, origin)


def _row(record: AlertRecord | StateRecord) -> Row:
    value = msgspec.json.encode(record).decode()
    if isinstance(record, StateRecord):
        return Row(topic=topics.STATE, key=f"{record.cluster}/{record.broker}", value=value)
    return Row(topic=topics.ALERTS, key=record.alert_id, value=value)
