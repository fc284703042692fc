"""A directory that went offline: rebuild its replicas elsewhere, mend the disk, start the broker again.

Only a restart brings an offline directory back, whatever was done to its disk (Kafka 4.3.1 ``LogDirFailureChannel``).
"""

from logdirwatch.model.vocabulary import ActionKind
from logdirwatch.plan import restart_vetoes
from logdirwatch.plan.commands import note
from logdirwatch.plan.draft import Draft, Policy, effect
from logdirwatch.plan.electing import give_back
from logdirwatch.plan.endurance import endurance_of, good_copies
from logdirwatch.plan.facts import Directory, Facts, Partition
from logdirwatch.plan.lost import lost_partitions
from logdirwatch.plan.moves import needed_bytes
from logdirwatch.plan.rebuilding import Loss, rebuild, room_elsewhere
from logdirwatch.plan.repair import plan_repair
from logdirwatch.plan.replacing import leave_log_dirs, replace_disk
from logdirwatch.plan.restarting import restart_broker
from logdirwatch.plan.room import expand_disk
from logdirwatch.plan.running import cancel_dead_ends
from logdirwatch.plan.space import Space

EXAMPLES = 20


def failed_drafts(directory: Directory, facts: Facts, policy: Policy, now_ms: int) -> list[Draft]:
    """Return the way back from a dead disk: its replicas to other brokers, a new disk, a restart."""
    repair = plan_repair(directory.place, facts, policy)
    loss = Loss(
        what=f"lost in {directory.path} of broker {directory.broker}",
        stray=f"the old copies on {directory.path} are strays once the disk is back",
        undo=f"only once {directory.path} serves again",
    )
    rebuilt = [rebuild(directory.place, _target(directory), loss, repair, facts, policy, now_ms)]
    without = leave_log_dirs(directory, facts, policy) if repair.unplaced else None
    return [
        *cancel_dead_ends(directory.broker, directory.path, facts, policy),
        *(rebuilt if repair.assignments else []),
        replace_disk(directory, repair, facts, policy),
        *([without] if without else []),
        restart_broker(directory, facts, policy),
        *room_elsewhere(directory.broker, _target(directory), repair, facts, policy, now_ms),
        *([] if repair.assignments else give_back(_target(directory), facts, policy)),
    ]


def full_drafts(directory: Directory, facts: Facts, policy: Policy) -> list[Draft]:
    """Return the way back from a full disk: room first, then a restart."""
    needed = needed_bytes(directory, Space(facts), policy)
    grow = [] if needed is None else [expand_disk(directory, policy, max(needed, 1))]
    return [*grow, free_while_stopped(directory, facts, policy), restart_broker(directory, facts, policy)]


def limit_drafts(directory: Directory, facts: Facts, policy: Policy) -> list[Draft]:
    """Return the way back from an exhausted limit of the operating system: the disk itself is well."""
    text = (
        f"raise the limit that broker {directory.broker} ran into: open files (LimitNOFILE) or memory maps "
        "(vm.max_map_count); its disks are well"
    )
    draft = Draft(
        kind=ActionKind.RAISE_LIMIT,
        target=_target(directory),
        reason=text,
        expected=effect(),
        commands=(note(f"On broker {directory.broker}'s host: {text}."),),
    )
    return [draft, restart_broker(directory, facts, policy)]


def free_while_stopped(directory: Directory, facts: Facts, policy: Policy) -> Draft:
    """Return how room is made where a broker cannot run: what may be removed there, and what never."""
    broker, tools = directory.broker, policy.tools
    lost = lost_partitions(directory.place, facts)
    spare = [p for p in lost if _has_enough_copies(p, broker, facts)]
    kept = f"their other replicas are in sync: {', '.join(p.label for p in spare[:EXAMPLES])}" if spare else "none"
    is_gone = facts.is_gone(broker)
    steps = [
        "First lower the retention of the largest topics, or it fills again.",
        f"Remove files that are not Kafka's from {directory.path}; never single segment files.",
        "Else move whole partition directories to another log directory of this stopped broker.",
        f"Last resort: remove whole partition directories that can be copied again ({kept}).",
    ]
    return Draft(
        kind=ActionKind.INVESTIGATE,
        target={**_target(directory), "step": restart_vetoes.FREE_SPACE},
        reason=f"{directory.path} of broker {broker} is full: free space there while the broker is stopped; freed "
        "space alone does not bring it back",
        expected=effect(spare_replicas=[p.label for p in spare[:EXAMPLES]], endurance=endurance_of(lost, facts)),
        vetoes=() if is_gone else restart_vetoes.against_stopping(facts, broker),
        commands=(
            *([] if is_gone else tools.stop(broker) or [note(f"Stop broker {broker}.")]),
            *(note(step) for step in steps),
        ),
    )


def _has_enough_copies(partition: Partition, broker: int, facts: Facts) -> bool:
    """Whether the partition can be copied again from two live in-sync replicas, so that none is the last."""
    return len(good_copies(partition, facts) - {broker}) > 1


def _target(directory: Directory) -> dict[str, object]:
    return {"broker": directory.broker, "log_dir": directory.path}
