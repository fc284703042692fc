"""Lost replicas to other brokers, as an action; and what is said of those that fit nowhere."""

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from logdirwatch.model.vocabulary import LOG_DIR_THROTTLE, REPLICATION_THROTTLES, ActionKind
from logdirwatch.plan.actions.topics.delete_records import candidate_drafts_in
from logdirwatch.plan.availability.fault_tolerance import endurance_of
from logdirwatch.plan.availability.impact import of_reassignment
from logdirwatch.plan.capacity.copy_rates import foreign, throttle_free, under_others
from logdirwatch.plan.capacity.projected_use import passing_bytes
from logdirwatch.plan.capacity.timing import file_name, nothing_runs, others_run, way_back
from logdirwatch.plan.cluster.assignment import to_json
from logdirwatch.plan.cluster.snapshot import Facts, Place
from logdirwatch.plan.commands.throttles import Limits, of_plan
from logdirwatch.plan.proposal import Draft, Policy, Precondition, Veto, effect
from logdirwatch.plan.reassignment.replacement_replicas import Repair
from logdirwatch.plan.reassignment.throttles import limits_of_copies, unset
from logdirwatch.report.units import human_bytes
from logdirwatch.report.words import counted

EXAMPLES = 20
_AWAY = re.compile(r"broker (\d+) ")
DEFAULT_REMEDY = "what stands against it gone"
REMEDIES = {
    "no_live_source": "the data itself, which only the lost copies hold: try to save this disk before it goes",
    "no_broker_left": "one broker more than the replication factor",
    "nothing_fits": "room on another broker: topics deleted, retention cut, a disk more or a bigger volume",
    "broker_not_alive": "bring back the brokers that are away",
    "partition_moving": "the end of the moves that run, or their cancelling",
    "partition_claimed": "the other reassignment done",
    "slower_than_writes": "a higher plan.replication_throttle_bytes_per_s, or fewer writes",
    "size_unknown": "an inventory that tells their sizes",
    "never_touch": "the configuration changed: plan.never_touch names them",
}


class Loss(NamedTuple):
    """What was lost, in words: ``what`` after "replicas", ``stray`` what becomes of the old copies, ``undo``."""

    what: str
    stray: str
    undo: str


def rebuild(
    place: Place, target: Mapping[str, Any], loss: Loss, repair: Repair, facts: Facts, policy: Policy, now_ms: int
) -> Draft:
    """Return the reassignment of a repair; ``place`` names its file, with an empty path for a whole broker."""
    rate = policy.limits.replication_throttle_bytes_per_s
    wanted = limits_of_repair(repair, rate, facts)
    limits, reached = unset(wanted, facts), under_others(rate, wanted.brokers, REPLICATION_THROTTLES, facts)
    needs = max(repair.bytes_per_broker.values(), default=0) * 1000 // reached + policy.tools.settings.timeout_ms
    plan, name = to_json(repair.assignments), file_name(ActionKind.REASSIGN, place)
    lost = [facts.partitions[assignment.key] for assignment in repair.assignments]
    return Draft(
        kind=ActionKind.REASSIGN,
        target=target,
        reason=f"rebuild {counted(len(repair.assignments), 'replica')} {loss.what} on other brokers "
        f"({human_bytes(repair.copied_bytes)} to copy); racks, replication factor and order of preference stay"
        f"{_left_out(repair)}",
        expected=effect(
            frees_bytes=0,
            frees_by_ms=now_ms + needs,
            needs_ms=needs,
            on=[{"broker": b, "log_dir": path, "bytes": -size} for (b, path), size in sorted(repair.bytes_in.items())],
            rebuilds=len(repair.assignments),
            copies_bytes=repair.copied_bytes,
            sets_limits=limits.as_data(),
            leadership=of_reassignment(repair.assignments, facts),
            endurance=endurance_of(lost, facts),
            **unplaced(repair),
        ),
        preconditions=(
            nothing_runs(facts),
            Precondition("strays", loss.stray, None),
            throttle_free(wanted.brokers, (*REPLICATION_THROTTLES, LOG_DIR_THROTTLE), facts),
            *born_elsewhere(repair, facts),
        ),
        commands=tuple(policy.tools.reassign(plan, name, limits=limits, beside=bool(others_run(facts)))),
        reassignment=plan,
        undo={
            **way_back(to_json(repair.before), name, policy, limits, back_of(repair, rate, facts)),
            "text": loss.undo,
        },
    )


def limits_of_repair(repair: Repair, rate: int, facts: Facts) -> Limits:
    """Return the limits of a repair: of its new replicas, and of the leaders that they are copied from."""
    arriving = [(facts.partitions[key], broker) for key, broker in repair.arriving]
    return limits_of_copies(arriving, rate, facts)


def back_of(repair: Repair, rate: int, facts: Facts) -> Limits:
    """Return the limits of the way back, where none is set; a broker that is away takes none."""
    wanted = of_plan(to_json(repair.before), log_dir_rate=None, rate=rate)
    living = {broker: rates for broker, rates in wanted.brokers.items() if facts.is_alive(broker)}
    return unset(Limits(living, wanted.topics), facts)


def born_elsewhere(repair: Repair, facts: Facts) -> tuple[Precondition, ...]:
    """Say where new replicas may be born that the plan does not mean for there: they take their full size until moved.

    Kafka's tool assigns first and places after, so nothing must slow down their way to the right directory.
    """
    passing = passing_bytes(repair.assignments, facts)
    if not passing:
        return ()
    places = sorted(passing.items())[:EXAMPLES]
    told = ", ".join(f"{human_bytes(size)} in {path} of broker {broker}" for (broker, path), size in places)
    text = (
        f"Kafka may make new replicas in other directories first (at most {told}; that much room is counted there) and "
        "then copies them to the planned one: no other move inside these brokers runs meanwhile, and none is limited"
    )
    limited = foreign({broker for broker, _ in passing}, frozenset({LOG_DIR_THROTTLE}), facts)
    return (Precondition("born_elsewhere", text, False if any(limited) else None),)


def rebuild_later(target: Mapping[str, Any], loss: Loss, repair: Repair, facts: Facts, veto: Veto) -> Draft:
    """Return the same reassignment where something stands against doing it now: what it would cost, no commands."""
    lost = [facts.partitions[assignment.key] for assignment in repair.assignments]
    return Draft(
        kind=ActionKind.REASSIGN,
        target=target,
        reason=f"rebuild {counted(len(repair.assignments), 'replica')} {loss.what} on other brokers "
        f"({human_bytes(repair.copied_bytes)} to copy), but not yet{_left_out(repair)}",
        expected=effect(
            rebuilds=len(repair.assignments),
            copies_bytes=repair.copied_bytes,
            endurance=endurance_of(lost, facts),
            **unplaced(repair),
        ),
        vetoes=(veto,),
    )


def unplaced(repair: Repair) -> dict[str, Any]:
    """Return what cannot be rebuilt, why, and what would make it possible, as an action carries it."""
    left = repair.unplaced
    return {
        "unplaced": [{"partition": one.label, **one.veto._asdict()} for one in left[:EXAMPLES]],
        "unplaced_count": len(left),
        "unplaced_bytes": None if any(one.size_bytes is None for one in left) else sum(_size(one) for one in left),
        "would_help": remedies(repair),
        "later": repair.later,
    }


def room_elsewhere(
    broker: int, target: Mapping[str, Any], repair: Repair, facts: Facts, policy: Policy, now_ms: int
) -> list[Draft]:
    """Return idle topics whose deletion would make room on the other brokers; only where room is what is missing."""
    if not any(left.veto.name == "nothing_fits" for left in repair.unplaced):
        return []
    full = [d for d in facts.directories.values() if d.broker != broker and d.is_serving and facts.is_alive(d.broker)]
    return candidate_drafts_in(full, target, facts, policy, now_ms)


def remedies(repair: Repair) -> list[str]:
    """Return what would make possible what cannot be done now."""
    names = sorted({left.veto.name for left in repair.unplaced})
    away = {int(found[1]) for left in repair.unplaced if (found := _AWAY.match(left.veto.reason))}
    told = {"broker_not_alive": [f"bring broker {broker} back" for broker in sorted(away)]}
    listed = (told.get(name) or [REMEDIES.get(name, DEFAULT_REMEDY)] for name in names)
    return list(dict.fromkeys(remedy for remedies in listed for remedy in remedies))


def nothing_fits(repair: Repair) -> str:
    """Say that no replica can be rebuilt, why, and what would make it possible; empty where some can."""
    if repair.assignments or not repair.unplaced:
        return ""
    count = len(repair.unplaced) + repair.later
    none = "its only replica cannot" if count == 1 else f"none of its {count} replicas can"
    return f"; {none} be rebuilt elsewhere ({_reasons(repair)}). Would help: {'; '.join(remedies(repair))}"


def _left_out(repair: Repair) -> str:
    later = f"; {repair.later} more follow when these are done" if repair.later else ""
    if not repair.unplaced:
        return later
    return f"{later}; {len(repair.unplaced)} more cannot be rebuilt now ({_reasons(repair)})"


def _reasons(repair: Repair) -> str:
    by_name: dict[str, Veto] = {left.veto.name: left.veto for left in reversed(repair.unplaced)}
    return "; ".join(f"{name}: {veto.reason}" for name, veto in sorted(by_name.items()))


def _size(one: Any) -> int:
    return one.size_bytes or 0
