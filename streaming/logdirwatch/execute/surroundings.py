"""Other activity on a cluster during an execution, and which of it must stop the execution. Pure."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any, NamedTuple

from logdirwatch.execute import changes
from logdirwatch.execute.step_kinds.cancel import Cancel
from logdirwatch.execute.step_kinds.elect import Elect
from logdirwatch.execute.step_kinds.move import Move
from logdirwatch.execute.step_kinds.order import Order
from logdirwatch.execute.step_kinds.set_config import SetConfig
from logdirwatch.execute.step_kinds.throttle import Throttle, entries_of
from logdirwatch.execute.steps import Step, steps_of
from logdirwatch.model.records import ExecutionRecord
from logdirwatch.model.vocabulary import THROTTLED_REPLICAS
from logdirwatch.plan.cluster.layout import LogDirId, TopicPartition
from logdirwatch.plan.commands.throttles import Limit
from logdirwatch.text.units import human_ratio

MAX_USED_RATIO = 0.90
"""The maximum used ratio of a directory that an execution copies to."""


@dataclass(frozen=True)
class Surroundings:
    """The activity on a cluster; ``throttles`` of ``brokers`` (those that answered) and of the execution's topics.

    ``reassigned`` has the target replicas of each reassignment, ``used_ratios`` the directories that are copied to.
    """

    under_min_isr: frozenset[TopicPartition] = frozenset()
    reassigned: Mapping[TopicPartition, tuple[int, ...]] = field(default_factory=dict)
    throttles: frozenset[Limit] = frozenset()
    brokers: frozenset[int] = frozenset()
    used_ratios: Mapping[LogDirId, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Around:
    """The scope of an execution: its partitions, its throttles, and the directories that it copies to."""

    keys: frozenset[TopicPartition]
    limits: frozenset[Limit]
    destinations: frozenset[LogDirId]

    @property
    def topics(self) -> frozenset[str]:
        """Its topics."""
        return frozenset(topic for topic, _ in self.keys)


def around(record: ExecutionRecord) -> Around:
    """Return the scope of an execution and its undo."""
    steps = [step for back in (False, True) for step in steps_of(record.operations, back=back)]
    ahead = changes.steps(record)[record.step :]
    return Around(
        frozenset(key for step in steps for key in _keys(step)),
        frozenset(limit for step in steps for limit in _limits(step)),
        frozenset(place for step in ahead if isinstance(step, Move) for place in _destinations(step)),
    )


class Reason(NamedTuple):
    """What must stop an execution: the sentence, and at its end what changes while it lasts."""

    lasting: str
    measured: str = ""

    def __str__(self) -> str:
        return self.lasting + self.measured


def reasons_to_stop(first: Surroundings, now: Surroundings, ours: Around) -> Iterator[Reason]:
    """Yield what must stop an execution.

    It has started since ``first``, or a directory that is copied to is too full now.
    """
    for topic, partition in sorted(now.under_min_isr - first.under_min_isr):
        yield Reason(f"{topic}-{partition} has fewer replicas in sync than its min.insync.replicas")
    for (broker, path), ratio in sorted(now.used_ratios.items()):
        if ratio > MAX_USED_RATIO:
            yield Reason(f"{path} of broker {broker}, where it copies to, is ", f"{human_ratio(ratio)} full")
    for key in sorted(now.reassigned.keys() - first.reassigned.keys() - ours.keys):
        yield Reason(f"somebody else reassigns {key[0]}-{key[1]} ", f"to {list(now.reassigned[key])}")
    known = {one for limit in (*first.throttles, *ours.limits) for one in _entries(limit)}
    for limit in sorted({one for found in now.throttles for one in _entries(found)} - known):
        if limit.entity == "topics" or int(limit.name) in first.brokers:
            yield Reason(f"somebody else set {limit.text}")


def reason_to_stop(first: Surroundings, now: Surroundings, ours: Around) -> str | None:
    """Return what must stop an execution, None if nothing must."""
    found = next(reasons_to_stop(first, now, ours), None)
    return None if found is None else str(found)


def lasts(cause: str, now: Surroundings, ours: Around) -> bool:
    """Tell whether the cause of a stop is seen now, whenever it began."""
    found = reasons_to_stop(Surroundings(brokers=now.brokers), now, ours)
    return any(cause.startswith(reason.lasting) for reason in found)


def with_new_brokers(first: Surroundings, now: Surroundings) -> Surroundings:
    """Return the first observation, with brokers that did not answer then: their throttles may be as old as it."""
    new = now.brokers - first.brokers
    found = {limit for limit in now.throttles if limit.entity == "brokers" and int(limit.name) in new}
    return replace(first, brokers=first.brokers | new, throttles=first.throttles | found)


def with_others(first: Surroundings, others: Iterable[Around]) -> Surroundings:
    """Return the first observation, with all that other executions of ours may do beside it."""
    scopes = list(others)
    known = {key: () for one in scopes for key in one.keys}
    limits = first.throttles.union(*(one.limits for one in scopes))
    return replace(first, reassigned={**first.reassigned, **known}, throttles=limits)


def touched(
    operations: Sequence[Mapping[str, Any]] | None, hosts: Callable[[frozenset[str]], Iterable[int]] = lambda _: ()
) -> list[str]:
    """Return what operations and their undo touch, as ``brokers ID`` and ``topics NAME``.

    A value of a topic, and an election, touch every broker that ``hosts`` the topic; else the brokers that are named.
    """
    steps = [step for back in (False, True) for step in steps_of(operations, back=back)]
    limits = [limit for step in steps for limit in _limits(step)]
    everywhere = {topic for step in steps if isinstance(step, Elect) for topic, _ in step.keys}
    everywhere |= {step.name for step in steps if isinstance(step, SetConfig) and step.entity == "topics"}
    topics = everywhere.union(*({topic for topic, _ in _keys(step)} for step in steps))
    brokers = set(hosts(frozenset(everywhere))).union(*(_brokers(step) for step in steps))
    named = {f"{one.entity} {one.name}" for one in limits}
    return sorted(named | {f"brokers {one}" for one in brokers} | {f"topics {one}" for one in topics})


def _brokers(step: Step) -> Iterable[int]:
    if isinstance(step, Move):
        yield from step.brokers
    elif isinstance(step, Order):
        yield from chain(*step.there.values(), *step.here.values())
    elif isinstance(step, Cancel):
        yield from chain(*(one.replicas for one in step.moves), *step.goals.values(), *step.here.values())
    elif isinstance(step, SetConfig) and step.entity == "brokers":
        yield int(step.name)


def _entries(limit: Limit) -> Iterable[Limit]:
    """Yield a list of throttled replicas entry by entry: ours stand beside those of others."""
    if limit.key not in THROTTLED_REPLICAS:
        return (limit,)
    return (limit._replace(value=entry) for entry in entries_of(limit.value))


def _keys(step: Step) -> Iterable[TopicPartition]:
    return step.keys if isinstance(step, Move | Order | Elect | Cancel) else ()


def _limits(step: Step) -> Iterable[Limit]:
    if isinstance(step, Throttle):
        yield from step.limits
    elif isinstance(step, SetConfig):
        values = (step.value, *step.before)
        yield from (Limit(step.entity, step.name, step.key, value) for value in values if value is not None)


def _destinations(step: Move) -> Iterable[LogDirId]:
    for one in step.there:
        here = step.here[one.key]
        for broker, path in one.chosen:
            if broker not in here.replicas or here.directory_of(broker) != path:
                yield broker, path
