"""A whole cluster that fills: moves only shift the problem, so retention and new space remain.

Cuts are planned for all directories above the target ratio together; an alert on one of them plans for that one alone.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from logdirwatch.plan.actions.brokers.investigate import Runbook, describe_all_log_dirs
from logdirwatch.plan.actions.topics.lower_retention import propose_fleet_cut
from logdirwatch.plan.actions.topics.throttle_producers import propose_fleet_throttle
from logdirwatch.plan.capacity.growth_by_topic import filling_topics, has_runaway, told
from logdirwatch.plan.capacity.projected_use import Space, needed_bytes, volumes
from logdirwatch.plan.capacity.timing import is_full_within_the_hour, time_to_full_ms
from logdirwatch.plan.cluster.layout import LogDirId, grown_bytes
from logdirwatch.plan.cluster.snapshot import ClusterSnapshot, LogDir
from logdirwatch.plan.operator_decisions import apply_decisions
from logdirwatch.plan.proposal import Policy, ProposedAction, Veto
from logdirwatch.plan.relief.order import LONGER, costs_others, spare_others
from logdirwatch.plan.relief.without_loss import short_bytes
from logdirwatch.plan.responses.response import Response, Situation
from logdirwatch.plan.retention.planner import REASONS, gain, left, plan_fleet_cuts
from logdirwatch.plan.vetoes import replica_vetoes
from logdirwatch.text.units import human_bytes, human_ms, human_parts
from logdirwatch.text.words import counted


def propose(situation: Situation) -> list[ProposedAction]:
    """Return what room is missing, and the cuts that free most in a cluster's filling directories.

    New room loses nothing, so it comes first while there is time to get it. Then come slower producers and cuts of
    whoever fills the directories, before those of others.
    """
    snapshot, policy = situation.snapshot, situation.policy
    needed = shortage(snapshot, policy)
    missing = sum(needed.values())
    refusals: Counter[Veto] = Counter()
    places = [snapshot.directories[place] for place in needed]
    beside = _room_beside(needed, snapshot, policy)
    if _fit(needed, beside, snapshot) and not any(map(is_full_within_the_hour, places)):
        return [replace(situation.look, reason=_fits(missing, places, beside))]
    filling = frozenset(name for place in places for name in filling_topics(place, snapshot))
    cuts = plan_fleet_cuts(needed, snapshot, policy, refusals, filling)
    lost = apply_decisions(
        [propose_fleet_cut(cut, gain(cut, needed), snapshot, policy) for cut in cuts],
        snapshot.decisions,
    )
    brakes = _brakes(places, lost, filling, snapshot, policy)
    spared = spare_others(lost, brakes, filling, _left_ms(places))
    still = sum(left(needed, cuts).values())
    reasons = [veto.reason for veto, _ in refusals.most_common(REASONS)] if still > 0 else []
    waiting = ", with those that wait for slower producers," if spared != lost else ""
    look = situation.look_because(
        _what_is_missing(still, missing, places, snapshot, policy, reasons, f"the cuts{waiting}")
    )
    proposals = [*brakes, *spared]
    # Within the hour nobody gets new disks: what gains time comes before what ends it.
    ordered = [*proposals, look] if any(map(is_full_within_the_hour, places)) else [look, *proposals]
    who = told(places, snapshot)
    return [replace(one, reason=one.reason + who) for one in ordered[:1]] + ordered[1:]


def _brakes(
    places: Sequence[LogDir],
    lost: Sequence[ProposedAction],
    filling: frozenset[str],
    snapshot: ClusterSnapshot,
    policy: Policy,
) -> list[ProposedAction]:
    """Return the producer quota that wins the time until there is room, before history is lost in the last hour.

    Because of a runaway, and before that of topics that do not fill the directories, it comes at any time.
    """
    left_ms = _left_ms(places)
    is_runaway = costs_others(lost, filling) or any(has_runaway(place, snapshot) for place in places)
    is_due = is_runaway or any(map(is_full_within_the_hour, places))
    if left_ms is None or not is_due or all(one.vetoes for one in lost):
        return []
    lasts_ms = max(policy.limits.fleet_cuts_last_ms, LONGER * left_ms)
    return apply_decisions(propose_fleet_throttle(places, snapshot, policy, lasts_ms), snapshot.decisions)


def _left_ms(places: Iterable[LogDir]) -> int | None:
    return min((ms for place in places if (ms := time_to_full_ms(place)) is not None), default=None)


def shortage(snapshot: ClusterSnapshot, policy: Policy, *, until_room: bool = True) -> dict[LogDirId, int]:
    """Return the bytes that the serving directories above the target ratio need; a volume counts once.

    They bring the directories at most to the target ratio, ``until_room`` no further than they need to last until
    there is more space.
    """
    space, sharing = Space(snapshot), volumes(snapshot)
    found: dict[LogDirId, int] = {}
    for place, directory in sorted(snapshot.directories.items()):
        needed = _needed(directory, space, policy, until_room=until_room) if directory.is_serving else 0
        # What one directory frees on a volume, the others on it have as well.
        if needed > 0 and not any(other in found for other in sharing[place]):
            found[place] = needed
    return found


def _room_beside(needed: Mapping[LogDirId, int], snapshot: ClusterSnapshot, policy: Policy) -> dict[LogDirId, int]:
    """Return what other directories can take and last until there is more space: as when brokers were just added."""
    space, sharing, limits = Space(snapshot), volumes(snapshot), policy.limits
    found: dict[LogDirId, int] = {}
    for place, directory in sorted(snapshot.directories.items()):
        used, total = space.used_bytes(place), directory.total_bytes
        if used is None or total is None or any(other in {*needed, *found} for other in (place, *sharing[place])):
            continue
        closed = [replica_vetoes.destination_not_serving(directory), replica_vetoes.destination_closed(directory)]
        if snapshot.is_alive(directory.broker) and replica_vetoes.first(closed) is None:
            grows = grown_bytes(directory.endless_bytes_per_s, directory.ramps, limits.fleet_cuts_last_ms)
            found[place] = max(0, int(limits.target_ratio * total - used - grows))
    return {place: room for place, room in found.items() if room}


def _fit(needed: Mapping[LogDirId, int], beside: Mapping[LogDirId, int], snapshot: ClusterSnapshot) -> bool:
    """Tell whether every directory can move what it needs: no broker takes a second replica of a partition."""
    rooms, taking = {broker for broker, _ in beside}, set[int]()
    for (broker, path), size_bytes in needed.items():
        moved = 0
        for replica in snapshot.replicas_in((broker, path)):
            partition = snapshot.partitions.get(replica.key)
            # Its own broker may take it, into another directory: no replica is added by that.
            takers = rooms - set(rooms if partition is None else partition.replicas) | rooms & {broker}
            moved += (replica.size_bytes or 0) if takers else 0
            taking |= takers
        if moved < size_bytes:
            return False
    return 0 < sum(needed.values()) <= sum(room for (broker, _), room in beside.items() if broker in taking)


def _fits(missing: int, places: Sequence[LogDir], beside: Mapping[LogDirId, int]) -> str:
    return (
        f"the {human_bytes(missing)} that {counted(len(places), 'directory needs', 'directories need')} fit into "
        f"{counted(len(beside), 'other', 'others')}: move them there, as the alerts about these directories propose, "
        "and delete nothing"
    )


def _needed(directory: LogDir, space: Space, policy: Policy, *, until_room: bool) -> int:
    above = needed_bytes(directory, space, policy)
    if above is None or above <= 0 or directory.outlook_bytes_per_s is None or not until_room:
        return above or 0
    lasting = int(grown_bytes(directory.endless_bytes_per_s, directory.ramps, policy.limits.fleet_cuts_last_ms))
    used = space.used_bytes(directory.place) or 0
    return min(above, lasting - ((directory.total_bytes or 0) - used))


def _what_is_missing(
    left: int,
    missing: int,
    places: list[LogDir],
    snapshot: ClusterSnapshot,
    policy: Policy,
    reasons: list[str],
    cuts: str,
) -> str:
    """Say whether the cuts are enough, and what would provide the rest."""
    if not places:
        above = sum(shortage(snapshot, policy, until_room=False).values())
        lasts = f"every directory lasts until there is room, so delete nothing; add {_room(above, snapshot, policy)}"
        return lasts if above else _below_target(snapshot, policy)
    if left <= 0:
        where = counted(len(places), "directory needs", "directories need")
        room = _room(missing, snapshot, policy)
        return f"{cuts} free the {human_bytes(missing)} that {where}; to delete nothing, add {room}"
    why = f"; {'; '.join(reasons)}" if reasons else ""
    part, whole = human_parts(left, missing)
    what = whole if left == missing else f"{part} of {whole}"
    return f"{what} fit nowhere{why}; add {_room(left, snapshot, policy)}"


def _below_target(snapshot: ClusterSnapshot, policy: Policy) -> str:
    """Say what is missing where directories fill although none is above the target ratio: nothing is deleted for it."""
    short = [size for one in snapshot.directories.values() if one.is_serving and (size := short_bytes(one, policy)) > 0]
    if not short:
        return "no directory is above the target ratio now"
    full = counted(len(short), "directory that is", "directories that are")
    within = human_ms(policy.limits.fleet_cuts_last_ms)
    return f"{full} below the target ratio will be full within {within}: add {_room(sum(short), snapshot, policy)}"


def _room(missing: int, snapshot: ClusterSnapshot, policy: Policy) -> str:
    """Return the new room that takes so many bytes."""
    size = sum(directory.total_bytes or 0 for directory in snapshot.directories.values()) // max(
        1, len(snapshot.brokers)
    )
    brokers = -(-int(missing / policy.limits.target_ratio) // size) if size else 0
    like = counted(brokers, "broker like", "brokers like")
    return f"{like} the present ones, or {human_bytes(missing)} more on volumes and disks"


RESPONSE = Response(
    runbook=Runbook(
        "many directories will fill together: moving data between them only shifts the problem; cut retention or add "
        "disks",
        (describe_all_log_dirs,),
    ),
    propose=propose,
    ends_when="the cluster has had enough room for ten minutes",
)
