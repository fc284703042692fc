"""Vetoes on stopping or starting a broker now: each has a name and a reason.

Sources: KIP-112 (changes in operation) and KIP-928; Kafka 4.3.1 ``LogManager`` and ``ReplicationControlManager``.
"""

from collections.abc import Iterable, Iterator

from logdirwatch.model.vocabulary import Cause, LogDirStatus
from logdirwatch.plan.availability import leadership
from logdirwatch.plan.cluster.layout import Partition, is_number
from logdirwatch.plan.cluster.snapshot import ClusterSnapshot, LogDir
from logdirwatch.plan.proposal import Precondition, Veto
from logdirwatch.text.words import some_of

_LOST = frozenset({LogDirStatus.OFFLINE, LogDirStatus.UNKNOWN})


def against_starting(snapshot: ClusterSnapshot, broker: int) -> tuple[Veto, ...]:
    """Return the vetoes on starting a broker that is down: it takes nothing away, but disks may fail again."""
    return tuple(_of_disks(snapshot, broker))


def against_stopping(snapshot: ClusterSnapshot, broker: int) -> tuple[Veto, ...]:
    """Return the vetoes on stopping a broker for a while, whatever is done to its disks meanwhile."""
    return (*_of_other_brokers(snapshot, broker), *_of_replicas(snapshot, broker), *_of_quorum(snapshot, broker))


def against_restart(snapshot: ClusterSnapshot, broker: int) -> tuple[Veto, ...]:
    """Return the vetoes on a restart: a stop, and a start on the same disks."""
    return (
        *against_starting(snapshot, broker),
        *_of_room(snapshot.directories_of.get(broker, ())),
        *against_stopping(snapshot, broker),
    )


def is_sick(directory: LogDir) -> bool:
    """Tell whether a directory needs a new disk; a read-only mount recovers with a start."""
    return directory.status in _LOST and directory.cause is Cause.FAILED


def is_corrupt(directory: LogDir) -> bool:
    """Tell whether a directory's file system reports corruption: new data there may be lost as well."""
    return directory.status in _LOST and directory.cause is Cause.FILE_SYSTEM


def _of_disks(snapshot: ClusterSnapshot, broker: int) -> Iterator[Veto]:
    """Yield the disks that a start may fail on: it reads and writes all of them (KIP-112, operations 3)."""
    mine = snapshot.directories_of.get(broker, ())
    if sick := _paths(filter(is_sick, mine)):
        yield Veto("known_sick_disk", f"{sick} failed; restart only after the disk was replaced")
    if corrupt := _paths(filter(is_corrupt, mine)):
        text = f"the file system of {corrupt} reports corruption or shut itself down; repair it before the start"
        yield Veto("unrepaired_file_system", text)
    if suspect := _paths(d for d in mine if d.is_suspect):
        yield Veto("suspect_disk", f"{suspect} of broker {broker} is suspect; a restart may finish it off")
    elif broker in snapshot.brokers and snapshot.brokers[broker].is_suspect:
        yield Veto("suspect_disk", f"a disk of broker {broker} is suspect, and nobody knows which")


def _of_room(directories: Iterable[LogDir]) -> Iterator[Veto]:
    """Yield the saturated directories: recovery writes, and would take them offline (KIP-928)."""
    full = _paths(
        d for d in directories if d.status is LogDirStatus.SATURATED or (d.is_serving and d.usable_bytes == 0)
    )
    if full:
        yield Veto("no_room_for_recovery", f"{full} is nearly full, and the recovery after a restart writes")


def _of_other_brokers(snapshot: ClusterSnapshot, broker: int) -> Iterator[Veto]:
    """Yield the brokers that are away, or that an accepted action is about to take away."""
    if down := [other for other in snapshot.brokers if other != broker and not snapshot.is_alive(other)]:
        yield Veto("other_broker_down", f"broker {some_of(down)} is not known to be alive", tuple(down))
    if others := sorted(snapshot.stopping - {broker}):
        text = f"an accepted action stops broker {some_of(others)}: carry it out first, or reject it"
        yield Veto("other_broker_stopping", text, tuple(others))


def _of_replicas(snapshot: ClusterSnapshot, broker: int) -> Iterator[Veto]:
    """Yield the partitions that lose their leader, or their minimum in sync if waiting for other replicas helps."""
    if alone := [p.label for p, in_sync in _in_sync_on(snapshot, broker) if in_sync == {broker}]:
        yield Veto("last_in_sync_replica", f"broker {broker} has the only in-sync replica of {some_of(alone)}")
    short = [
        partition.label
        for partition, left, needed in _stopped_writes(snapshot, broker)
        if left is not None and needed == left + 1 and needed < len(partition.replicas)
    ]
    if short:
        text = f"without broker {broker} too few replicas of {some_of(short)} are in sync for writes"
        yield Veto("min_isr_lost", text)


def _of_quorum(snapshot: ClusterSnapshot, broker: int) -> Iterator[Veto]:
    """Yield that the known voters lose their majority; a single one has none to keep."""
    known = voters(snapshot)
    left = [voter for voter in known if voter != broker and (voter not in snapshot.brokers or snapshot.is_alive(voter))]
    if broker in known and len(known) > 1 and len(left) < len(known) // 2 + 1:
        yield Veto("quorum_unsafe", f"without broker {broker} only {len(left)} of {len(known)} controllers are left")


def _paths(directories: Iterable[LogDir]) -> str:
    return ", ".join(directory.path for directory in directories)


def quorum_safe(snapshot: ClusterSnapshot, broker: int) -> Precondition:
    """Return the precondition that a majority of controllers is caught up without the broker.

    It holds for a broker that is no controller, fails for the only one, and is otherwise for a person to check. Roles
    and static voters come from the brokers' configuration, which does not contain KIP-853's dynamic voters.
    """
    text = f"a majority of controllers is caught up without broker {broker}"
    roles = snapshot.configs_of(broker).get("process.roles")
    if roles is not None and "controller" not in _words(roles):
        return Precondition("quorum_safe", f"{text}: it is none of them", holds=True)
    if voters(snapshot) == {broker}:
        return Precondition("quorum_safe", f"{text}: it is the only one", holds=False)
    return Precondition("quorum_safe", text, holds=None)


def writes_go_on(snapshot: ClusterSnapshot, broker: int) -> Precondition:
    """Return the precondition that all partitions of a broker stay writable while it is down.

    The vetoes use the same test.
    """
    text = f"every partition of broker {broker} takes writes while it is away"
    stopped = [partition.label for partition, _, _ in _stopped_writes(snapshot, broker)]
    if stopped:
        return Precondition("writes_go_on", f"{text}: not so for {some_of(stopped)}", holds=False)
    is_known = all(
        leadership.min_isr(partition, snapshot) is not None for partition, _ in _in_sync_on(snapshot, broker)
    )
    return Precondition("writes_go_on", text, holds=True if is_known else None)


def voters(snapshot: ClusterSnapshot) -> frozenset[int]:
    """Return the static controller voters that a broker's configuration names; empty where none does."""
    listed = (broker.configs.get("controller.quorum.voters") for broker in snapshot.brokers.values())
    named = next((value for value in listed if value), "")
    ids = (word.partition("@")[0] for word in _words(named))
    return frozenset(int(number) for number in ids if is_number(number))


def _stopped_writes(snapshot: ClusterSnapshot, broker: int) -> Iterable[tuple[Partition, int | None, int | None]]:
    """Yield the partitions that take no writes without a broker, with the in-sync replicas left and the minimum.

    By the replicas that are alive and in sync (None: this broker's is not), or by the prediction, which knows the ELR.
    """
    in_sync_on = {partition.key: in_sync for partition, in_sync in _in_sync_on(snapshot, broker)}
    for partition in snapshot.partitions.values():
        live, needed = leadership.live_replicas(partition, snapshot), leadership.min_isr(partition, snapshot)
        if broker not in live:
            continue
        in_sync = in_sync_on.get(partition.key)
        left = None if in_sync is None else len(in_sync) - 1
        then = leadership.without(
            leadership.current_leadership(partition, snapshot), broker, live, has_elr=snapshot.layout.uses_elr
        )
        is_short = left is not None and (left == 0 or (needed is not None and left < needed))
        if is_short or then.leader is None or (needed is not None and len(then.isr) < needed):
            yield partition, left, needed


def _in_sync_on(snapshot: ClusterSnapshot, broker: int) -> Iterable[tuple[Partition, frozenset[int]]]:
    """Yield the partitions with a live in-sync replica on a broker, and all brokers that have one."""
    for partition in snapshot.partitions.values():
        if broker in partition.isr and broker in (in_sync := leadership.in_sync(partition, snapshot)):
            yield partition, in_sync


def _words(value: str) -> list[str]:
    return [word.strip() for word in value.split(",")]
