"""A collector's heartbeats, passed on to the alert topic: when they stop there, the pipeline is broken.

The last records are kept for each cluster, as one value ``struct<version:int, body:string>`` like the memory of a
broker: readers of the topic accept only newer records, and a collector's clock may be set back.
"""

from collections.abc import Iterable

from msgspec import Struct, field

from logdirwatch.config.section import DAY_MS
from logdirwatch.model.evidence.stream import HeartbeatEvidence
from logdirwatch.model.identity import identity
from logdirwatch.model.records import AlertRecord, HeartbeatRecord
from logdirwatch.model.vocabulary import AlertStatus, Lane, Rule, Severity
from logdirwatch.state.codec import StateCodec

MEMORY_VERSION = 1


class LastRecord(Struct, frozen=True, kw_only=True):
    """The last record that was written for a collector."""

    revision: int
    at_ms: int


class HeartbeatMemory(Struct, kw_only=True, omit_defaults=True):
    """Every collector of a cluster, by name."""

    collectors: dict[str, LastRecord] = field(default_factory=dict)


CODEC = StateCodec("detect", MEMORY_VERSION, HeartbeatMemory)


def answer(memory: HeartbeatMemory, heartbeats: Iterable[HeartbeatRecord]) -> list[AlertRecord]:
    """Return one record per collector for the newest heartbeat of a batch.

    It has the form of a resolved alert, so that every reader of the topic can handle it. Revision and ``at_ms`` always
    increase; ``opened_at_ms`` is the collector's time.
    """
    newest: dict[str, HeartbeatRecord] = {}
    for heartbeat in heartbeats:
        known = newest.get(heartbeat.collector)
        if known is None or heartbeat.timestamp_ms > known.timestamp_ms:
            newest[heartbeat.collector] = heartbeat
    for collector, heartbeat in newest.items():
        memory.collectors[collector] = _next(memory.collectors.get(collector), heartbeat.timestamp_ms)
    records = [_record(heartbeat, memory.collectors[collector]) for collector, heartbeat in sorted(newest.items())]
    _forget(memory)
    return records


def _next(last: LastRecord | None, at_ms: int) -> LastRecord:
    if last is None:
        return LastRecord(revision=at_ms // 1000, at_ms=at_ms)
    return LastRecord(revision=max(last.revision + 1, at_ms // 1000), at_ms=max(last.at_ms + 1, at_ms))


def _forget(memory: HeartbeatMemory) -> None:
    """Forget collectors that are gone: if every start has a new name, they would accumulate forever."""
    newest_ms = max((last.at_ms for last in memory.collectors.values()), default=0)
    memory.collectors = {name: last for name, last in memory.collectors.items() if newest_ms - last.at_ms <= DAY_MS}


def restored(alerts: Iterable[AlertRecord]) -> dict[str, HeartbeatMemory]:
    """Return the memory of each cluster from its last records on the topic, for a ``detect`` that lost its own."""
    memories: dict[str, HeartbeatMemory] = {}
    for alert in alerts:
        if isinstance(alert.evidence, HeartbeatEvidence) and alert.evidence.collector is not None:
            last = LastRecord(revision=alert.revision, at_ms=alert.at_ms)
            memories.setdefault(alert.cluster, HeartbeatMemory()).collectors[alert.evidence.collector] = last
    return memories


def _record(heartbeat: HeartbeatRecord, told: LastRecord) -> AlertRecord:
    return AlertRecord(
        version=1,
        alert_id=identity(heartbeat.cluster, "*", "*", Rule.HEARTBEAT, heartbeat.collector),
        revision=told.revision,
        status=AlertStatus.RESOLVED,
        rule=Rule.HEARTBEAT,
        severity=Severity.INFO,
        cluster=heartbeat.cluster,
        broker=None,
        log_dir=None,
        from_status=None,
        to_status=None,
        cause=None,
        opened_at_ms=heartbeat.timestamp_ms,
        at_ms=told.at_ms,
        lane=Lane.STATEFUL,
        evidence=HeartbeatEvidence(
            collector=heartbeat.collector,
            interval_ms=heartbeat.interval_ms,
            samples_overdue_ms=heartbeat.samples_overdue_ms,
        ),
        affected={},
        summary=f"Heartbeat of collector {heartbeat.collector} for cluster {heartbeat.cluster}",
    )
