"""Vetoes on stopping or starting a broker now: each has a name and a reason, or is None.

Sources: KIP-112 (changes in operation) and KIP-928; Kafka 4.3.1 ``LogManager`` and ``ReplicationControlManager``.
"""

from collections.abc import Iterable

from logdirwatch.model.vocabulary import Cause, LogDirStatus
from logdirwatch.plan.availability import leadership
from logdirwatch.plan.cluster.layout import Partition, is_number
from logdirwatch.plan.cluster.snapshot import ClusterSnapshot, LogDir
from logdirwatch.plan.proposal import Precondition, Veto
from logdirwatch.text.words import some_of

SICK_CAUSES = frozenset({Cause.FAILED})
"""Causes that need a new disk: a start on the old one may fail again. A read-only mount recovers with a start."""
_LOST = frozenset({LogDirStatus.OFFLINE, LogDirStatus.UNKNOWN})


def against_starting(snapshot: ClusterSnapshot, broker: int) -> tuple[Veto, ...]:
    """Return the vetoes on starting a broker that is down: it takes nothing away, but disks may fail again."""
    directories = snapshot.directories_of.get(broker, ())
    return _standing(known_sick_disk(directories), unrepaired(directories), suspect_disk(snapshot, broker))


def against_stopping(snapshot: ClusterSnapshot, broker: int) -> tuple[Veto, ...]:
    """Return the vetoes on stopping a broker for a while, whatever is done to its disks meanwhile."""
    return _standing(
        other_broker_down(snapshot, broker),
        other_broker_stopping(snapshot, broker),
        last_in_sync_replica(snapshot, broker),
        min_isr_lost(snapshot, broker),
        quorum_unsafe(snapshot, broker),
    )


def against_restart(snapshot: ClusterSnapshot, broker: int) -> tuple[Veto, ...]:
    """Return the vetoes on a restart: a stop, and a start on the same disks."""
    room = no_room_for_recovery(snapshot.directories_of.get(broker, ()))
    return (*against_starting(snapshot, broker), *_standing(room), *against_stopping(snapshot, broker))


def known_sick_disk(directories: Iterable[LogDir]) -> Veto | None:
    """Veto starting a broker on a failed disk: it may fail during recovery (KIP-112, operations 3)."""
    sick = [d.path for d in directories if d.status in _LOST and d.cause in SICK_CAUSES]
    if not sick:
        return None
    return Veto("known_sick_disk", f"{', '.join(sick)} failed; restart only after the disk was replaced")


def unrepaired(directories: Iterable[LogDir]) -> Veto | None:
    """Veto starting a broker on a file system that reports corruption: new data there may be lost as well."""
    paths = [d.path for d in directories if d.status in _LOST and d.cause is Cause.FILE_SYSTEM]
    if not paths:
        return None
    text = f"the file system of {', '.join(paths)} reports corruption or shut itself down; repair it before the start"
    return Veto("unrepaired_file_system", text)


def suspect_disk(snapshot: ClusterSnapshot, broker: int) -> Veto | None:
    """Veto starting on a suspect disk: a start reads and writes all of it (KIP-112, operations 3)."""
    paths = [d.path for d in snapshot.directories_of.get(broker, ()) if d.is_suspect]
    if paths:
        return Veto("suspect_disk", f"{', '.join(paths)} of broker {broker} is suspect; a restart may finish it off")
    if broker in snapshot.brokers and snapshot.brokers[broker].is_suspect:
        return Veto("suspect_disk", f"a disk of broker {broker} is suspect, and nobody knows which")
    return None


def no_room_for_recovery(directories: Iterable[LogDir]) -> Veto | None:
    """Veto a restart while a serving directory is saturated: recovery writes, and would take it offline (KIP-928)."""
    full = [d.path for d in directories if d.status is LogDirStatus.SATURATED or (d.is_serving and d.usable_bytes == 0)]
    if not full:
        return None
    return Veto("no_room_for_recovery", f"{', '.join(full)} is nearly full, and the recovery after a restart writes")


def other_broker_down(snapshot: ClusterSnapshot, broker: int) -> Veto | None:
    """Veto stopping a second broker."""
    down = [other for other in snapshot.brokers if other != broker and not snapshot.is_alive(other)]
    if not down:
        return None
    return Veto("other_broker_down", f"broker {some_of(down)} is not known to be alive", tuple(down))


def other_broker_stopping(snapshot: ClusterSnapshot, broker: int) -> Veto | None:
    """Refuse to take a broker away while an accepted action is about to take another one."""
    others = sorted(snapshot.stopping - {broker})
    if not others:
        return None
    text = f"an accepted action stops broker {some_of(others)}: carry it out first, or reject it"
    return Veto("other_broker_stopping", text, tuple(others))


def last_in_sync_replica(snapshot: ClusterSnapshot, broker: int) -> Veto | None:
    """Veto stopping a broker with the only live in-sync replica: its partition would lose its leader."""
    alone = [p.label for p, in_sync in _in_sync_on(snapshot, broker) if in_sync == {broker}]
    if not alone:
        return None
    return Veto("last_in_sync_replica", f"broker {broker} has the only in-sync replica of {some_of(alone)}")


def min_isr_lost(snapshot: ClusterSnapshot, broker: int) -> Veto | None:
    """Veto stopping a broker needed for the minimum of in-sync replicas, if waiting for others helps."""
    short = [
        partition.label
        for partition, left, needed in _stopped_writes(snapshot, broker)
        if left is not None and needed == left + 1 and needed < len(partition.replicas)
    ]
    if not short:
        return None
    return Veto("min_isr_lost", f"without broker {broker} too few replicas of {some_of(short)} are in sync for writes")


def quorum_unsafe(snapshot: ClusterSnapshot, broker: int) -> Veto | None:
    """Veto stopping a controller without which the known voters have no majority."""
    known = voters(snapshot)
    if broker not in known or len(known) == 1:
        return None
    left = [voter for voter in known if voter != broker and (voter not in snapshot.brokers or snapshot.is_alive(voter))]
    if len(left) >= len(known) // 2 + 1:
        return None
    return Veto("quorum_unsafe", f"without broker {broker} only {len(left)} of {len(known)} controllers are left")


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


def _in_sync_on(snapshot: ClusterSnapshot, broker: int) -> Iterable[tuple[Partition, set[int]]]:
    """Yield the partitions with a live in-sync replica on a broker, and all brokers that have one."""
    for partition in snapshot.partitions.values():
        if broker in partition.isr:
            in_sync = leadership.live_replicas(partition, snapshot) & set(partition.isr)
            if broker in in_sync:
                yield partition, set(in_sync)


def _standing(*found: Veto | None) -> tuple[Veto, ...]:
    return tuple(veto for veto in found if veto is not None)


def _words(value: str) -> list[str]:
    return [word.strip() for word in value.split(",")]
