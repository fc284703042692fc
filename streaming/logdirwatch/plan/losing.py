"""A directory that went offline: rebuild its replicas elsewhere, mend the disk, start the broker again.

Only a restart brings an offline directory back, whatever was done to its disk (Kafka 4.3.1 ``LogDirFailureChannel``).
"""

from logdirwatch.model.vocabulary import ActionKind
from logdirwatch.plan import vetoes
from logdirwatch.plan.assignment import to_json
from logdirwatch.plan.commands import QUORUM, TOPICS, note
from logdirwatch.plan.draft import Draft, Policy, Precondition, Veto, effect
from logdirwatch.plan.facts import Directory, Facts, Partition
from logdirwatch.plan.filling import expand_disk, file_name, nothing_runs, way_back
from logdirwatch.plan.moves import needed_bytes
from logdirwatch.plan.repair import Repair, lost_partitions, plan_repair
from logdirwatch.plan.space import Space
from logdirwatch.report.units import human_bytes

EXAMPLES = 20
DEFAULT_REMEDY = "what stands against it gone"
REMEDIES = {
    "no_live_source": "the data itself, which only the lost copies hold: try to save this disk before it goes",
    "no_broker_left": "one broker more than the replication factor",
    "nothing_fits": "room on another broker: topics deleted, retention cut, a disk more or a bigger volume",
    "broker_not_alive": "the brokers that are away back again",
    "partition_moving": "the end of the moves that run",
    "partition_claimed": "the other reassignment done",
}


def failed_drafts(directory: Directory, facts: Facts, policy: Policy, now_ms: int) -> list[Draft]:
    """Return the way back from a dead disk: its replicas to other brokers, a new disk, a restart."""
    repair = plan_repair(directory.place, facts, policy)
    drafts = [_reassign(directory, repair, policy, now_ms)] if repair.assignments else []
    return [*drafts, _replace_disk(directory, repair, policy), restart_broker(directory, facts, policy)]


def full_drafts(directory: Directory, facts: Facts, policy: Policy) -> list[Draft]:
    """Return the way back from a full disk: room first, then a restart."""
    needed = needed_bytes(directory, Space(facts), policy)
    grow = [] if needed is None else [expand_disk(directory, policy, max(needed, 1))]
    return [*grow, _free_while_stopped(directory, facts, policy), restart_broker(directory, facts, policy)]


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


def restart_broker(directory: Directory, facts: Facts, policy: Policy) -> Draft:
    """Return the restart that brings a directory back, with what must be true before."""
    broker, tools = directory.broker, policy.tools
    found = [
        vetoes.known_sick_disk(facts.directories_of.get(broker, ())),
        vetoes.other_broker_down(facts, broker),
        vetoes.last_in_sync_replica(facts, broker),
    ]
    standing = tuple(veto for veto in found if veto is not None)
    steps = [
        tools.call(QUORUM, "describe", "--status"),
        tools.call(TOPICS, "--describe", "--at-min-isr-partitions"),
        *(tools.stop(broker) or [note(f"Stop broker {broker} by a controlled shutdown.")]),
        *(tools.start(broker) or [note(f"Start broker {broker}; watch remainingLogsToRecover until it is 0.")]),
        tools.call(TOPICS, "--describe", "--under-replicated-partitions"),
    ]
    return Draft(
        kind=ActionKind.RESTART_BROKER,
        target=_target(directory),
        reason=f"restart broker {broker}: nothing else brings {directory.path} back, freed space or a new disk alone "
        "does not",
        expected=effect(returns=_labels(lost_partitions(directory.place, facts))),
        preconditions=(
            Precondition("room_for_recovery", f"{directory.path} has room: recovery itself writes", None),
            Precondition("quorum_safe", f"a majority of controllers is caught up without broker {broker}", None),
        ),
        vetoes=standing,
        commands=tuple(steps),
        undo={"text": "a restart cannot be undone"},
    )


def _reassign(directory: Directory, repair: Repair, policy: Policy, now_ms: int) -> Draft:
    rate = policy.limits.replication_throttle_bytes_per_s
    copied = sum(repair.bytes_per_broker.values()) // 2
    needs = max(repair.bytes_per_broker.values(), default=0) * 1000 // rate + policy.tools.settings.timeout_ms
    plan, name = to_json(repair.assignments), file_name(ActionKind.REASSIGN, directory.place)
    return Draft(
        kind=ActionKind.REASSIGN,
        target=_target(directory),
        reason=f"rebuild {len(repair.assignments)} replicas lost in {directory.path} of broker {directory.broker} on "
        f"other brokers ({human_bytes(copied)} to copy); racks, replication factor and order of preference stay"
        + _left_out(repair),
        expected=effect(
            frees_bytes=0,
            frees_by_ms=now_ms + needs,
            needs_ms=needs,
            on=[{"broker": b, "log_dir": path, "bytes": -size} for (b, path), size in sorted(repair.bytes_in.items())],
            rebuilds=len(repair.assignments),
            unplaced=[{"partition": left.label, **left.veto._asdict()} for left in repair.unplaced[:EXAMPLES]],
            unplaced_count=len(repair.unplaced),
        ),
        preconditions=(
            nothing_runs(),
            Precondition("strays", f"the old copies on {directory.path} are strays once the disk is back", None),
        ),
        commands=tuple(policy.tools.reassign(plan, name, log_dir_rate=rate, rate=rate)),
        reassignment=plan,
        undo={
            **way_back(to_json(repair.before), name, policy, rate=rate),
            "text": f"only once {directory.path} serves again",
        },
    )


def _replace_disk(directory: Directory, repair: Repair, policy: Policy) -> Draft:
    broker, tools = directory.broker, policy.tools
    text = f"replace the disk under {directory.path} of broker {broker}"
    rest = _nothing_fits(repair) if repair.unplaced and not repair.assignments else ""
    steps = [
        tools.call(QUORUM, "describe", "--replication"),
        *(tools.stop(broker) or [note(f"Stop broker {broker} by a controlled shutdown.")]),
        note(f"On broker {broker}'s host: {text}, mount it empty and give it to Kafka's user."),
        *(tools.format_storage() or [note(_FORMAT)]),
        *(tools.start(broker) or [note(f"Start broker {broker}.")]),
    ]
    caught_up = "a majority of the controllers has the committed metadata: the voter's own copy is lost with this disk"
    return Draft(
        kind=ActionKind.REPLACE_DISK,
        target=_target(directory),
        reason=f"{text}, format it and restart: what is still assigned there is copied again{rest}",
        expected=effect(status="online"),
        preconditions=(
            Precondition(
                "disk_is_broken", "the kernel's log or SMART confirms it; a full disk needs room, not this", None
            ),
            *((Precondition("quorum_caught_up", caught_up, None),) if directory.is_metadata_dir is not False else ()),
        ),
        commands=tuple(steps),
        undo={"text": "a replaced disk cannot be undone"},
    )


_FORMAT = (
    "Format it: kafka-storage.sh format --ignore-formatted --cluster-id ID --config server.properties; "
    "without meta.properties the broker refuses to start."
)


def _free_while_stopped(directory: Directory, facts: Facts, policy: Policy) -> Draft:
    broker, tools = directory.broker, policy.tools
    lost = lost_partitions(directory.place, facts)
    spare = [p for p in lost if _has_enough_copies(p, broker, facts)]
    kept = f"their other replicas are in sync: {', '.join(p.label for p in spare[:EXAMPLES])}" if spare else "none"
    steps = [
        "First lower the retention of the largest topics, or it fills again.",
        f"Remove files that are not Kafka's from {directory.path}; never single segment files.",
        "Else move whole partition directories to another log directory of this stopped broker.",
        f"Last resort: remove whole partition directories that can be copied again ({kept}).",
    ]
    return Draft(
        kind=ActionKind.INVESTIGATE,
        target={**_target(directory), "step": "free_space_while_stopped"},
        reason=f"{directory.path} of broker {broker} is full: free space there while the broker is stopped; freed "
        "space alone does not bring it back",
        expected=effect(spare_replicas=_labels(spare)),
        commands=(
            *(tools.stop(broker) or [note(f"Stop broker {broker}.")]),
            *(note(step) for step in steps),
        ),
    )


def _has_enough_copies(partition: Partition, broker: int, facts: Facts) -> bool:
    """Whether the partition can be copied again from two live in-sync replicas, so that none is the last."""
    return sum(1 for other in partition.isr if other != broker and facts.is_alive(other)) > 1


def _left_out(repair: Repair) -> str:
    if not repair.unplaced:
        return ""
    return f"; {len(repair.unplaced)} more cannot be rebuilt now ({_reasons(repair)})"


def _nothing_fits(repair: Repair) -> str:
    names = sorted({left.veto.name for left in repair.unplaced})
    remedies = "; ".join(REMEDIES.get(name, DEFAULT_REMEDY) for name in names)
    return (
        f"; none of its {len(repair.unplaced)} replicas can be rebuilt elsewhere ({_reasons(repair)}). "
        f"What would make it possible: {remedies}"
    )


def _reasons(repair: Repair) -> str:
    by_name: dict[str, Veto] = {left.veto.name: left.veto for left in reversed(repair.unplaced)}
    return "; ".join(f"{name}: {veto.reason}" for name, veto in sorted(by_name.items()))


def _target(directory: Directory) -> dict[str, object]:
    return {"broker": directory.broker, "log_dir": directory.path}


def _labels(partitions: list[Partition]) -> list[str]:
    return [partition.label for partition in partitions[:EXAMPLES]]
