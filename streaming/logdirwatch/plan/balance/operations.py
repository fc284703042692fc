"""The waves of a plan as operations, which ``apply`` carries out; its files describe the same moves."""

from collections import defaultdict
from collections.abc import Iterable

from logdirwatch.model.actions.operations import Operation
from logdirwatch.plan.balance import files
from logdirwatch.plan.balance import waves as schedule
from logdirwatch.plan.balance.planner import ClusterPlan
from logdirwatch.plan.cluster.assignment import to_json
from logdirwatch.plan.commands.operations import reassign
from logdirwatch.plan.commands.throttles import Limits, of_plan


def operations(plan: ClusterPlan) -> list[Operation]:
    """Return one operation per wave.

    The first sets the throttles of all waves and the last those of the undo: a topic's list that one wave sets would
    otherwise block the next wave's.
    """
    model, done = plan.before, dict[int, int]()
    there, here, limits = [], [], []
    for wave in plan.waves:
        here.append(to_json(files.assignments_before(model, wave.moves, done)))
        there.append(to_json(files.assignments(model, wave.moves, done)))
        limits += [_limits(plan, wave, each) for each in (there[-1], here[-1])]
        done |= {move.replica: move.target for move in wave.moves}
    all_of_them, last = joined(limits), len(there) - 1
    return [
        reassign(
            plan_there,
            plan_here,
            f"logdirwatch-{plan.task.mode.kind.value}-wave-{number + 1}.json",
            limits=all_of_them if number == 0 else Limits(),
            back=all_of_them if number == last else Limits(),
            settle_ms=model.delete_delay_ms,
        )
        for number, (plan_there, plan_here) in enumerate(zip(there, here, strict=True))
    ]


def _limits(plan: ClusterPlan, wave: schedule.Wave, moves: dict[str, object]) -> Limits:
    limits = plan.task.limits
    is_within = schedule.is_within_broker(plan.before, wave.moves[0])
    return of_plan(
        moves,
        log_dir_rate=limits.log_dir_throttle_bytes_per_s if is_within else None,
        rate=None if is_within else limits.replication_throttle_bytes_per_s,
    )


def joined(found: Iterable[Limits]) -> Limits:
    """Return throttles for all waves: the same rates, and the union of the lists of throttled replicas."""
    brokers: defaultdict[int, dict[str, int]] = defaultdict(dict)
    lists: defaultdict[str, defaultdict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for limits in found:
        for broker, rates in limits.brokers.items():
            brokers[broker] |= rates
        for topic, by_key in limits.topics.items():
            for key, entries in by_key.items():
                lists[topic][key].update(entries.split(","))
    topics = {topic: {key: ",".join(sorted(found)) for key, found in keys.items()} for topic, keys in lists.items()}
    return Limits(dict(brokers), topics)
