"""The judge of a cluster: rows of state records and executions in, alerts for Kafka out, without Spark.

Keyed by cluster. State is one value ``struct<version:int, body:string>``. Batch time comes from Spark, which replays it
after a crash.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import msgspec

from logdirwatch.detect.observations import in_order
from logdirwatch.detect.settings import DetectSettings
from logdirwatch.fleet import machine, memory, silence, stops
from logdirwatch.fleet.context import ClusterContext
from logdirwatch.fleet.machine import Seen
from logdirwatch.fleet.memory import FleetMemory
from logdirwatch.fleet.settings import FleetSettings
from logdirwatch.fleet.stops import Written
from logdirwatch.model import topics
from logdirwatch.model.identity import Origin
from logdirwatch.model.records import ExecutionRecord, StateRecord
from logdirwatch.parse.records import Accepted, Deleted, parse

Row = Mapping[str, Any]

CLUSTER = "cluster"
"""The state variable."""


class ClusterJudge:
    """Judges one cluster for each key."""

    schema: Any = None
    """Of the state, for Spark."""
    made: Callable[[str, str, str | None], Any] = staticmethod(lambda topic, key, value: (topic, key, value))
    """Makes a row of a record's topic, key and value."""

    def __init__(self, settings: FleetSettings, detect: DetectSettings) -> None:
        self._settings = settings
        self._detect = detect

    def init(self, handle: Any) -> None:
        """Declare the one state value."""
        self._handle = handle
        self._state = handle.getValueState(CLUSTER, self.schema)

    def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Iterator[Any]:  # noqa: N802, N803
        """Process a batch's records of one cluster, in their total order."""
        (cluster,) = key
        now_ms = timerValues.getCurrentProcessingTimeInMs()
        context = self._desk(memory.CODEC.load(self._state) or FleetMemory(cluster=cluster))
        silence.follow_clock(context, now_ms)
        states, written = accepted(cluster, rows)
        for seen in in_order(states):
            machine.take(context, seen, now_ms)
        stops.take(context, in_order(written), now_ms)
        yield from self._finish(context)

    def handleExpiredTimer(self, key: Any, timerValues: Any, expiredTimerInfo: Any) -> Iterator[Any]:  # noqa: N802, N803
        """Let time pass for one cluster."""
        del key, expiredTimerInfo
        known = memory.CODEC.load(self._state)
        if known is None:
            return
        known.timer_ms = None
        context = self._desk(known)
        machine.tick(context, timerValues.getCurrentProcessingTimeInMs())
        yield from self._finish(context)

    def handleInitialState(self, key: Any, initialState: Any, timerValues: Any) -> None:  # noqa: N802, N803
        """Begin with the firing alerts."""
        del key, timerValues
        self._state.update((initialState["version"], initialState["body"]))

    def close(self) -> None:
        """Do nothing: no resource is held open."""

    def _desk(self, known: FleetMemory) -> ClusterContext:
        return ClusterContext(known, self._settings, self._detect)

    def _finish(self, context: ClusterContext) -> Iterator[Any]:
        """Set the timer, store the memory, and return the records to write."""
        deadline_ms, known = machine.next_deadline_ms(context.memory, self._settings), context.memory
        if deadline_ms is not None and (known.timer_ms is None or deadline_ms < known.timer_ms):
            # One timer, set again when it fires. Maintenance that ends early moves it forward, and so does a silence
            # that begins before alerts are renewed.
            if known.timer_ms is not None:
                self._handle.deleteTimer(known.timer_ms)
            self._handle.registerTimer(deadline_ms)
            known.timer_ms = deadline_ms
        if known.brokers or known.gone or known.unfinished:
            memory.CODEC.keep(self._state, known)
        for alert in context.alerts.records:
            yield self.made(topics.ALERTS, alert.alert_id, msgspec.json.encode(alert).decode())


def accepted(cluster: str, rows: Iterator[Row]) -> tuple[list[Seen], list[Written]]:
    """Return the states and tombstones, and the executions, that the parser accepts; ``store`` keeps the rest."""
    states: list[Seen] = []
    written: list[Written] = []
    for row in rows:
        kafka_ms = row["timestamp_ms"]
        origin = Origin(row["topic"], row["partition"], row["offset"], kafka_ms)
        result = parse(row["topic"], row["key"], row["value"], kafka_ms, cluster)
        record = result.record if isinstance(result, Accepted) else None
        if isinstance(result, Deleted):
            # The key was read as cluster/broker before it came here; that of an execution names no cluster.
            states.append(Seen(int(result.key.rpartition("/")[2]), None, origin))
        elif isinstance(record, StateRecord) and record.cluster == cluster:
            states.append(Seen(record.broker, record, origin))
        elif isinstance(record, ExecutionRecord) and record.cluster == cluster:
            written.append(Written(record, origin))
    return states, written
