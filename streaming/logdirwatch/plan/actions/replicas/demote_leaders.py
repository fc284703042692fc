"""``demote_leaders``: move leadership off a full or failing directory to in-sync followers elsewhere.

Kafka has no command for it. Reordering the same replicas makes another one the preferred leader, and an election makes
it lead: no data moves (Kafka 4.3.1 ``ReplicationControlManager.changePartitionReassignment``). The order has to change
because Kafka returns leadership to the first replica by itself (``auto.leader.rebalance.enable``).
"""

from collections import Counter
from collections.abc import Iterable, Iterator

from logdirwatch.collect.kafka.answers import Quorum
from logdirwatch.model.identity import identity
from logdirwatch.model.records import ActionRecord
from logdirwatch.model.vocabulary import ActionKind, OperationKind
from logdirwatch.plan.actions.action_type import ActionType, names_all_partitions, only
from logdirwatch.plan.actions.parts import carried_out_by
from logdirwatch.plan.actions.progress import Progress, in_steps
from logdirwatch.plan.actions.replicas.reassign import reasons_against_reassignment
from logdirwatch.plan.availability import leadership as leaders
from logdirwatch.plan.availability.fault_tolerance import cannot_lead, is_short_of_room
from logdirwatch.plan.availability.impact import of_demotion
from logdirwatch.plan.cluster.assignment import ANY, Assignment, from_json, to_json
from logdirwatch.plan.cluster.layout import Partition
from logdirwatch.plan.cluster.snapshot import ClusterSnapshot, LogDir
from logdirwatch.plan.commands.operations import prefer_leaders
from logdirwatch.plan.proposal import Policy, Precondition, ProposedAction, effect, vetoes_of
from logdirwatch.plan.reassignment.tool_run import nothing_runs, refused_by_tool
from logdirwatch.plan.vetoes import replica_vetoes
from logdirwatch.text.words import counted


def partitions_led_from(directory: LogDir, snapshot: ClusterSnapshot) -> list[Partition]:
    """Return the partitions whose leader is in a directory."""
    keys = sorted({replica.key for replica in snapshot.replicas_in(directory.place)} & snapshot.partitions.keys())
    return led_by(directory.broker, (snapshot.partitions[key] for key in keys), snapshot)


def led_by(broker: int, partitions: Iterable[Partition], snapshot: ClusterSnapshot) -> list[Partition]:
    """Return those of the partitions that a broker leads."""
    return [found for found in partitions if leaders.current_leadership(found, snapshot).leader == broker]


def demote(
    broker: int,
    path: str | None,
    led: Iterable[Partition],
    snapshot: ClusterSnapshot,
    policy: Policy,
    why: str,
) -> list[ProposedAction]:
    """Return the action that moves leadership off a broker; empty if no other healthy replica can lead.

    Partitions that the snapshot sets aside are left out: of two orders one would undo the other.
    """
    chosen = _chosen(led, broker, snapshot, policy)
    if not chosen:
        return []
    before = [Assignment(*p.key, p.replicas, (ANY,) * len(p.replicas)) for p, _ in chosen]
    after = [Assignment(*p.key, order, (ANY,) * len(order)) for p, order in chosen]
    name = f"logdirwatch-{ActionKind.DEMOTE_LEADERS}-{identity(str(broker), path or '*')[:8]}.json"
    operation = prefer_leaders(to_json(after), to_json(before), name, beside=bool(snapshot.layout.reassigned))
    by_operation = carried_out_by(policy, operation, reassignment=to_json(before), text="once the disk is good again")
    # kafka-reassign-partitions refuses a plan that names a broker that is down, even where the broker stays a replica.
    if refused := refused_by_tool(after, snapshot):
        by_operation |= {"commands": refused, "undo": {**by_operation["undo"], "commands": list(refused)}}
    where = f"broker {broker}" if path is None else f"{path} (broker {broker})"
    return [
        ProposedAction(
            kind=ActionKind.DEMOTE_LEADERS,
            target={"broker": broker, "log_dir": path},
            reason=f"move leadership of {counted(len(after), 'partition')} off {where}: {why}; no data moves",
            expected=effect(frees_bytes=0, demotes=len(after), leadership=of_demotion(after, snapshot)),
            preconditions=(
                Precondition("room_for_leaders", "the new leaders' brokers can serve more clients", None),
                nothing_runs(snapshot),
            ),
            reassignment=to_json(after),
            **by_operation,
        )
    ]


def _chosen(
    led: Iterable[Partition], broker: int, snapshot: ClusterSnapshot, policy: Policy
) -> list[tuple[Partition, tuple[int, ...]]]:
    """Return the partitions that others can lead, with the new order; the broker that leads least comes first."""
    counts = Counter(p.leader for p in snapshot.partitions.values() if p.leader is not None)
    found: list[tuple[Partition, tuple[int, ...]]] = []
    for partition in led:
        if len(found) == policy.limits.partitions_per_reassignment:
            break
        fit = [other for other in partition.replicas if other != broker and not cannot_lead(partition, snapshot, other)]
        if not fit or partition.key in snapshot.set_aside or _blocked(partition, snapshot, policy):
            continue
        first = min(fit, key=lambda other: (*_rank(partition, other, snapshot), counts[other]))
        # Counted as if they led already, or one broker would get all of them.
        counts[first] += 1
        counts[broker] -= 1
        rest = [other for other in partition.replicas if other not in {first, broker}]
        # Last in the order, the broker leads again only if no other replica can.
        found.append((partition, (first, *rest, broker)))
    return found


def _rank(partition: Partition, other: int, snapshot: ClusterSnapshot) -> tuple[bool, bool]:
    # Such a broker can lead, but only where nobody else can: leadership would have to move again soon.
    return snapshot.is_leaving(other), is_short_of_room(partition, snapshot, other)


def _blocked(partition: Partition, snapshot: ClusterSnapshot, policy: Policy) -> bool:
    found = [
        replica_vetoes.never_touch(partition.topic, policy.limits),
        replica_vetoes.partition_moving(snapshot, partition),
        replica_vetoes.partition_claimed(snapshot, partition),
    ]
    return any(veto is not None for veto in found)


def _progress(action: ActionRecord, snapshot: ClusterSnapshot) -> Progress | None:
    """Count a partition as begun once the order has changed, and as done once another broker leads."""
    if action.reassignment is None:
        return None
    assignments = from_json(action.reassignment)
    ordered = [
        a for a in assignments if a.key in snapshot.partitions and snapshot.partitions[a.key].replicas == a.replicas
    ]
    led = [a for a in ordered if snapshot.partitions[a.key].leader not in {None, action.target["broker"]}]
    return in_steps(len(ordered), len(led), len(assignments), snapshot)


def _may_not_lead(action: ActionRecord, snapshot: ClusterSnapshot, _quorum: Quorum | None) -> Iterator[str]:
    for one in from_json(action.reassignment):
        if (partition := snapshot.partitions.get(one.key)) is not None:
            found = [cannot_lead(partition, snapshot, first) for first in one.replicas[:1]]
            yield from (veto.reason for veto in vetoes_of(*found))


ACTION_TYPE = ActionType(
    kind=ActionKind.DEMOTE_LEADERS,
    progress=_progress,
    covers=names_all_partitions,
    reasons_against=reasons_against_reassignment,
    live_check=_may_not_lead,
    changes_declared=False,
    executes=only(OperationKind.PREFER_LEADERS),
    cluster_acls=("Alter",),
)
