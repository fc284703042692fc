"""No retention goes below the minimum of its owner and of the planner's settings, whatever the record says."""

from collections.abc import Iterator
from fnmatch import fnmatchcase
from typing import NamedTuple

from logdirwatch.autopilot.facts import Facts
from logdirwatch.model.records import ActionRecord
from logdirwatch.model.vocabulary import OperationKind
from logdirwatch.plan.commands.operations import from_record, plan_of
from logdirwatch.plan.settings import PlanSettings
from logdirwatch.text.units import human_bytes, human_ms


class Cut(NamedTuple):
    """A topic's configuration key and its new value; ``value`` None: the topic's override is deleted."""

    topic: str
    key: str
    value: int | None


def reason(action: ActionRecord, facts: Facts, now_ms: int) -> str | None:
    """Return the topic that must not be touched, or the value below its minimum."""
    del now_ms
    plan = facts.plan
    for topic in dict.fromkeys((*(cut.topic for cut in cuts(action)), *_moved(action))):
        if plan.topic_rule(topic).never_touch or _matches(topic, plan.never_touch):
            return f"names {topic}, which plan.never_touch keeps"
    for cut in cuts(action):
        if _matches(cut.topic, plan.internal_topics):
            return f"cuts {cut.topic}, an internal topic"
        if (below := _below(cut, plan)) is not None:
            return below
    return None


def cuts(action: ActionRecord) -> list[Cut]:
    """Return every value that an action sets on a topic."""
    return [
        Cut(str(one.args.topic), str(one.args.key), _number(one.args.value))
        for one in from_record(action.operations or ())
        if one.op is OperationKind.SET_TOPIC_CONFIG
    ]


def _below(cut: Cut, plan: PlanSettings) -> str | None:
    # Remote storage keeps the history: a local limit deletes none of it.
    if cut.value is None or cut.value < 0 or cut.key.startswith("local."):
        return None
    rule = plan.topic_rule(cut.topic)
    if cut.key == "retention.ms":
        least_ms = max(plan.min_retention_ms, rule.min_retention_ms or 0)
        return _said(cut, human_ms(cut.value), human_ms(least_ms)) if cut.value < least_ms else None
    least = rule.min_retention_bytes or 0
    return _said(cut, human_bytes(cut.value), human_bytes(least)) if cut.value < least else None


def _said(cut: Cut, value: str, least: str) -> str:
    return f"sets {cut.key} of {cut.topic} to {value}, below its floor of {least}"


def _moved(action: ActionRecord) -> Iterator[str]:
    for one in from_record(action.operations or ()):
        if one.args.reassignment is not None:
            yield from (str(entry["topic"]) for entry in plan_of(one.args)["partitions"])


def _number(value: object) -> int | None:
    return int(value) if isinstance(value, str) and value.lstrip("-").isdecimal() else None


def _matches(topic: str, patterns: tuple[str, ...]) -> bool:
    return any(fnmatchcase(topic, pattern) for pattern in patterns)
