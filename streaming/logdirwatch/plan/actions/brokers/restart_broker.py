"""``restart_broker``: its vetoes, what it brings back, and who leads during and after it; also to repair a file system.

Only a restart brings an offline directory back, whatever was done to its disk (Kafka 4.3.1 ``LogDirFailureChannel``).
"""

import shlex
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from logdirwatch.collect.kafka.answers import Quorum
from logdirwatch.model.records import ActionRecord
from logdirwatch.model.vocabulary import ActionKind, BrokerStatus, Cause
from logdirwatch.plan.actions.action_type import ActionType, frees_as_much
from logdirwatch.plan.actions.parts import bytes_at, host_notes
from logdirwatch.plan.actions.progress import not_seen
from logdirwatch.plan.actions.strimzi_resources import MANUAL_ROLLING_UPDATE, POD, kubectl_of
from logdirwatch.plan.availability.fault_tolerance import fault_tolerance_of, partitions_on
from logdirwatch.plan.availability.impact import of_restart
from logdirwatch.plan.availability.offline_log_dirs import OfflineEvidence, OfflineLogDirs, log_line
from logdirwatch.plan.capacity.timing import place_target
from logdirwatch.plan.cluster.cordons import KEEPS_CLEANING, at_least
from logdirwatch.plan.cluster.layout import Partition
from logdirwatch.plan.cluster.snapshot import ClusterSnapshot, LogDir
from logdirwatch.plan.commands.kafka_tools import QUORUM, TOPICS, describe_configs, note
from logdirwatch.plan.proposal import EXAMPLES, NAMED, Policy, Precondition, ProposedAction, Veto, effect
from logdirwatch.plan.retention.overdue import OverdueReplica, overdue_in
from logdirwatch.plan.vetoes import restart_vetoes
from logdirwatch.text.units import human_bytes
from logdirwatch.text.words import counted, number_ranges, some_of


def restart_broker(away: OfflineLogDirs, snapshot: ClusterSnapshot, policy: Policy) -> ProposedAction:
    """Return the restart that brings directories back, with its preconditions."""
    broker, directories = away.broker, away.directories
    # Directories that failed together for another cause did not fail for lack of room.
    filled = [found for found in directories if found.cause is Cause.FULL or not away.is_several]
    return ProposedAction(
        kind=ActionKind.RESTART_BROKER,
        target=away.target,
        reason=f"restart broker {broker}: only that brings {some_of(away.names)} back, freed space or a new disk "
        "alone does not",
        expected=restart_effect(broker, away.lost(directories), snapshot),
        undo={"text": "a restart cannot be undone"},
        **restarted(broker, snapshot, policy, (*map(room_for_recovery, filled), deleted_since(away.names))),
    )


def start_broker(broker: int, snapshot: ClusterSnapshot, policy: Policy, why: str) -> ProposedAction:
    """Return the start of a broker that is down; it takes nothing away from other brokers."""
    returns = partitions_on(broker, snapshot)
    tight = [found for found in snapshot.directories_of.get(broker, ()) if _is_tight(found, policy)]
    return ProposedAction(
        kind=ActionKind.RESTART_BROKER,
        target={"broker": broker, "log_dir": None},
        reason=f"start broker {broker}: {counted(len(returns), 'replica comes', 'replicas come')} back with it; {why}",
        expected=restart_effect(broker, returns, snapshot),
        undo={"text": "a broker that was started can be stopped again"},
        **restarted(broker, snapshot, policy, tuple(map(room_for_recovery, tight)), is_running=False),
    )


def restarted(
    broker: int,
    snapshot: ClusterSnapshot,
    policy: Policy,
    needs: tuple[Precondition, ...] = (),
    between: Sequence[str] = (),
    *,
    is_running: bool = True,
    keeps_disks: bool = True,
) -> dict[str, Any]:
    """Return the fields that follow from a stop, if the broker runs, and a start: preconditions, vetoes, commands.

    ``keeps_disks``: it starts on the disks that it had. The commands ``between`` run while it is stopped.
    """
    # A start takes nothing away: a broker that is down neither votes nor acknowledges.
    safe = (restart_vetoes.quorum_safe, restart_vetoes.writes_go_on) if is_running else ()
    return {
        "preconditions": (*needs, *(precondition(snapshot, broker) for precondition in safe)),
        "vetoes": _against(broker, snapshot, is_running=is_running, keeps_disks=keeps_disks),
        "commands": tuple(restart_steps(broker, snapshot, policy, between, is_running=is_running)),
    }


def _against(broker: int, snapshot: ClusterSnapshot, *, is_running: bool, keeps_disks: bool) -> tuple[Veto, ...]:
    if not is_running:
        # On new disks a start does not fail for what is known of the old ones.
        return restart_vetoes.against_starting(snapshot, broker) if keeps_disks else ()
    return (restart_vetoes.against_restart if keeps_disks else restart_vetoes.against_stopping)(snapshot, broker)


def restart_steps(
    broker: int, snapshot: ClusterSnapshot, policy: Policy, between: Sequence[str] = (), *, is_running: bool = True
) -> list[str]:
    """Return the commands of a controlled restart; the commands ``between`` run while the broker is stopped."""
    tools = policy.tools
    stop = [
        *([] if snapshot.is_zookeeper(broker) else [tools.call(QUORUM, "describe", "--status")]),
        tools.call(TOPICS, "--describe", "--at-min-isr-partitions"),
        *(tools.stop(broker) or [note(f"Stop broker {broker} by a controlled shutdown.")]),
    ]
    return [
        *(stop if is_running else []),
        *between,
        *(tools.start(broker) or [note(f"Start broker {broker}; watch remainingLogsToRecover until it is 0.")]),
        *after_start(policy),
    ]


def format_steps(broker: int, snapshot: ClusterSnapshot, policy: Policy) -> list[str]:
    """Return how to format the new directories of a stopped broker: as commands, or as a manual step.

    ``--ignore-formatted`` skips directories with a meta.properties, and a controller whose voters are not configured
    needs the option that it adds no voter (Kafka 4.3.1 ``StorageTool``). In ZooKeeper mode the tool refuses, and a
    broker starts with an empty directory.
    """
    if snapshot.is_zookeeper(broker):
        return []
    options = ["--ignore-formatted", *(["--no-initial-controllers"] if _has_dynamic_voters(broker, snapshot) else [])]
    told = (
        f"Format it: kafka-storage.sh format {' '.join(options)} --cluster-id ID --config server.properties; "
        "without meta.properties the broker refuses to start."
    )
    return policy.tools.format_storage(options) or [note(told)]


def rejoin_steps(directory: LogDir, snapshot: ClusterSnapshot, policy: Policy) -> list[str]:
    """Return how a controller becomes a voter again after the disk with its metadata log was replaced (KIP-853).

    It returns with a new directory id, as an observer. The old voter with its id must be removed first (Kafka 4.3.1
    ``AddVoterHandler``), and only the tool on the controller's own host can add it.
    """
    broker = directory.broker
    if directory.is_metadata_dir is False or not _has_dynamic_voters(broker, snapshot):
        return []
    whose = "" if directory.is_metadata_dir else f"if the metadata log was in {directory.path}, "
    remove = ["remove-controller", "--controller-id", str(broker), "--controller-directory-id"]
    return [
        policy.tools.call(QUORUM, "describe", "--replication"),
        note(
            f"Unless controller.quorum.auto.join.enable is true: {whose}broker {broker} votes no more. Once it is "
            "listed there as an observer with little lag, remove the voter it was: "
            f"{policy.tools.call(QUORUM, *remove)} ID, with the directory id that it is listed with as a voter;"
        ),
        note(f"then, on broker {broker}'s host: {policy.tools.add_controller()}"),
    ]


def _has_dynamic_voters(broker: int, snapshot: ClusterSnapshot) -> bool:
    """Tell whether a broker is a controller of a quorum with dynamic voters (KIP-853)."""
    configs = snapshot.configs_of(broker)
    # A static quorum is listed in controller.quorum.voters; a dynamic one only has bootstrap servers (KIP-853).
    return "controller" in (configs.get("process.roles") or "") and not configs.get("controller.quorum.voters")


def after_start(policy: Policy) -> list[str]:
    """Return how to check that replicas are in sync again, and how to move leadership back.

    Kafka moves it back within minutes by itself unless ``auto.leader.rebalance.enable`` is false.
    """
    return [
        policy.tools.call(TOPICS, "--describe", "--under-replicated-partitions"),
        note(f"Once nothing is listed there: {policy.tools.elect_all()}"),
    ]


def restart_effect(broker: int, returns: Sequence[Partition], snapshot: ClusterSnapshot, **more: Any) -> dict[str, Any]:
    """Return ``expected`` of a restart: what it brings back, and what happens to the broker's partitions."""
    mine = partitions_on(broker, snapshot)
    return effect(
        returns=[partition.label for partition in returns[:EXAMPLES]],
        returns_count=len(returns),
        restart_partitions=restart_partitions(broker, returns),
        leadership=of_restart(broker, mine, snapshot),
        endurance=fault_tolerance_of(mine, snapshot),
        **more,
    )


def restart_partitions(broker: int, partitions: Iterable[Partition]) -> dict[str, Any]:
    """Return partitions in the format of KIP-18's ``/restart_partitions``, whose numbers are strings."""
    numbers: defaultdict[str, list[int]] = defaultdict(list)
    for partition in partitions:
        numbers[partition.topic].append(partition.partition)
    return {
        "version": "1",
        "broker": str(broker),
        "partitions": [
            {"topic": topic, "partitions": [str(number) for number in sorted(found)]}
            for topic, found in sorted(numbers.items())
        ],
    }


def room_for_recovery(directory: LogDir) -> Precondition:
    """Return the precondition that a recovering directory has room; the use of an offline one is not visible yet."""
    usable = directory.usable_bytes
    seen = "" if usable is None else f"; when last seen {human_bytes(usable)} were free"
    return Precondition("room_for_recovery", f"{directory.path} has room: recovery itself writes{seen}", None)


def deleted_since(paths: Sequence[str]) -> Precondition:
    """Say what happens to topics that were deleted while their replica was on an offline directory.

    The broker cannot delete it there. At restart it finds the folder, renames it and keeps it (KIP-112, topic deletion;
    Kafka 4.3.1 ``LogManager.loadLog``: "marked stray and renamed").
    """
    return Precondition(
        "strays",
        f"topics deleted while {some_of(paths)} was offline still lie there: they are strays once it is back, and "
        "Kafka frees no byte of them",
        None,
    )


def _is_tight(directory: LogDir, policy: Policy) -> bool:
    """Tell whether a directory was so full when last seen, or is so little known, that room must be checked."""
    if directory.used_bytes is None or not directory.total_bytes:
        return True
    return directory.used_bytes > policy.limits.destination_max_ratio * directory.total_bytes


WITHOUT_DIRECTORY, REPAIR = "leave_log_dirs", "repair_file_system"
"""Steps of a restart at which a disk is changed, or left out: what is known of it says nothing against the start."""


def against_restart_now(
    action: ActionRecord, snapshot: ClusterSnapshot, quorum: Quorum | None, *, keeps_disks: bool
) -> Iterator[str]:
    """Yield why a broker must not be stopped or started now; ``keeps_disks``: it starts on the same disks."""
    broker = action.target.get("broker")
    if not isinstance(broker, int):
        return
    is_running = broker in snapshot.brokers and snapshot.brokers[broker].status is not BrokerStatus.OFFLINE
    found = _against(broker, snapshot, is_running=is_running, keeps_disks=keeps_disks)
    yield from (veto.reason for veto in found)
    if is_running and not snapshot.is_zookeeper(broker):
        yield from _of_quorum(broker, quorum)


def disks_replaced(action: ActionRecord, snapshot: ClusterSnapshot, quorum: Quorum | None) -> Iterator[str]:
    """Yield why a broker must not be stopped now to change its disks."""
    return against_restart_now(action, snapshot, quorum, keeps_disks=False)


def _restarted_now(action: ActionRecord, snapshot: ClusterSnapshot, quorum: Quorum | None) -> Iterator[str]:
    keeps_disks = action.target.get("step") not in {WITHOUT_DIRECTORY, REPAIR}
    return against_restart_now(action, snapshot, quorum, keeps_disks=keeps_disks)


def _of_quorum(broker: int, quorum: Quorum | None) -> Iterator[str]:
    """Yield that no majority of voters is caught up without the broker; a single voter cannot avoid that."""
    if quorum is None:
        yield "the controllers' quorum cannot be asked"
        return
    voters = quorum.caught_up
    if broker not in voters or len(voters) == 1:
        return
    good = [voter for voter, is_caught_up in voters.items() if voter != broker and is_caught_up]
    if len(good) < len(voters) // 2 + 1:
        yield f"without broker {broker} only {len(good)} of {len(voters)} controllers are caught up"


_LOOKED = "xfs_repair -n {0}, or fsck -n {0}", "btrfs check --readonly {0}; btrfs device stats {0}"
_REPAIRED = (
    (
        "xfs_repair {0}, or fsck -f {0}. Where xfs_repair asks for -L, mount and unmount first to replay its log; -L "
        "throws data away"
    ),
    # fsck does nothing on btrfs, and the repair of btrfs check can make damage worse.
    (
        "mount it and btrfs scrub start -B MOUNT, which repairs what has a second copy; where dmesg names files beyond "
        "that, move the whole partition folders aside, if other replicas are in sync. btrfs check --repair comes last"
    ),
)
"""How to look at a file system and repair it, and the same for btrfs."""


def repair_file_system(
    directory: LogDir, proof: OfflineEvidence, away: OfflineLogDirs | None, snapshot: ClusterSnapshot, policy: Policy
) -> ProposedAction:
    """Return the repair of a file system while its broker is stopped; ``away`` None: the broker is down anyway."""
    broker, path = directory.broker, shlex.quote(directory.path)
    device = f"/dev/{proof.device}" if proof.device else "DEVICE"
    is_btrfs = any("btrfs" in line.lower() for line in (proof.said, proof.kernel_error) if line)
    steps = (
        f"On broker {broker}'s host: umount {path}; first look only: {_LOOKED[is_btrfs].format(device)}.",
        f"Repair it: {_REPAIRED[is_btrfs].format(device)}. Do not format: other copies may be needed first.",
        f"Mount {path} again, and see that it is writable by Kafka's user.",
    )
    sound = Precondition("device_is_sound", "the kernel's log and SMART show no I/O error of the device itself", None)
    is_running = away is not None and snapshot.is_alive(broker)
    between = [note(step) for step in steps]
    return ProposedAction(
        kind=ActionKind.RESTART_BROKER,
        target={**place_target(directory), "step": REPAIR},
        reason=f"stop broker {broker}, repair the file system of {directory.path}, and start it: the disk below may be "
        f"sound, so nothing is formatted{log_line(proof)}",
        expected=restart_effect(broker, [] if away is None else away.lost([directory]), snapshot),
        undo={"text": "a repaired file system cannot be made as it was"},
        **restarted(broker, snapshot, policy, (sound,), between, is_running=is_running, keeps_disks=False),
    )


def _for_strimzi(proposal: ProposedAction, policy: Policy) -> ProposedAction:
    """Return a restart as an annotation of the pod; a restart without a directory is impossible.

    Steps on the host while the broker is stopped stay as they are.
    """
    step = proposal.target.get("step")
    if step == WITHOUT_DIRECTORY:
        reason = "Strimzi gives every broker of a node pool the same volumes: one cannot be left out of one broker"
        return replace(proposal, vetoes=(*proposal.vetoes, Veto("owner_reverts", reason)))
    if step is not None:
        return proposal
    kubectl, broker = kubectl_of(policy), proposal.target["broker"]
    return replace(
        proposal,
        commands=(
            *checks_before(policy),
            kubectl.pod(broker),
            # Not by deleting the pod: only for its own restarts the operator checks min.insync.replicas first
            # (KafkaRoller).
            kubectl.run("annotate", POD, MANUAL_ROLLING_UPDATE),
            note(
                "The operator restarts it with its next reconciliation, every two minutes by default; while that would "
                "take partitions under min.insync.replicas, it waits."
            ),
            *after_start(policy),
        ),
    )


def checks_before(policy: Policy) -> list[str]:
    """Return how to see that every partition and the quorum bear a broker less."""
    return [
        policy.tools.call(QUORUM, "describe", "--status"),
        # At, not under: these stop taking writes with acks=all once this broker is down.
        policy.tools.call(TOPICS, "--describe", "--at-min-isr-partitions"),
    ]


ACTION_TYPE = ActionType(
    kind=ActionKind.RESTART_BROKER,
    progress=not_seen,
    covers=frees_as_much,
    live_check=_restarted_now,
    is_done_when_back=True,
    changes_declared=False,
    for_strimzi=_for_strimzi,
)


_DELETES = "kafka-log-retention, kafka-delete-logs and LogManager"
_CLEANS = "kafka-log-cleaner-thread and LogCleaner (log-cleaner.log)"
_KINDS = {
    frozenset({False}): (
        "deletion by retention",
        "deletes",
        "its retention task fails or a thread of it died",
        _DELETES,
    ),
    frozenset({True}): (
        "log cleaner",
        "compacts",
        "a thread of its cleaner died, or the cleaner gave the partition up after an error",
        _CLEANS,
    ),
    frozenset({False, True}): (
        "deletion by retention and its log cleaner",
        "deletes and compacts",
        "a thread of them died or fails",
        f"{_DELETES}, {_CLEANS}",
    ),
}
"""By what stands still, for some of the replicas compaction: its name, what it does, why it may not, its threads."""


def propose_restart_for_retention(directory: LogDir, snapshot: ClusterSnapshot, policy: Policy) -> list[ProposedAction]:
    """Return the restart of a broker that does not delete or compact what it should; empty if nothing is overdue."""
    found, broker = overdue_in(directory, snapshot), directory.broker
    if not found:
        return []
    freed = snapshot.on_disk_bytes(directory.place, sum(one.overdue_bytes for one in found))
    # Neither a start nor a lower limit deletes anything before the next check: until then a working task looks stuck.
    is_new = Precondition(
        "limit_is_not_new",
        f"broker {broker} started, and the retention was lowered, longer ago than a retention check takes "
        "(log.retention.check.interval.ms)",
        None,
    )
    by_restart = restarted(broker, snapshot, policy, (is_new,))
    looks = host_notes(
        broker,
        f"errors of {_kind(found)[3]} in its log. What throws at each run has to be repaired before the restart.",
    )
    by_restart["commands"] = (
        *looks,
        # Without --all the tool leaves out static values, such as log.retention.check.interval.ms.
        describe_configs(policy.tools, "brokers", broker, "--all"),
        *by_restart["commands"],
    )
    return [
        ProposedAction(
            kind=ActionKind.RESTART_BROKER,
            target=place_target(directory),
            reason=f"restart broker {broker}: {stuck(found, snapshot)}",
            expected=restart_effect(broker, (), snapshot, frees_bytes=freed, on=bytes_at({directory.place: freed})),
            undo={"text": "a restart cannot be undone; the records that retention deletes are past their limit"},
            **by_restart,
        )
    ]


def stuck(found: Sequence[OverdueReplica], snapshot: ClusterSnapshot) -> str:
    """Say which replicas their broker does not delete or compact, by which evidence, and why that may be."""
    broker, path = found[0].replica.place
    freed = human_bytes(snapshot.on_disk_bytes((broker, path), sum(one.overdue_bytes for one in found)))
    cancelled = (
        ""
        if at_least(snapshot.metadata_version, KEEPS_CLEANING)
        else "before Kafka 4.2 a cancelled copy between its directories stops it until a restart (KAFKA-19458), or "
    )
    stands, works, causes, _ = _kind(found)
    return (
        f"its {stands} is stuck ({some_of(map(_compared, found), NAMED)} in {path}): {freed} come free once broker "
        f"{broker} {works} again; {cancelled}{causes}, which its log says. A lower retention frees nothing there"
    )


def _kind(found: Sequence[OverdueReplica]) -> tuple[str, str, str, str]:
    return _KINDS[frozenset(one.is_compacted for one in found)]


def _compared(one: OverdueReplica) -> str:
    label, size = f"{one.replica.topic}-{one.replica.partition}", human_bytes(one.replica.size_bytes or 0)
    others = human_bytes(max(sibling.size_bytes or 0 for sibling in one.siblings))
    where = f"broker{'s' if len(one.siblings) > 1 else ''} {number_ranges(other.broker for other in one.siblings)}"
    limit = "" if one.limit_bytes is None else f" and {human_bytes(one.limit_bytes)} by its retention.bytes"
    return f"{label} holds {size}, against {others} on {where}{limit}"
