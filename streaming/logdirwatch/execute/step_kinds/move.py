"""Moves of partitions: placed before they are reassigned, waited for, or cancelled."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field

from logdirwatch.execute.calls import Call, Do, Next, PlaceReplicas, Progress, Reached, Reassign, Stuck, Wait, not_shown
from logdirwatch.execute.seen import Held, PartitionSeen, Seen
from logdirwatch.execute.step_kinds.rolling import Rolling, left_by_cancel
from logdirwatch.plan.cluster.assignment import ANY, Assignment
from logdirwatch.plan.cluster.layout import TopicPartition
from logdirwatch.text.words import some_of


@dataclass(frozen=True)
class Move:
    """Partitions with their present and their intended replicas; ``rolling`` None: all of them begin at once."""

    there: tuple[Assignment, ...]
    here: Mapping[TopicPartition, Assignment]
    rolling: Rolling | None = None

    def __str__(self) -> str:
        if self.rolling is not None:
            return f"move {some_of(self.lines, 3)}, each once its brokers and directories are free"
        return f"move {', '.join(self.lines)}"

    @property
    def lines(self) -> list[str]:
        """Its partitions with their places, for people."""
        return [f"{one.label} to {_places(one)}" for one in self.there]

    @property
    def keys(self) -> tuple[TopicPartition, ...]:
        """Its partitions."""
        return tuple(one.key for one in self.there)

    @property
    def brokers(self) -> frozenset[int]:
        """Every broker that has, sends or receives a replica."""
        found = {broker for one in (*self.there, *self.here.values()) for broker in one.replicas}
        return frozenset(found)


def decide(step: Move, seen: Seen) -> Next:
    """Return what to do: place replicas before they are created.

    Kafka's own tool assigns first, so that they may be created in the wrong directory.
    """
    paths: dict[Held, str] = {}
    replicas: dict[TopicPartition, tuple[int, ...] | None] = {}
    waits: list[str] = []
    for one in step.there:
        here = step.here[one.key]
        partition = seen.partitions.get(one.key)
        if partition is None:
            return Stuck(not_shown(one.label))
        found = _of_partition(one, here, partition, seen)
        if found.stuck is not None:
            return Stuck(found.stuck, is_certain=found.is_certain)
        if found.waits is not None:
            waits.append(found.waits)
        if found.is_silent and found.reassign:
            # It is placed before it is assigned, by the broker that is silent.
            continue
        paths.update(found.paths)
        if found.reassign is not _NOTHING:
            replicas[one.key] = found.reassign
    if calls := _calls(step, paths, replicas):
        return Do(calls)
    return Wait(progress(step, seen), waits[0]) if waits else Reached()


def _calls(
    step: Move, paths: dict[Held, str], replicas: dict[TopicPartition, tuple[int, ...] | None]
) -> tuple[Call, ...]:
    grown = {key: found for key, found in replicas.items() if found and len(found) != len(step.here[key].replicas)}
    same = {key: found for key, found in replicas.items() if key not in grown}
    return (
        *([PlaceReplicas(paths)] if paths else []),
        *([Reassign(same)] if same else []),
        *([Reassign(grown, changes_factor=True)] if grown else []),
    )


_NOTHING: tuple[int, ...] = ()


@dataclass
class _Found:
    """What one partition needs."""

    paths: dict[Held, str] = field(default_factory=dict)
    reassign: tuple[int, ...] | None = _NOTHING
    waits: str | None = None
    is_silent: bool = False
    stuck: str | None = None
    is_certain: bool = True


def _of_partition(one: Assignment, here: Assignment, partition: PartitionSeen, seen: Seen) -> _Found:
    found = _Found()
    if not _reassignment(one, here, partition, found):
        return found
    for broker, path in one.chosen:
        is_kept = broker in partition.replicas and broker not in partition.adding
        _placement((one, here), (broker, path), seen, found, is_kept=is_kept)
        if found.stuck is not None:
            return found
    # A copy within a broker neither waits for the other brokers' replicas nor brings them back in sync.
    waited_for = one.replicas if set(one.replicas) != set(here.replicas) else [broker for broker, _ in one.chosen]
    behind = [broker for broker in waited_for if broker not in partition.isr]
    if found.waits is None and behind:
        found.waits = f"{one.label}: replica on broker {behind[0]} is not in sync yet"
    return found


def _reassignment(one: Assignment, here: Assignment, partition: PartitionSeen, found: _Found) -> bool:
    """Tell whether directories are looked at: not before what runs the other way is over."""
    if partition.adding or partition.removing:
        if set(partition.goal) == set(one.replicas):
            found.waits = f"{one.label} is being copied"
            return True
        if set(partition.goal) != set(here.replicas):
            found.stuck = f"somebody else reassigns {one.label} to {list(partition.goal)}"
        elif partition.can_be_cancelled:
            found.reassign = None
        else:
            found.waits = f"none of the replicas that {one.label} had is in sync"
        return False
    if partition.replicas == one.replicas:
        return True
    if partition.replicas not in {here.replicas, left_by_cancel(here, one), left_by_cancel(one, here)}:
        found.stuck = f"the replicas of {one.label} are {list(partition.replicas)}: somebody else changed them"
        # Two looks in a row show it: a broker's metadata are a little older than what the controller has ended.
        found.is_certain = False
        return False
    found.reassign = one.replicas
    return True


def _placement(
    pair: tuple[Assignment, Assignment], place: tuple[int, str], seen: Seen, found: _Found, *, is_kept: bool
) -> None:
    (one, here), (broker, path) = pair, place
    held = (*one.key, broker)
    old = here.directory_of(broker) if broker in here.replicas else None
    if broker in seen.silent:
        found.waits, found.is_silent = f"broker {broker} does not answer", True
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
    elif old in {ANY, copy.path} or copy.path == path or (old is None and found.reassign and not is_kept):
        # On the way back a replica that was not dropped yet is where it was, or where somebody else moved it.
        found.paths[held] = path
    else:
        found.stuck = f"{one.label} is in {copy.path} of broker {broker}: somebody moved it, or the broker chose it"


def _unborn(held: Held, place: tuple[int, str], source: tuple[int | None, str | None], found: _Found) -> None:
    """Place a replica that does not exist on its broker yet, together with the reassignment that adds it."""
    broker, path = place
    if source[0]:
        found.stuck = f"{source[1]} of broker {broker}, where the replica is, is offline"
    elif found.reassign:
        found.paths[held] = path
    else:
        found.waits = f"broker {broker} does not have its replica of {held[0]}-{held[1]} yet"


def progress(step: Move, seen: Seen) -> Progress:
    """Return the progress of a step's copies."""
    copied = total = reached = 0
    running: dict[Held, int] = {}
    sizes: defaultdict[TopicPartition, int] = defaultdict(int)
    for (topic, number, _), replica in seen.replicas.items():
        sizes[topic, number] = max(sizes[topic, number], replica.size_bytes)
    for one in step.there:
        here, partition = step.here[one.key], seen.partitions.get(one.key)
        whole, is_there = sizes[one.key], partition is not None and not partition.adding
        for broker, target in zip(one.replicas, one.log_dirs, strict=True):
            added = broker not in here.replicas
            if not added and (target == ANY or target == here.directory_of(broker)):
                continue
            held = (*one.key, broker)
            done, is_in = _copied(held, target, seen, added=added), _is_in(held, target, seen)
            total, copied, is_there = total + whole, copied + min(done, whole), is_there and is_in
            if not is_in or (partition is not None and broker in partition.adding and broker not in partition.isr):
                running[held] = done
        reached += is_there
    return Progress(copied, total, reached, len(step.there), running)


def _copied(held: Held, target: str, seen: Seen, *, added: bool) -> int:
    copy, future = seen.replicas.get(held), seen.futures.get(held)
    if future is not None and future.path == target:
        return future.size_bytes
    return copy.size_bytes if copy is not None and (added or copy.path == target) else 0


def _is_in(held: Held, target: str, seen: Seen) -> bool:
    copy = seen.replicas.get(held)
    return copy is not None and target in {ANY, copy.path}


def _places(one: Assignment) -> str:
    return " ".join(
        f"{broker}:{path}" if path != "any" else str(broker)
        for broker, path in zip(one.replicas, one.log_dirs, strict=True)
    )
