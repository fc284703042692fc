"""No retention goes below the minimum of its owner and of the planner's settings, whatever the record says."""

from collections.abc import Iterator
from fnmatch import fnmatchcase
from typing import NamedTuple

from logdirwatch.autopilot.facts import Facts
from logdirwatch.execute.need import is_raise
from logdirwatch.execute.step_kinds.set_config import SetConfig
from logdirwatch.execute.steps import steps_of
from logdirwatch.kafka.config_values import number_of
from logdirwatch.model.records import ActionRecord
from logdirwatch.model.vocabulary import THROTTLED_REPLICAS
from logdirwatch.plan.commands.operations import from_record, plan_of
from logdirwatch.plan.settings import PlanSettings
from logdirwatch.text.units import human_bytes, human_ms


class Cut(NamedTuple):
    """A topic's configuration key and its new value; ``value`` None: the topic's override is deleted.

    ``before`` are the values that it may replace, None among them for a default that is not known.
    """

    topic: str
    key: str
    value: str | None
    before: tuple[str | None, ...] = ()


def reason(action: ActionRecord, facts: Facts, _now_ms: int) -> str | None:
    """Return the topic that must not be touched, or the value below its minimum."""
    plan = facts.plan
    for topic in dict.fromkeys((*(cut.topic for cut in cuts(action)), *_moved(action))):
        if plan.topic_rule(topic).never_touch or _matches(topic, plan.never_touch):
            return f"names {topic}, which plan.never_touch keeps"
    for cut in (*cuts(action), *cuts(action, back=True)):
        if _matches(cut.topic, plan.internal_topics):
            return f"cuts {cut.topic}, an internal topic"
        if (below := _below(cut, plan)) is not None:
            return below
    return None


def cuts(action: ActionRecord, *, back: bool = False) -> list[Cut]:
    """Return every value that an action sets on a topic, or its undo, which is for people to decide on."""
    return [
        Cut(step.name, step.key, step.value, (step.value,) if back else step.before)
        for step in steps_of(action.operations or (), back=back)
        if isinstance(step, SetConfig) and step.entity == "topics" and step.key not in THROTTLED_REPLICAS
    ]


def _below(cut: Cut, plan: PlanSettings) -> str | None:
    # Remote storage keeps the history: a local limit deletes none of it.
    if cut.value is None or cut.key.startswith("local."):
        return None
    value = number_of(cut.value)
    if value is None:
        return f"sets {cut.key} of {cut.topic} to {cut.value!r}, which is no number"
    if value < 0:
        return None
    rule = plan.topic_rule(cut.topic)
    of_ms, of_bytes = rule.min_retention_ms, rule.min_retention_bytes
    if cut.key == "retention.ms":
        own, other, least = of_ms, of_bytes, max(plan.min_retention_ms, of_ms or 0)
        said = _said(cut, human_ms(value), human_ms(least))
    else:
        own, other, least = of_bytes, of_ms, of_bytes or 0
        said = _said(cut, human_bytes(value), human_bytes(least))
    if value < least:
        return said
    is_unknown = own is None and other is not None and not is_raise(cut.before, value)
    return (
        f"sets {cut.key} of {cut.topic}, for which its owner declared no floor, but another one" if is_unknown else None
    )


def _said(cut: Cut, value: str, least: str) -> str:
    return f"sets {cut.key} of {cut.topic} to {value}, below its floor of {least}"


def _moved(action: ActionRecord) -> Iterator[str]:
    for one in from_record(action.operations or ()):
        if one.args.reassignment is not None:
            yield from (str(entry["topic"]) for entry in plan_of(one.args)["partitions"])


def _matches(topic: str, patterns: tuple[str, ...]) -> bool:
    return any(fnmatchcase(topic, pattern) for pattern in patterns)
