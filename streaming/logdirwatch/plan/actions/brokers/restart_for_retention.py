"""``restart_broker`` for retention or compaction that stands still on one broker, and works elsewhere."""

from collections.abc import Sequence

from logdirwatch.model.vocabulary import ActionKind
from logdirwatch.plan.actions.brokers.restart_broker import restart_effect, restart_steps
from logdirwatch.plan.capacity.timing import place_target
from logdirwatch.plan.cluster.cordons import KEEPS_CLEANING, at_least
from logdirwatch.plan.cluster.snapshot import ClusterSnapshot, LogDir
from logdirwatch.plan.commands.configs import describe_configs
from logdirwatch.plan.commands.kafka_tools import note
from logdirwatch.plan.proposal import Policy, Precondition, ProposedAction
from logdirwatch.plan.retention.overdue import OverdueReplica, overdue_in
from logdirwatch.plan.vetoes import restart_vetoes
from logdirwatch.text.units import human_bytes
from logdirwatch.text.words import number_ranges, some_of

_NAMED = 3
_KINDS = {
    frozenset({False}): ("deletion by retention", "deletes", "its retention task fails or a thread of it died"),
    frozenset({True}): (
        "log cleaner",
        "compacts",
        "a thread of its cleaner died, or the cleaner gave the partition up after an error",
    ),
    frozenset({False, True}): (
        "deletion by retention and its log cleaner",
        "deletes and compacts",
        "a thread of them died or fails",
    ),
}
"""By what stands still, for some of the replicas compaction: its name, what it does, and why it may not."""


def propose_restart_for_retention(directory: LogDir, snapshot: ClusterSnapshot, policy: Policy) -> list[ProposedAction]:
    """Return the restart of a broker that does not delete or compact what it should; empty if nothing is overdue."""
    found, broker = overdue_in(directory, snapshot), directory.broker
    if not found:
        return []
    frees = snapshot.on_disk_bytes(directory.place, sum(one.overdue_bytes for one in found))
    return [
        ProposedAction(
            kind=ActionKind.RESTART_BROKER,
            target=place_target(directory),
            reason=f"restart broker {broker}: {stuck(found, snapshot)}",
            expected=restart_effect(
                broker,
                (),
                snapshot,
                frees_bytes=frees,
                on=[{"broker": broker, "log_dir": directory.path, "bytes": frees}],
            ),
            preconditions=(
                Precondition(
                    "limit_is_not_new",
                    f"broker {broker} started, and the retention was lowered, longer ago than a retention check takes "
                    "(log.retention.check.interval.ms)",
                    None,
                ),
                restart_vetoes.quorum_safe(snapshot, broker),
                restart_vetoes.writes_go_on(snapshot, broker),
            ),
            vetoes=restart_vetoes.against_restart(snapshot, broker),
            commands=(
                note(
                    f"On broker {broker}'s host: errors of {_threads(found)} in its log. What throws at each run has "
                    "to be repaired before the restart."
                ),
                describe_configs(policy.tools, "brokers", broker, "--all"),
                *restart_steps(broker, snapshot, policy),
            ),
            undo={"text": "a restart cannot be undone; the records that retention deletes are past their limit"},
        )
    ]


def stuck(found: Sequence[OverdueReplica], snapshot: ClusterSnapshot) -> str:
    """Say which replicas their broker does not delete or compact, by which evidence, and why that may be."""
    broker, path = found[0].replica.broker, found[0].replica.log_dir
    frees = human_bytes(snapshot.on_disk_bytes((broker, path), sum(one.overdue_bytes for one in found)))
    cancelled = (
        ""
        if at_least(snapshot.metadata_version, KEEPS_CLEANING)
        else "before Kafka 4.2 a cancelled copy between its directories stops it until a restart (KAFKA-19458), or "
    )
    stands, works, causes = _KINDS[_kind(found)]
    return (
        f"its {stands} is stuck ({some_of(map(_compared, found), _NAMED)} in {path}): {frees} come free once broker "
        f"{broker} {works} again; {cancelled}{causes}, which its log says. A lower retention frees nothing there"
    )


def _kind(found: Sequence[OverdueReplica]) -> frozenset[bool]:
    return frozenset(one.is_compacted for one in found)


def _threads(found: Sequence[OverdueReplica]) -> str:
    deletes = "kafka-log-retention, kafka-delete-logs and LogManager"
    cleans = "kafka-log-cleaner-thread and LogCleaner (log-cleaner.log)"
    return {frozenset({False}): deletes, frozenset({True}): cleans}.get(_kind(found), f"{deletes}, {cleans}")


def _compared(one: OverdueReplica) -> str:
    label, size = f"{one.replica.topic}-{one.replica.partition}", human_bytes(one.replica.size_bytes or 0)
    others = human_bytes(max(sibling.size_bytes or 0 for sibling in one.siblings))
    where = f"broker{'s' if len(one.siblings) > 1 else ''} {number_ranges(other.broker for other in one.siblings)}"
    limit = "" if one.limit_bytes is None else f" and {human_bytes(one.limit_bytes)} by its retention.bytes"
    return f"{label} holds {size}, against {others} on {where}{limit}"
