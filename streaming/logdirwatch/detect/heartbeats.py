"""A collector's sign of life, handed on to the alert topic: when it stops there, the path is broken."""

from collections.abc import Iterable, Iterator

from logdirwatch.model.identity import identity
from logdirwatch.model.records import AlertRecord, HeartbeatRecord
from logdirwatch.model.vocabulary import AlertStatus, Lane, Rule, Severity


def answer(heartbeats: Iterable[HeartbeatRecord]) -> Iterator[AlertRecord]:
    """Return one record per collector for the newest heartbeat of a batch.

    It has the shape of a resolved alert, so that no reader of the topic stumbles over it.
    """
    newest: dict[str, HeartbeatRecord] = {}
    for heartbeat in heartbeats:
        known = newest.get(heartbeat.collector)
        if known is None or heartbeat.timestamp_ms > known.timestamp_ms:
            newest[heartbeat.collector] = heartbeat
    return (_record(heartbeat) for _, heartbeat in sorted(newest.items()))


def _record(heartbeat: HeartbeatRecord) -> AlertRecord:
    return AlertRecord(
        version=1,
        alert_id=identity(heartbeat.cluster, "*", "*", Rule.HEARTBEAT, heartbeat.collector),
        revision=heartbeat.timestamp_ms // 1000,
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
        at_ms=heartbeat.timestamp_ms,
        lane=Lane.STATEFUL,
        evidence={"collector": heartbeat.collector, "interval_ms": heartbeat.interval_ms},
        affected={},
        summary=f"Heartbeat of collector {heartbeat.collector} for cluster {heartbeat.cluster}",
    )
