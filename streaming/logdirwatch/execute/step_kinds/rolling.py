"""A move whose copies begin one after the other: which run, which are there, and which may begin now.

A partition has one copy at a time. What is decided is therefore a move of that one: the copies that wait stand where
they were, those that are there where they are to be.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import NamedTuple

from logdirwatch.execute.seen import Held, PartitionSeen, Seen
from logdirwatch.plan.cluster.assignment import ANY, Assignment
from logdirwatch.plan.cluster.layout import LogDirId, TopicPartition
from logdirwatch.plan.reassignment.rolling import Copy, Occupied, lanes_of


class Part(NamedTuple):
    """One copy: the replica at a position of its partition, its size, and the directories."""

    key: TopicPartition
    at: int
    size_bytes: int
    source: LogDirId
    target: LogDirId

    @property
    def held(self) -> Held:
        """The replica where it is to be."""
        return *self.key, self.target[0]

    @property
    def is_within(self) -> bool:
        """Whether it stays on its broker."""
        return self.source[0] == self.target[0]


@dataclass(frozen=True)
class Rolling:
    """Every copy in the order in which they begin, the room before the first, and the rates.

    ``settled`` are replicas whose old files are deleted by now; while it ``rests``, nothing begins.
    """

    parts: tuple[Part, ...]
    room: Mapping[LogDirId, int]
    within_bytes_per_s: int
    between_bytes_per_s: int
    settle_ms: int
    settled: frozenset[Held] = field(default=frozenset())
    rests: bool = False
    others: frozenset[Held] = field(default=frozenset())
    """Replicas that are none of its own: they stay wherever they are."""

    def only(self, changed: Collection[object]) -> "Rolling":
        """Return it without the copies that were not made: each is named where it was to be, or where it comes from."""
        mine = {part.held for part in self.parts if {part.key, part.held, (*part.key, part.source[0])} & {*changed}}
        return replace(self, others=frozenset(part.held for part in self.parts if part.held not in mine))


RESTS = "waits until old copies are deleted"


class _State(Enum):
    WAITS = "waits"
    STAYS = "stays"
    """It is none of its own, and where it was."""
    RUNS = "runs"
    """Its call was made, or what is seen of it is for the move to decide."""
    THERE = "there"


class Present(NamedTuple):
    """What is decided now, and why the rest waits; None: nothing does."""

    there: tuple[Assignment, ...]
    here: Mapping[TopicPartition, Assignment]
    waits: str | None


def present(
    there: Collection[Assignment],
    here: Mapping[TopicPartition, Assignment],
    rolling: Rolling,
    seen: Seen,
    begun: Collection[object],
) -> Present:
    """Return what of a move is decided now; what is ``begun`` and neither runs nor is there was cancelled."""
    wanted = {one.key: one for one in there}
    states = {part.held: _own_state(part, rolling, seen, begun) for part in rolling.parts if part.key in wanted}
    waits = _begin(rolling, seen, states)
    by_key: dict[TopicPartition, list[Part]] = {}
    for part in rolling.parts:
        if part.key in wanted:
            by_key.setdefault(part.key, []).append(part)
    decided = {
        key: parts
        for key, parts in by_key.items()
        if any(states[part.held] is _State.RUNS for part in parts)
        or all(states[part.held] in {_State.THERE, _State.STAYS} for part in parts)
        or _is_reassigned(seen.partitions.get(key))
    }
    bases = {key: _base(wanted[key], here[key], parts, states, seen) for key, parts in decided.items()}
    goals = []
    for key, parts in decided.items():
        goal = _goal(wanted[key], here[key], parts, states)
        is_kept = not any(_orders(part, states, rolling) for part in parts) and {*goal.replicas} == {
            *bases[key].replicas
        }
        goals.append(_in_order(goal, bases[key].replicas) if is_kept else goal)
    return Present(tuple(goals), bases, waits)


def _orders(part: Part, states: Mapping[Held, _State], rolling: Rolling) -> bool:
    """Tell whether a copy of its own may have given its partition another order of replicas."""
    is_made = states[part.held] in {_State.RUNS, _State.THERE} and part.held not in rolling.others
    return is_made and not part.is_within


def _in_order(one: Assignment, replicas: tuple[int, ...]) -> Assignment:
    paths = dict(zip(one.replicas, one.log_dirs, strict=True))
    return Assignment(*one.key, replicas, tuple(paths[broker] for broker in replicas))


def are_there(rolling: Rolling, seen: Seen) -> frozenset[Held]:
    """Return the replicas that are where they are to be, and in sync."""
    return frozenset(part.held for part in rolling.parts if _state(part, seen, ()) is _State.THERE)


def running(rolling: Rolling, seen: Seen) -> frozenset[Held]:
    """Return the replicas that are being copied to where they are to be."""
    found = set[Held]()
    for part in rolling.parts:
        partition, future = seen.partitions.get(part.key), seen.futures.get(part.held)
        is_added = partition is not None and part.target[0] in partition.adding
        if (future is not None and future.path == part.target[1]) if part.is_within else is_added:
            found.add(part.held)
    return frozenset(found)


def _own_state(part: Part, rolling: Rolling, seen: Seen, begun: Collection[object]) -> _State:
    if part.held not in rolling.others:
        return _state(part, seen, begun)
    partition, copy = seen.partitions.get(part.key), seen.replicas.get(part.held)
    if part.is_within:
        return _State.THERE if copy is not None and copy.path == part.target[1] else _State.STAYS
    return _State.THERE if partition is not None and part.target[0] in partition.goal else _State.STAYS


def _state(part: Part, seen: Seen, begun: Collection[object]) -> _State:
    partition, copy, future = seen.partitions.get(part.key), seen.replicas.get(part.held), seen.futures.get(part.held)
    if partition is None or (part.is_within and part.target[0] in seen.silent):
        return _State.RUNS
    waits = _State.RUNS if part.held in begun else _State.WAITS
    is_placed = copy is not None and future is None and copy.path == part.target[1]
    if not part.is_within:
        new, old = part.target[0], part.source[0]
        if {new, old} & set(partition.adding):
            return _State.RUNS
        if new in partition.goal:
            return _State.THERE if is_placed and new in partition.isr else _State.RUNS
        return waits if old in partition.goal else _State.RUNS
    if is_placed:
        return _State.THERE
    return waits if copy is not None and future is None and copy.path == part.source[1] else _State.RUNS


def _is_reassigned(partition: PartitionSeen | None) -> bool:
    return partition is not None and bool(partition.adding or partition.removing)


def _begin(rolling: Rolling, seen: Seen, states: dict[Held, _State]) -> str | None:
    """Let what may begin run; return why the first of the others waits.

    Nothing overtakes what waits for the same directory: what is first in order always finds its room in the end.
    """
    occupied, copies = Occupied(rolling.room), _copies(rolling, seen)
    for part in rolling.parts:
        if states.get(part.held, _State.THERE) is _State.THERE:
            occupied.begin(copies[part.held])
            occupied.end(copies[part.held])
        if part.held in rolling.settled or part.held not in states:
            occupied.room[part.source] += part.size_bytes
    for part in rolling.parts:
        if states.get(part.held) is _State.RUNS:
            occupied.begin(copies[part.held])
    why, awaited = None, set[LogDirId]()
    for part in rolling.parts:
        if states.get(part.held) is not _State.WAITS:
            continue
        copy = copies[part.held]
        may = not rolling.rests and part.target not in awaited and part.target[0] not in seen.silent
        if may and occupied.may_begin(copy):
            occupied.begin(copy)
            states[part.held] = _State.RUNS
            continue
        awaited.add(part.target)
        why = why or (RESTS if rolling.rests else _why(part, copy, seen, occupied))
    return why


def _why(part: Part, copy: Copy[LogDirId], seen: Seen, occupied: Occupied[LogDirId]) -> str:
    name, (broker, path) = f"{part.key[0]}-{part.key[1]}", part.target
    if broker in seen.silent:
        return f"broker {broker}, where {name} goes, does not answer"
    if copy.size_bytes > occupied.room[part.target]:
        return f"{name} waits for room in {path} of broker {broker}"
    return f"{name} waits for its brokers"


def _copies(rolling: Rolling, seen: Seen) -> Mapping[Held, Copy[LogDirId]]:
    """Return what copies occupy, each at least at its present size; the leader sends it."""
    sizes: dict[TopicPartition, int] = {}
    for (topic, number, _), copy in seen.replicas.items():
        sizes[topic, number] = max(copy.size_bytes, sizes.get((topic, number), 0))
    found = {}
    for part in rolling.parts:
        partition, size = seen.partitions.get(part.key), max(part.size_bytes, sizes.get(part.key, 0))
        leader = None if partition is None else partition.leader
        rate = rolling.within_bytes_per_s if part.is_within else rolling.between_bytes_per_s
        lanes = lanes_of(part.source[0], part.target[0], part.source[0] if leader is None else leader)
        found[part.held] = Copy(part.key, lanes, size * 1000 // rate, size, part.source, part.target)
    return found


def _goal(one: Assignment, here: Assignment, parts: Collection[Part], states: Mapping[Held, _State]) -> Assignment:
    """Return where a partition goes now: what waits stays where it is."""
    stays = {part.at for part in parts if states[part.held] in {_State.WAITS, _State.STAYS}}
    return _mixed(one, here, stays, ANY)


def _base(
    one: Assignment, here: Assignment, parts: Collection[Part], states: Mapping[Held, _State], seen: Seen
) -> Assignment:
    """Return where a partition is now, in the order that a cancelled copy has left."""
    came = {part.at for part in parts if states[part.held] is _State.THERE}
    base = _mixed(here, one, came, None)
    partition = seen.partitions.get(one.key)
    if partition is None or partition.replicas == base.replicas:
        return base
    for part in parts:
        for side in (one, here):
            cancelled = _mixed(base, side, {part.at}, None)
            if left_by_cancel(base, cancelled) == partition.replicas:
                return _in_order(base, partition.replicas)
    return base


def _mixed(one: Assignment, other: Assignment, others: Collection[int], path: str | None) -> Assignment:
    """Return an assignment with some positions of another one, there with a path, or its own (None)."""
    replicas, log_dirs = list(one.replicas), list(one.log_dirs)
    for at in others:
        replicas[at], log_dirs[at] = other.replicas[at], other.log_dirs[at] if path is None else path
    return Assignment(*one.key, tuple(replicas), tuple(log_dirs))


def left_by_cancel(kept: Assignment, cancelled: Assignment) -> tuple[int, ...]:
    """Return the order of replicas after a cancellation, which may differ from the one before the reassignment.

    Kafka puts the target replicas first, then those to be removed, and a cancellation removes the new ones (Kafka 4.3.1
    ``PartitionReassignmentReplicas``, ``PartitionReassignmentRevert``).
    """
    merged = dict.fromkeys((*cancelled.replicas, *kept.replicas))
    return tuple(broker for broker in merged if broker in kept.replicas)
