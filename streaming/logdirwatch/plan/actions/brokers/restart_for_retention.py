"""``restart_broker`` for retention that stands still on one broker: it deletes again what it deletes elsewhere."""

from collections.abc import Sequence

from logdirwatch.model.vocabulary import ActionKind
from logdirwatch.plan.actions.brokers.restart_broker import restart_effect, restart_steps
from logdirwatch.plan.capacity.timing import place_target
from logdirwatch.plan.cluster.metadata_version import at_least
from logdirwatch.plan.cluster.snapshot import ClusterSnapshot, LogDir
from logdirwatch.plan.commands.kafka_tools import CONFIGS, note
from logdirwatch.plan.proposal import Policy, Precondition, ProposedAction
from logdirwatch.plan.retention.overdue import OverdueReplica, overdue_in
from logdirwatch.plan.vetoes import restart_vetoes
from logdirwatch.text.units import human_bytes
from logdirwatch.text.words import number_ranges, some_of

KEEPS_CLEANING = "4.2-IV0"
"""KAFKA-19458: before Kafka 4.2 a cancelled copy between directories ends retention and compaction of its partition."""
_NAMED = 3


def propose_restart_for_retention(directory: LogDir, snapshot: ClusterSnapshot, policy: Policy) -> list[ProposedAction]:
    """Return the restart of a broker that does not delete what it should; empty if nothing is overdue there."""
    found, broker = overdue_in(directory, snapshot), directory.broker
    if not found:
        return []
    frees = sum(one.overdue_bytes for one in found)
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
                    f"On broker {broker}'s host: errors of kafka-log-retention, kafka-delete-logs and LogManager in "
                    "its log. What throws at each run has to be repaired before the restart."
                ),
                policy.tools.call(
                    CONFIGS, "--describe", "--all", "--entity-type", "brokers", f"--entity-name={broker}"
                ),
                *restart_steps(broker, snapshot, policy),
            ),
            undo={"text": "a restart cannot be undone; what retention deletes is past its limit"},
        )
    ]


def stuck(found: Sequence[OverdueReplica], snapshot: ClusterSnapshot) -> str:
    """Say which replicas retention does not reach on their broker, by which evidence, and why that may be."""
    broker, path = found[0].replica.broker, found[0].replica.log_dir
    frees = human_bytes(sum(one.overdue_bytes for one in found))
    cancelled = (
        ""
        if at_least(snapshot.metadata_version, KEEPS_CLEANING)
        else "before Kafka 4.2 a cancelled copy between its directories stops it until a restart (KAFKA-19458), or "
    )
    return (
        f"its deletion by retention is stuck ({some_of(map(_compared, found), _NAMED)} in {path}): {frees} come free "
        f"once broker {broker} deletes again; {cancelled}its retention task fails or a thread of it died, which its "
        "log says. A lower retention frees nothing there"
    )


def _compared(one: OverdueReplica) -> str:
    label, size = f"{one.replica.topic}-{one.replica.partition}", human_bytes(one.replica.size_bytes or 0)
    others = human_bytes(max(sibling.size_bytes or 0 for sibling in one.siblings))
    where = f"broker{'s' if len(one.siblings) > 1 else ''} {number_ranges(other.broker for other in one.siblings)}"
    limit = "" if one.limit_bytes is None else f" and {human_bytes(one.limit_bytes)} by its retention.bytes"
    return f"{label} holds {size}, against {others} on {where}{limit}"
