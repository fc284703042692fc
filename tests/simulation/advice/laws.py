"""The laws: what advice must reach in a small world, judged by the model."""

from collections.abc import Iterator

from logdirwatch.model.records import ActionRecord
from tests.simulation.advice.advised import DAY_S, Plan, advised, carried_out
from tests.simulation.advice.search import deepest, lossless, nothing
from tests.simulation.advice.world import HORIZON_S, SEGMENT_BYTES, SOURCE, Course, World, course, world_of

NEVER_RATIO = 0.85
SOON_S = 1.5 * DAY_S
LEAST_S = 3600
CAREFUL = 0.7
"""The planner takes growth that retention ends for a quarter longer than the model does."""
LOSES = "lower_retention", "delete_records"


def of_seed(seed: int) -> list[str]:
    """Return each law that the advice for the world of a seed breaks, with what was seen."""
    world = world_of(seed)
    return list(_broken(world, advised(world)))


def _broken(world: World, plan: Plan) -> Iterator[str]:
    idle, done = nothing(world), course(world, plan.copies, plan.cuts)
    first_s = min(idle.full_s.values(), default=HORIZON_S)
    for place, at_s in done.full_s.items():
        alone_s = idle.full_s.get(place, 10 * DAY_S)
        is_full_anyway = alone_s <= HORIZON_S or idle.peak[place] >= NEVER_RATIO
        if world.is_growth_known and at_s < alone_s - 60 and (not is_full_anyway or at_s < CAREFUL * first_s):
            yield f"made worse: {place} is full after {at_s / 3600:.2f} h"
    destroys = [action for action in plan.ready if action.kind in LOSES]
    is_never_full = SOURCE not in idle.full_s and (not world.growth(SOURCE) or idle.peak[SOURCE] < NEVER_RATIO)
    if destroys and is_never_full:
        yield f"deletes for nothing: the directory never fills, {len(destroys)} cuts are ready"
    safe = lossless(world)
    if safe is not None:
        if destroys and safe[-1].end_s < _seen_full_s(world):
            yield f"deletes beside a lossless way: {safe}"
        if world.is_growth_known and done.full_s.get(SOURCE, SOON_S) < SOON_S:
            yield f"does not save: full after {min(done.full_s.values()) / 3600:.2f} h, but {safe} does"
    yield from _promises(world, plan, done)
    yield from _floors(world, plan)
    soon_s = idle.full_s.get(SOURCE, 10 * DAY_S)
    if 1800 < soon_s <= 3600 and course(world, [], deepest(world)).full_s.get(SOURCE, 10 * DAY_S) > soon_s + 7200:
        gained_s = done.full_s.get(SOURCE, 10 * DAY_S) - soon_s
        if gained_s < 1500 and not any(_asks_first(action) for action in plan.actions):
            yield f"wins no time: full in {soon_s / 60:.0f} min, {gained_s / 60:.0f} min later with it"
    if min(idle.full_s.values(), default=DAY_S * 9) < HORIZON_S and not plan.ready:
        yield "says nothing"


def _seen_full_s(world: World) -> float:
    """Return when the directory is full as far as can be seen: without its replicas' growth nothing is known to end."""
    growth = 0.0 if world.is_growth_known else world.growth(SOURCE)
    return (world.totals[SOURCE] - world.used(SOURCE)) / growth if growth else float("inf")


def _asks_first(action: ActionRecord) -> bool:
    """Whether somebody is asked for something that loses nothing, with time left to delete."""
    return action.kind in {"throttle_producers", "uncordon_log_dir"} or any(
        veto["name"] == "lossless_first" for veto in action.vetoes
    )


def _promises(world: World, plan: Plan, done: Course) -> Iterator[str]:
    """What an action says that it frees comes free, what is said to be in time is, and what it blames is there."""
    if any("another alert" in str([one.reason, one.vetoes]) for one in plan.actions):
        yield "blames another alert, and there is none"
    for action in plan.ready:
        only = carried_out(world, [action])
        frees = action.expected["frees_bytes"] or 0
        if only.cuts:
            deleted = course(world, [], only.cuts).deleted[str(action.target["topic"]), SOURCE]
            if deleted < 0.9 * frees - 2 * SEGMENT_BYTES:
                yield f"promises too much: {action.kind} {frees / 1e9:.1f} GB, {deleted / 1e9:.1f} come free"
        if only.copies:
            moved = sum(world.topic(one.key[0]).size_bytes for one in only.copies)
            if moved < 0.99 * frees:
                yield f"promises too much: {action.kind} {frees / 1e9:.1f} GB, {moved / 1e9:.1f} come free"
            is_said = any(one["name"] == "in_time" and one["holds"] for one in action.preconditions)
            ends_s = max(one.end_s for one in only.copies)
            full_s = done.full_s.get(SOURCE, ends_s)
            if is_said and ends_s > full_s:
                yield f"is late: {action.kind} ends after {ends_s / 3600:.2f} h, full after {full_s / 3600:.2f} h"


def _floors(world: World, plan: Plan) -> Iterator[str]:
    """No cut takes history that an owner's rule keeps, or that a consumer group has still to read."""
    for cut in plan.cuts:
        model = world.topic(cut.topic)
        left_s = cut.keeps_s if cut.keeps_s is not None else (cut.keeps_bytes or 0.0) / model.rate
        if left_s < 0.99 * min(model.age_s, model.floor_s or LEAST_S):
            yield f"breaks a floor: {cut} of {model}"
        if left_s < 0.99 * model.age_s * (model.unread_ratio or 0.0):
            yield f"deletes unread records: {cut} of {model}"
