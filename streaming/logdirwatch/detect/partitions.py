"""Partitions that the broker's log calls bad, one by one: no verdict on their directory (KIP-18)."""

from logdirwatch.detect import evidence, wording
from logdirwatch.detect.desk import Desk, Moment
from logdirwatch.model.vocabulary import Rule, Severity

EXAMPLES = 20


def tell_failed(desk: Desk, moment: Moment, detail: str | None) -> None:
    """Open the broker's alert of failed partitions, or add to it."""
    memory = desk.memory
    failed = sorted(memory.failed_partitions)
    desk.book.raise_alert(
        Rule.PARTITION_FAILED,
        None,
        severity=Severity.WARNING,
        transition=(memory.status, memory.status),
        evidence={"why": failed[:EXAMPLES], "partitions": len(failed), "detail": detail},
        affected=evidence.affected_by_broker(desk),
        summary=wording.partitions_failed(memory, failed),
        at_ms=moment.at_ms,
        origin=moment.origin,
    )


def forget_old(desk: Desk, moment: Moment) -> None:
    """Let go of partitions that were not called bad again for a while; with the last one the alert ends.

    A broker calls a partition bad once, so that it is silent about it says nothing: all of its replicas must be in sync
    as well, which one that is no longer fetched is not. While the broker was away the alert was stale; what its log
    called bad is as bad as before.
    """
    memory = desk.memory
    alert = memory.alerts.get(Rule.PARTITION_FAILED)
    if alert is not None and alert.stale_since_ms is not None:
        tell_failed(desk, moment, alert.evidence.get("detail"))
    oldest_ms = moment.at_ms - desk.settings.partition_failed_hold_ms
    if memory.partitions is None or memory.partitions.out_of_sync != 0:
        return
    if not any(seen_ms < oldest_ms for seen_ms in memory.failed_partitions.values()):
        return
    memory.failed_partitions = {name: seen for name, seen in memory.failed_partitions.items() if seen >= oldest_ms}
    if not memory.failed_partitions:
        desk.book.resolve(Rule.PARTITION_FAILED, None, "not seen again", moment.at_ms, to_status=memory.status)
