"""Running moves off a directory: what they free, and whether that is in time.

Their bytes are free only when the copy is complete and the old files are deleted. What is freed in time need not be
moved or deleted again; late moves do not count.
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import NamedTuple

from logdirwatch.model.vocabulary import FOLLOWER_THROTTLE, LEADER_THROTTLE, LOG_DIR_THROTTLE
from logdirwatch.plan.actions.parts import check
from logdirwatch.plan.capacity import copy_rates
from logdirwatch.plan.capacity.projected_use import in_flight_bytes
from logdirwatch.plan.capacity.timing import delete_delay_ms, in_time, place_target, time_to_full_ms
from logdirwatch.plan.cluster.layout import MOST_MS, LogDirId, Partition, Replica, grown_bytes
from logdirwatch.plan.cluster.snapshot import ClusterSnapshot, LogDir
from logdirwatch.plan.commands.kafka_tools import REASSIGN
from logdirwatch.plan.proposal import NAMED, Policy, ProposedAction
from logdirwatch.plan.reassignment.running_copies import dead_end, running_copies
from logdirwatch.text.units import human_bytes, human_ms, human_rate
from logdirwatch.text.words import some_of

STEP = "under_way"


class Relief(NamedTuple):
    """A replica that is being moved off a directory: its destination, the bytes that it still has to copy and frees."""

    replica: Replica
    destinations: tuple[LogDirId, ...]
    is_between: bool
    remaining_bytes: int
    frees_bytes: int


class RunningMoves(NamedTuple):
    """All running moves off a directory: when they end, at which rate, and whether that is in time.

    ``needs_ms`` None: nothing is copied any more.
    """

    reliefs: tuple[Relief, ...]
    needs_ms: int | None
    bytes_per_s: int
    is_in_time: bool

    @property
    def frees_bytes(self) -> int:
        """The bytes that the directory gains."""
        return sum(relief.frees_bytes for relief in self.reliefs)


def under_way(source: LogDir, snapshot: ClusterSnapshot, policy: Policy) -> RunningMoves:
    """Return the running moves off a directory; all of their bytes count as free when the last one ends."""
    reliefs = tuple(_reliefs(source, snapshot))
    rate = min((_rate(relief, snapshot, policy) for relief in reliefs), default=0)
    remaining = sum(relief.remaining_bytes for relief in reliefs)
    if rate <= 0:
        return RunningMoves(reliefs, None, 0, is_in_time=False)
    needs_ms = remaining * 1000 // rate + delete_delay_ms(source.broker, snapshot)
    left_ms = time_to_full_ms(source)
    return RunningMoves(reliefs, needs_ms, rate, left_ms is None or needs_ms < left_ms)


def with_running_moves(source: LogDir, snapshot: ClusterSnapshot, policy: Policy) -> tuple[LogDir, RunningMoves]:
    """Return a directory with the bytes that running copies add and take, and the moves off it.

    What its growth until its replicas have caught up adds already does not count twice.
    """
    grown = grown_bytes(0.0, (ramp for ramp in source.ramps if not ramp.topic), MOST_MS)
    incoming = max(source.incoming_bytes or 0, in_flight_bytes(snapshot).get(source.place, 0) - round(grown))
    counted = replace(source, incoming_bytes=incoming)
    running = under_way(counted, snapshot, policy)
    relief_bytes = source.relief_bytes + (running.frees_bytes if running.is_in_time else 0)
    return replace(counted, relief_bytes=relief_bytes), running


def propose_watch(source: LogDir, running: RunningMoves, policy: Policy, *, is_enough: bool) -> ProposedAction:
    """Return the advice to let running moves continue, or to speed them up if they are late."""
    names = some_of([f"{r.replica.topic}-{r.replica.partition}" for r in running.reliefs], NAMED)
    pace = "if they go on, but they stand still"
    if running.needs_ms is not None:
        pace = f"in {human_ms(running.needs_ms)} if they go on at {human_rate(running.bytes_per_s)}"
    what = f"moves that run already ({names}) free {human_bytes(running.frees_bytes)} of {source.path} {pace}"
    reason = f"{what}: {_what_to_do(source, running, is_enough=is_enough)}"
    commands = [policy.tools.call(REASSIGN, "--list")]
    expected = {"frees_bytes": 0, "needs_ms": running.needs_ms, "under_way_bytes": running.frees_bytes}
    watch = check(place_target(source), STEP, reason, commands, **expected)
    if running.needs_ms is None:
        return watch
    return replace(watch, preconditions=(in_time(replace(source, relief_bytes=0), running.needs_ms),))


def _what_to_do(source: LogDir, running: RunningMoves, *, is_enough: bool) -> str:
    if running.is_in_time:
        return "that is in time and enough, so watch them and start nothing else" if is_enough else "let them go on"
    left_ms = time_to_full_ms(source)
    if left_ms is None:
        return "find out what holds them back"
    remaining = sum(relief.remaining_bytes for relief in running.reliefs)
    wanted = remaining * 1000 // max(1, int(left_ms * copy_rates.SHARE_OF_TIME_LEFT))
    return f"too late; if a limit holds them back, {human_rate(wanted)} would be in time"


def _reliefs(source: LogDir, snapshot: ClusterSnapshot) -> Iterable[Relief]:
    coming = {(copy.replica.key, copy.replica.broker): copy for copy in running_copies(snapshot)}
    for replica in snapshot.replicas_in(source.place):
        partition = snapshot.partitions.get(replica.key)
        copy = coming.get((replica.key, replica.broker))
        if partition is None or not replica.size_bytes:
            continue
        if copy is not None and copy.replica.is_future and copy.destination != source.place:
            frees_bytes = snapshot.on_disk_bytes(source.place, replica.size_bytes)
            yield Relief(replica, (copy.destination,), False, copy.remaining_bytes, frees_bytes)
        elif source.broker in (partition.removing or ()) and dead_end(partition, snapshot) is None:
            yield _leaving(replica, partition, snapshot)


def _leaving(replica: Replica, partition: Partition, snapshot: ClusterSnapshot) -> Relief:
    """Return a replica that a reassignment removes once all new ones are in sync."""
    size, places, remaining = snapshot.layout.size_of(partition.key) or 0, [], 0
    for broker in partition.adding or ():
        here = [other for other in snapshot.replicas_of(partition.key) if other.broker == broker]
        places += [other.place for other in here]
        remaining += max(0, size - sum(other.size_bytes or 0 for other in here))
    frees_bytes = snapshot.on_disk_bytes(replica.place, replica.size_bytes or 0)
    return Relief(replica, tuple(places), True, remaining, frees_bytes)


def _rate(relief: Relief, snapshot: ClusterSnapshot, policy: Policy) -> int:
    """Return the rate of a copy: as observed, else its throttle, else the usual rate."""
    seen = copy_rates.seen_rate(relief.destinations, snapshot) if relief.destinations else None
    if seen is not None:
        return int(seen)
    usual = policy.limits
    return min(
        (limit for _, _, limit in copy_rates.foreign(_keys_of(relief, snapshot), snapshot)),
        default=usual.replication_throttle_bytes_per_s if relief.is_between else usual.log_dir_throttle_bytes_per_s,
    )


def _keys_of(relief: Relief, snapshot: ClusterSnapshot) -> dict[int, list[str]]:
    """Return by broker the throttle keys of a copy: on the receiver, and on the leader that sends it (KIP-73)."""
    arrives = FOLLOWER_THROTTLE if relief.is_between else LOG_DIR_THROTTLE
    keys = {broker: [arrives] for broker, _ in relief.destinations}
    leader = snapshot.partitions[relief.replica.key].leader
    if relief.is_between and leader is not None:
        keys.setdefault(leader, []).append(LEADER_THROTTLE)
    return keys
