"""What could be done for a world: every choice of moves off the directory, and the deepest cuts that are allowed."""

from dataclasses import replace
from itertools import product

from tests.simulation.advice.advised import COPY_BYTES_PER_S, PERSON_S, WEEK_S
from tests.simulation.advice.world import SOURCE, Copy, Course, Cut, Key, LogDirId, World, course

CLEAR_RATIO = 0.72
SAFE_RATIO = 0.68
SLACK = 1.5
MOST = 5


def lossless(world: World) -> list[Copy] | None:
    """Return moves that clearly make the directory safe: with time, room and a week to spare; None if there are none.

    Clearly: the person takes ten minutes longer and every copy half as long again as expected; for a week no
    destination is above 72 % and the directory falls below 68 % of its size.
    """
    movable = [
        ((model.name, number), places)
        for model in world.topics
        for number, places in enumerate(model.places)
        if SOURCE in places
    ]
    choices = [[None, *_destinations(world, places)] for _, places in movable[:MOST]]
    best: list[Copy] | None = None
    for chosen in product(*choices):
        copies = _copies(world, [(key, to) for (key, _), to in zip(movable, chosen, strict=False) if to is not None])
        if not copies or (best is not None and copies[-1].end_s >= best[-1].end_s) or not _fits(world, copies):
            continue
        best = copies
    return best


def _destinations(world: World, places: tuple[LogDirId, ...]) -> list[LogDirId]:
    others = {broker for broker, _ in places if broker != SOURCE[0]}
    racks = {world.racks[broker] for broker in others} - {None}
    if not all(_is_whole(world, broker) for broker in others | {SOURCE[0]}):
        others |= set(world.brokers) - {SOURCE[0]}
    found = [one for one in world.totals if one != SOURCE and one[0] not in others and one not in world.cordoned]
    whole = [one for one in found if _is_whole(world, one[0]) and one[0] not in world.throttles]
    return [one for one in whole if one[0] == SOURCE[0] or world.racks[one[0]] not in racks]


def _is_whole(world: World, broker: int) -> bool:
    return broker not in world.away and broker not in {place[0] for place in world.broken}


def _born(world: World, copy: Copy) -> list[LogDirId]:
    """Where Kafka may create a new replica before it is moved to where it is to be: anywhere on its broker."""
    if copy.destination[0] == SOURCE[0]:
        return [copy.destination]
    return [place for place in world.totals if place[0] == copy.destination[0]]


def _copies(world: World, moves: list[tuple[Key, LogDirId]]) -> list[Copy]:
    at_s, found = 2.0 * PERSON_S, []
    for key, destination in moves:
        model = world.topic(key[0])
        took_s = SLACK * model.size_bytes / (COPY_BYTES_PER_S - model.rate)
        found.append(Copy(at_s, at_s + took_s, key, SOURCE, destination))
        at_s += took_s
    return found


def _fits(world: World, copies: list[Copy]) -> bool:
    rough = {one: world.used(one) for one in world.totals}
    for copy in copies:
        for place in _born(world, copy):
            rough[place] += world.topic(copy.key[0]).size_bytes
            if rough[place] > CLEAR_RATIO * world.totals[place]:
                return False
    reached = course(world, copies, [], WEEK_S)
    if reached.full_s or any(reached.peak[copy.destination] > CLEAR_RATIO for copy in copies):
        return False
    return course(_after(world, copies), [], [], WEEK_S).peak[SOURCE] < SAFE_RATIO


def _after(world: World, copies: list[Copy]) -> World:
    moved = {copy.key: copy.destination for copy in copies}
    topics = tuple(
        replace(
            model,
            places=tuple(
                tuple(moved.get((model.name, n), one) if one == SOURCE else one for one in places)
                for n, places in enumerate(model.places)
            ),
        )
        for model in world.topics
    )
    return replace(world, topics=topics)


def nothing(world: World) -> Course:
    """What comes of doing nothing for a week."""
    return course(world, [], [], WEEK_S)


def deepest(world: World) -> list[Cut]:
    """The deepest cuts that owners and readers allow, twenty minutes after the advice."""
    return [
        Cut(
            2.0 * PERSON_S,
            model.name,
            keeps_s=max(model.floor_s or 3600, 3600, model.age_s * (model.unread_ratio or 0)),
        )
        for model in world.topics
        if model.unread_ratio is not None and model.policy == "delete"
    ]
