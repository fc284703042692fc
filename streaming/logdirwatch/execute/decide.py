"""What to do next about one step, from what the cluster shows now: the same after a start, a wait or a kill."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from logdirwatch.execute.seen import Held, PartitionSeen, Seen
from logdirwatch.execute.steps import Move, SetConfig, Step, Throttle
from logdirwatch.plan.cluster.assignment import ANY, Assignment
from logdirwatch.plan.cluster.layout import TopicPartition
from logdirwatch.plan.commands.throttles import Limit


@dataclass(frozen=True)
class ChangeConfig:
    """A call: set one value of an entity, or delete it (None)."""

    entity: str
    name: str
    key: str
    value: str | None


@dataclass(frozen=True)
class PlaceReplicas:
    """A call: AlterReplicaLogDirs. A replica that is not there yet is refused with 9, and born there all the same."""

    paths: Mapping[Held, str]


@dataclass(frozen=True)
class Reassign:
    """A call: AlterPartitionReassignments; None cancels what runs."""

    replicas: Mapping[TopicPartition, tuple[int, ...] | None]


Call = ChangeConfig | PlaceReplicas | Reassign


@dataclass(frozen=True)
class Progress:
    """Bytes of the copies of one step, and its partitions that are where they are to be."""

    copied_bytes: int
    total_bytes: int
    reached: int
    of: int


@dataclass(frozen=True)
class Do:
    """Make these calls, in this order; ``limits`` are those that they set."""

    calls: tuple[Call, ...]
    limits: tuple[Limit, ...] = ()


@dataclass(frozen=True)
class Wait:
    """Look again later."""

    progress: Progress
    why: str | None = None


@dataclass(frozen=True)
class Reached:
    """The step is done; ``told`` are lines for people."""

    told: tuple[str, ...] = ()


@dataclass(frozen=True)
class Stuck:
    """Nothing may be done: a person has to look."""

    reason: str


Next = Do | Wait | Reached | Stuck


def decide(step: Step, seen: Seen, ours: Sequence[Limit]) -> Next:
    """Return what is to be done about a step; ``ours`` are the limits that this execution has noted as its own."""
    if isinstance(step, SetConfig):
        return _of_config(step, seen)
    if isinstance(step, Throttle):
        return _of_throttle(step, seen, ours)
    return _of_move(step, seen)


def calls_to_cancel(step: Move, seen: Seen) -> tuple[Call, ...]:
    """Return the calls that end the copies of a step that run; what has moved stays where it is.

    A reassignment is cancelled only where all of the old replicas are in sync: elsewhere it would lose data.
    """
    replicas: dict[TopicPartition, tuple[int, ...] | None] = {}
    paths: dict[Held, str] = {}
    for one in step.there:
        partition, here = seen.partitions.get(one.key), step.here[one.key]
        if partition is not None and _can_be_cancelled(one, here, partition):
            replicas[one.key] = None
        for broker, path in one.chosen:
            held = (*one.key, broker)
            copy, future = seen.replicas.get(held), seen.futures.get(held)
            if copy is not None and future is not None and future.path == path != copy.path:
                paths[held] = copy.path
    return (*([PlaceReplicas(paths)] if paths else []), *([Reassign(replicas)] if replicas else []))


def _can_be_cancelled(one: Assignment, here: Assignment, partition: PartitionSeen) -> bool:
    is_ours = bool(partition.adding or partition.removing) and set(partition.goal) == set(one.replicas)
    return is_ours and set(here.replicas) <= set(partition.isr)


def limits_to_clear(ours: Sequence[Limit], seen: Seen) -> list[ChangeConfig]:
    """Return the calls that delete those of our limits that still have our value."""
    return [ChangeConfig(one.entity, one.name, one.key, None) for one in ours if _value_of(one, seen) == one.value]


def _of_config(step: SetConfig, seen: Seen) -> Next:
    now = seen.configs.get((step.entity, step.name), {}).get(step.key)
    if _same(now, step.value):
        return Reached()
    if not any(_same(now, before) for before in step.before):
        return Stuck(
            f"{step.key} of {step.name} is {now or 'not set'}, not {_any_of(step.before)} as planned: somebody "
            "changed it, and it stays"
        )
    return Do((ChangeConfig(step.entity, step.name, step.key, step.value),))


def _of_throttle(step: Throttle, seen: Seen, ours: Sequence[Limit]) -> Next:
    missing = [one for one in step.limits if _value_of(one, seen) is None]
    if missing:
        return Do(tuple(ChangeConfig(*one) for one in missing), tuple(missing))
    foreign = [one for one in step.limits if one not in ours or _value_of(one, seen) != one.value]
    return Reached(
        tuple(f"{one.key} of {one.name} is set by somebody else ({_value_of(one, seen)}) and stays" for one in foreign)
    )


def _of_move(step: Move, seen: Seen) -> Next:
    """Place replicas before they are born: Kafka's tool assigns first, and they are born in the wrong directory."""
    paths: dict[Held, str] = {}
    replicas: dict[TopicPartition, tuple[int, ...] | None] = {}
    waits: list[str] = []
    for one in step.there:
        here = step.here[one.key]
        partition = seen.partitions.get(one.key)
        if partition is None:
            return Stuck(f"{one.label} does not exist any more")
        found = _of_partition(one, here, partition, seen)
        if found.stuck is not None:
            return Stuck(found.stuck)
        paths.update(found.paths)
        if found.reassign is not _NOTHING:
            replicas[one.key] = found.reassign
        if found.waits is not None:
            waits.append(found.waits)
    calls: tuple[Call, ...] = (
        *([PlaceReplicas(paths)] if paths else []),
        *([Reassign(replicas)] if replicas else []),
    )
    if calls:
        return Do(calls)
    return Wait(progress(step, seen), waits[0]) if waits else Reached()


_NOTHING: tuple[int, ...] = ()


@dataclass
class _Found:
    """What one partition needs."""

    paths: dict[Held, str] = field(default_factory=dict)
    reassign: tuple[int, ...] | None = _NOTHING
    waits: str | None = None
    stuck: str | None = None


def _of_partition(one: Assignment, here: Assignment, partition: PartitionSeen, seen: Seen) -> _Found:
    found = _Found()
    _reassignment(one, here, partition, found)
    if found.stuck is not None or found.reassign is None:
        # What runs the other way is cancelled first; directories are looked at once that is over.
        return found
    for broker, path in one.chosen:
        _placement((one, here), (broker, path), seen, found)
        if found.stuck is not None:
            return found
    behind = [broker for broker in one.replicas if broker not in partition.isr]
    if found.waits is None and behind:
        found.waits = f"{one.label}: replica on broker {behind[0]} is not in sync yet"
    return found


def _reassignment(one: Assignment, here: Assignment, partition: PartitionSeen, found: _Found) -> None:
    if partition.adding or partition.removing:
        if set(partition.goal) == set(one.replicas):
            found.waits = f"{one.label} is being copied"
        elif set(partition.goal) == set(here.replicas):
            found.reassign = None
        else:
            found.stuck = f"somebody else reassigns {one.label} to {list(partition.goal)}"
    elif partition.replicas == here.replicas != one.replicas:
        found.reassign = one.replicas
    elif partition.replicas != one.replicas:
        found.stuck = f"the replicas of {one.label} are {list(partition.replicas)}: somebody else changed them"


def _placement(pair: tuple[Assignment, Assignment], place: tuple[int, str], seen: Seen, found: _Found) -> None:
    (one, here), (broker, path) = pair, place
    held = (*one.key, broker)
    old = here.directory_of(broker) if broker in here.replicas else None
    if broker in seen.silent:
        found.waits = f"broker {broker} does not answer"
        return
    if (error := seen.log_dirs.get(place)) is None:
        found.stuck = f"broker {broker} has no log directory {path}"
        return
    if error:
        found.stuck = f"{path} of broker {broker} is offline (error {error})"
        return
    copy, future = seen.replicas.get(held), seen.futures.get(held)
    if copy is None:
        _unborn(held, place, (seen.log_dirs.get((broker, old)) if old else None, old), found)
    elif copy.path == path and (future is None or future.path == path):
        return
    elif future is not None and future.path == path:
        found.waits = f"{one.label} is being copied to {path}"
    elif future is not None and not (copy.path == path and future.path == old):
        found.stuck = f"somebody else moves {one.label} to {future.path} of broker {broker}"
    elif old is None or old == ANY or copy.path in {old, path}:
        found.paths[held] = path
    else:
        found.stuck = f"{one.label} is in {copy.path} of broker {broker}: somebody else moved it"


def _unborn(held: Held, place: tuple[int, str], source: tuple[int | None, str | None], found: _Found) -> None:
    """Place a replica that its broker has not yet, together with the reassignment that brings it."""
    broker, path = place
    if source[0]:
        found.stuck = f"{source[1]} of broker {broker}, where the replica is, is offline"
    elif found.reassign:
        found.paths[held] = path
    else:
        found.waits = f"broker {broker} does not have its replica of {held[0]}-{held[1]} yet"


def progress(step: Move, seen: Seen) -> Progress:
    """Return how far the copies of a step are."""
    copied = total = reached = 0
    for one in step.there:
        here, partition = step.here[one.key], seen.partitions.get(one.key)
        sizes = [copy.size_bytes for held, copy in seen.replicas.items() if held[:2] == one.key]
        whole, is_there = max(sizes, default=0), partition is not None and not partition.adding
        for broker, target in zip(one.replicas, one.log_dirs, strict=True):
            added = broker not in here.replicas
            if not added and (target == ANY or target == here.directory_of(broker)):
                continue
            done = _copied((*one.key, broker), target, seen, added=added)
            total, copied = total + whole, copied + min(done, whole)
            is_there = is_there and _is_in((*one.key, broker), target, seen)
        reached += is_there
    return Progress(copied, total, reached, len(step.there))


def _copied(held: Held, target: str, seen: Seen, *, added: bool) -> int:
    copy, future = seen.replicas.get(held), seen.futures.get(held)
    if future is not None and future.path == target:
        return future.size_bytes
    return copy.size_bytes if copy is not None and (added or copy.path == target) else 0


def _is_in(held: Held, target: str, seen: Seen) -> bool:
    copy = seen.replicas.get(held)
    return copy is not None and target in {ANY, copy.path}


def _value_of(one: Limit, seen: Seen) -> str | None:
    return seen.configs.get((one.entity, one.name), {}).get(one.key)


def _same(found: str | None, wanted: str | None) -> bool:
    """Compare two values; Kafka shows a list that is deleted as an empty text."""
    return (found or None) == (wanted or None)


def _any_of(values: Sequence[str | None]) -> str:
    return " or ".join(value or "unset" for value in values)
