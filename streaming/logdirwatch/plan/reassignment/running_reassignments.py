"""Reassignments that run, whoever began them: which of them can no longer end, and how they are taken back.

KIP-113 (notes): a move between directories stops when its source or destination goes offline; the broker forgets it,
so there is nothing to cancel. A reassignment waits for ever for a new replica that nobody can make (Kafka 4.3.1
``PartitionReassignmentReplicas``), and as long as it runs the partition cannot be repaired otherwise.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from logdirwatch.model.vocabulary import ActionKind
from logdirwatch.plan.availability import leadership as leaders
from logdirwatch.plan.availability.impact import of_cancelling
from logdirwatch.plan.capacity.timing import file_name
from logdirwatch.plan.cluster.assignment import ANY, Assignment, to_json
from logdirwatch.plan.cluster.snapshot import Facts, Partition
from logdirwatch.plan.commands.throttles import of_plan
from logdirwatch.plan.proposal import Draft, Policy, Precondition, Veto, effect
from logdirwatch.plan.reassignment.cancellation import LIMITS_STAY, cancel_commands
from logdirwatch.plan.reassignment.throttles import unset
from logdirwatch.report.words import some_of

EXAMPLES = 20


class DeadEnd(NamedTuple):
    """A reassignment that cannot end, and why."""

    partition: Partition
    why: Veto


def dead_ends(facts: Facts) -> list[DeadEnd]:
    """Return the running reassignments that cannot end as things are."""
    running = (partition for partition in facts.partitions.values() if partition.adding or partition.removing)
    found = ((partition, dead_end(partition, facts)) for partition in running)
    return sorted((DeadEnd(p, why) for p, why in found if why is not None), key=lambda one: one.partition.key)


def dead_end(partition: Partition, facts: Facts) -> Veto | None:
    """Return why a partition's reassignment cannot end; None where it can, or nobody knows what it adds."""
    adding = set(partition.adding or ())
    gone = sorted(broker for broker in adding if facts.is_gone(broker))
    if gone:
        return Veto("destination_gone", f"broker {', '.join(map(str, gone))} that it adds is offline")
    lost = sorted(adding & _on_dead_disks(partition, facts))
    if lost:
        return Veto("destination_offline", f"the disk of the new replica on broker {', '.join(map(str, lost))} is lost")
    if adding and not (leaders.live_replicas(partition, facts) & set(partition.isr)) - adding:
        return Veto("no_live_source", f"no in-sync replica of {partition.label} is alive to copy from")
    return None


def cancel_dead_ends(broker: int, path: str | None, facts: Facts, policy: Policy) -> list[Draft]:
    """Return the cancelling of the reassignments that cannot end and name a broker; empty where there are none."""
    mine = [one for one in dead_ends(facts) if broker in one.partition.replicas]
    if not mine:
        return []
    return [cancel_moves(broker, path, [one.partition for one in mine], facts, policy, why_hopeless(mine))]


def why_hopeless(found: Sequence[DeadEnd]) -> str:
    """Say how many reassignments cannot end, and the first of the reasons."""
    reasons = list(dict.fromkeys(one.why.reason for one in found))
    return f"{len(found)} reassignments can no longer end ({'; '.join(reasons[:3])})"


def cancel_moves(
    broker: int, path: str | None, partitions: Sequence[Partition], facts: Facts, policy: Policy, why: str
) -> Draft:
    """Return the action that takes running reassignments back; their partitions can then be moved otherwise.

    Those whose only good copies are what the move adds come in none with others: cancelling drops these copies.
    """
    harmless = [partition for partition in partitions if not drops_last_copy(partition, facts)]
    wave = (harmless or partitions)[: policy.limits.partitions_per_reassignment]
    kept = [partition for partition in partitions if partition not in harmless]
    targets = [_target(partition) for partition in wave]
    plan, name = to_json(targets), file_name(ActionKind.CANCEL_MOVES, (broker, path or ""))
    again = of_plan(plan, log_dir_rate=None, rate=policy.limits.replication_throttle_bytes_per_s)
    return Draft(
        kind=ActionKind.CANCEL_MOVES,
        target={"broker": broker, "log_dir": path},
        reason=f"{why}: cancel them; each partition keeps the replicas that it had{_kept(kept, facts)}",
        expected=effect(
            cancels=plan,
            later=len(partitions) - len(wave),
            leadership=of_cancelling(wave, facts),
            examples=[_described(partition) for partition in wave[:EXAMPLES]],
        ),
        data_loss=not harmless,
        preconditions=(Precondition("not_wanted", "whoever began these moves agrees, or is not to be found", None),),
        commands=cancel_commands(targets, name, policy),
        undo={
            "reassignment": plan,
            "commands": policy.tools.reassign(plan, name, limits=unset(again, facts)),
            "text": f"begins them again, once their destination is back; {LIMITS_STAY}",
        },
    )


def drops_last_copy(partition: Partition, facts: Facts) -> bool:
    """Tell whether a partition is in sync only where its reassignment adds it: cancelling takes these replicas away.

    Kafka refuses that, or, where unclean elections are allowed, loses what only they have (KAFKA-14424).
    """
    in_sync = leaders.live_replicas(partition, facts) & set(partition.isr)
    return bool(in_sync) and in_sync <= set(partition.adding or ())


def _kept(partitions: Sequence[Partition], facts: Facts) -> str:
    if not partitions:
        return ""
    old = {b for p in partitions for b in p.replicas if b not in (p.adding or ()) and not facts.is_alive(b)}
    back = f"; bring broker {some_of(sorted(old))} back first" if old else ""
    named = some_of([partition.label for partition in partitions], 3)
    return f". Not so {named}: only what the move adds is in sync, and cancelling drops it{back}"


def _target(partition: Partition) -> Assignment:
    """Return what the reassignment was to reach: ``--cancel`` wants the partitions in the form of a plan."""
    removing = set(partition.removing or ())
    target = tuple(broker for broker in partition.replicas if broker not in removing)
    return Assignment(partition.topic, partition.partition, target, (ANY,) * len(target))


def _described(partition: Partition) -> Mapping[str, Any]:
    adding, removing = list(partition.adding or ()), list(partition.removing or ())
    return {"partition": partition.label, "adding": adding, "removing": removing}


def _on_dead_disks(partition: Partition, facts: Facts) -> set[int]:
    """Return the living brokers whose replica of the partition is offline: its disk is (``KRaftMetadataCache``)."""
    live = leaders.live_replicas(partition, facts)
    return {broker for broker in partition.replicas if facts.is_alive(broker) and broker not in live}
