"""Whether a failed directory may be removed from ``log.dirs``, so that others of the broker take its replicas.

KIP-112 (changes in operation 3): only if they have the room. Kafka 4.3.1 recreates nothing while another directory of
the broker is offline (``LogManager.getOrCreateLog``), and a directory with the metadata log cannot be removed at all.
"""

from collections.abc import Sequence

from logdirwatch.model.actions.parts import LeaveLogDirs
from logdirwatch.model.vocabulary import LogDirStatus
from logdirwatch.plan.capacity.projected_use import NewReplicas, Space, volumes
from logdirwatch.plan.cluster.layout import LogDirId, Partition
from logdirwatch.plan.cluster.snapshot import ClusterSnapshot, LogDir
from logdirwatch.plan.proposal import Policy, Veto
from logdirwatch.plan.vetoes import replica_vetoes


def leaving(directory: LogDir, lost: Sequence[Partition], snapshot: ClusterSnapshot, policy: Policy) -> LeaveLogDirs:
    """Judge whether the broker's healthy directories can hold the replicas of a failed one."""
    sizes = [snapshot.layout.size_of(partition.key) for partition in lost]
    needs = None if None in sizes else sum(size or 0 for size in sizes)
    standing = _standing(directory, snapshot)
    if standing is None and needs is None:
        standing = Veto("size_unknown", "the size of a replica is not known")
    space, limit = Space(snapshot), policy.limits.destination_max_ratio
    veto = standing or _why_no_room(directory, [size or 0 for size in sizes], snapshot, space, limit)
    is_unknown = veto is not None and veto.name in _UNKNOWN
    missing = None
    if standing is None and not is_unknown:
        missing = max(0, (needs or 0) - _free_bytes(directory, snapshot, space, limit))
    return LeaveLogDirs(
        fits=None if is_unknown else veto is None,
        replicas=len(lost),
        needs_bytes=needs,
        missing_bytes=missing,
        why_not=veto,
    )


_UNKNOWN = frozenset({"metadata_dir_unknown", "log_dir_unknown", "size_unknown", "destination_space_unknown"})


def _standing(directory: LogDir, snapshot: ClusterSnapshot) -> Veto | None:
    others = [d for d in snapshot.directories_of.get(directory.broker, ()) if d.path != directory.path]
    may_have_metadata = not snapshot.is_zookeeper(directory.broker)
    if directory.is_metadata_dir and may_have_metadata:
        return Veto("metadata_dir", "the metadata log lies there")
    if not others:
        return Veto("no_directory", "it is the broker's only directory")
    offline = [other.path for other in others if other.status is LogDirStatus.OFFLINE]
    if offline:
        return Veto("log_dir_offline", f"nothing is made again while {', '.join(offline)} is offline")
    unknown = [other.path for other in others if not other.is_serving]
    if unknown:
        return Veto("log_dir_unknown", f"the state of {', '.join(unknown)} is not known")
    if directory.is_metadata_dir is None and may_have_metadata:
        return Veto("metadata_dir_unknown", "the metadata log may lie there")
    return replica_vetoes.marked_may_be_chosen(snapshot, directory.broker)


def _why_no_room(
    directory: LogDir, sizes: Sequence[int], snapshot: ClusterSnapshot, space: Space, limit: float
) -> Veto | None:
    """Return why the replicas together have no room, wherever Kafka creates them."""
    landing = NewReplicas(snapshot, directory.broker, space, limit)
    *rest, last = sizes or [0]
    for size in rest:
        landing.land(size, None)
    return landing.veto(last, None)


def _free_bytes(directory: LogDir, snapshot: ClusterSnapshot, space: Space, limit: float) -> int:
    """Return the bytes that the healthy directories can take up to the limit; directories of one volume count once."""
    places, room = volumes(snapshot), 0
    counted: set[LogDirId] = set()
    for other in snapshot.directories_of.get(directory.broker, ()):
        used = space.used_bytes(other.place) if other.path != directory.path else None
        if used is None or other.place in counted or replica_vetoes.destination_closed(other) or not other.total_bytes:
            continue
        counted.update(places[other.place])
        room += max(0, int(other.total_bytes * limit) - used)
    return room
