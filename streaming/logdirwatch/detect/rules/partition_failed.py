"""``partition_failed``: partitions that failed according to the broker's log.

No verdict on their directory (KIP-18).
"""

from logdirwatch.detect.alerts import evidence, messages
from logdirwatch.detect.alerts.context import BrokerContext, EvidenceTime
from logdirwatch.detect.state.broker_state import BrokerMemory, newest
from logdirwatch.model.evidence import read_as
from logdirwatch.model.evidence.brokers import PartitionFailedEvidence
from logdirwatch.model.records import EventRecord, MetricsRecord
from logdirwatch.model.vocabulary import COORDINATOR_LOAD, Rule, Severity

EXAMPLES = 20
COORDINATED = frozenset({"__consumer_offsets", "__transaction_state", "__share_group_state"})
"""Without a partition of these topics no coordinator serves its groups or transactions."""


def take(context: BrokerContext, label: str, record: EventRecord, moment: EvidenceTime) -> None:
    """Record a failed partition, its directory, and whether its coordinator is blocked."""
    memory = context.memory
    memory.failed_partitions[label] = moment.at_ms
    if record.log_dir is not None:
        memory.failed_in[label] = record.log_dir
    if record.reason == COORDINATOR_LOAD or record.topic in COORDINATED:
        memory.coordinators[label] = moment.at_ms
    _keep(memory, newest(memory.failed_partitions))
    tell_failed(context, moment, record.detail)


def tell_failed(context: BrokerContext, moment: EvidenceTime, detail: str | None) -> None:
    """Open the broker's alert about failed partitions, or extend it."""
    memory = context.memory
    failed = sorted(memory.failed_partitions, key=lambda label: (label not in memory.coordinators, label))
    stopped = sorted(memory.coordinators)
    context.alerts.raise_alert(
        Rule.PARTITION_FAILED,
        None,
        severity=Severity.CRITICAL if stopped else Severity.WARNING,
        transition=(memory.status, memory.status),
        evidence=PartitionFailedEvidence(
            why=failed[:EXAMPLES],
            partitions=len(failed),
            coordinators=stopped[:EXAMPLES] or None,
            log_dirs={label: memory.failed_in[label] for label in failed[:EXAMPLES] if label in memory.failed_in},
            detail=detail,
        ),
        affected=evidence.affected_by_broker(context),
        summary=messages.partitions_failed(memory, failed),
        at_ms=moment.at_ms,
        origin=moment.origin,
    )


def judge_answer(context: BrokerContext, _: MetricsRecord, moment: EvidenceTime) -> None:
    """Remove partitions that have not failed again for a while; with the last one the alert ends.

    A broker logs a failed partition once, so the absence of further lines proves nothing: all of its replicas must be
    in sync as well, which is not the case for one that is no longer fetched. While the broker was away the alert was
    stale; the failed partitions are as before.
    """
    memory = context.memory
    alert = memory.alerts.get(Rule.PARTITION_FAILED)
    if alert is not None and alert.stale_since_ms is not None:
        tell_failed(context, moment, read_as(alert.evidence, PartitionFailedEvidence).detail)
    oldest_ms = moment.at_ms - context.settings.partition_failed_hold_ms
    if memory.partitions is None or memory.partitions.out_of_sync != 0:
        return
    if not any(seen_ms < oldest_ms for seen_ms in memory.failed_partitions.values()):
        return
    _keep(memory, {name: seen for name, seen in memory.failed_partitions.items() if seen >= oldest_ms})
    if not memory.failed_partitions:
        context.alerts.resolve(Rule.PARTITION_FAILED, None, "not seen again", moment.at_ms, to_status=memory.status)


def is_quiet(memory: BrokerMemory) -> bool:
    """Tell whether no partition waits to be forgotten."""
    return not memory.failed_partitions


def forget(context: BrokerContext, path: str | None, until_ms: int, moment: EvidenceTime, reason: str) -> None:
    """Clear partitions reported up to a time that a person declared healthy; for a directory, those in it."""
    memory = context.memory
    kept = {
        label: at_ms
        for label, at_ms in memory.failed_partitions.items()
        if at_ms > until_ms or (path is not None and memory.failed_in.get(label) != path)
    }
    alert = memory.alerts.get(Rule.PARTITION_FAILED)
    if alert is None or len(kept) == len(memory.failed_partitions):
        return
    _keep(memory, kept)
    if kept:
        tell_failed(context, moment, alert.evidence.get("detail"))
    else:
        context.alerts.resolve(Rule.PARTITION_FAILED, None, reason, moment.at_ms, to_status=memory.status)


def _keep(memory: BrokerMemory, failed: dict[str, int]) -> None:
    """Keep only these partitions and their details."""
    memory.failed_partitions = failed
    memory.failed_in = {label: path for label, path in memory.failed_in.items() if label in failed}
    memory.coordinators = {label: at_ms for label, at_ms in memory.coordinators.items() if label in failed}
