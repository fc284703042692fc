"""Why an action must not start unattended: the rules in the order in which they are checked.

What a person would have to change first comes first.

The operations must match the kind, since permission to write actions must not allow more than the kind does; nothing
goes below a floor that the configuration sets.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, time
from fnmatch import fnmatchcase
from typing import NamedTuple
from zoneinfo import ZoneInfo

from msgspec.structs import replace

from logdirwatch.autopilot.facts import MARK, Facts
from logdirwatch.autopilot.settings import WEEK, AutopilotClusterSettings, WindowSettings
from logdirwatch.config.section import HOUR_MS
from logdirwatch.execute.begin import bytes_of, reason_against_applying
from logdirwatch.execute.journal import unknown_execution
from logdirwatch.execute.need import is_cut, is_raise
from logdirwatch.execute.step_kinds.set_config import SetConfig
from logdirwatch.execute.steps import steps_of
from logdirwatch.execute.surroundings import touched
from logdirwatch.executions import held_by, hold_of, is_unfinished, may_pass, share
from logdirwatch.kafka.config_values import number_of
from logdirwatch.model.actions.operations import OperationArgs
from logdirwatch.model.records import ActionRecord, ExecutionRecord
from logdirwatch.model.vocabulary import (
    LOG_DIR_THROTTLE,
    REPLICATION_THROTTLES,
    THROTTLED_REPLICAS,
    ActionKind,
    ActionStatus,
    Decision,
    ExecutionState,
)
from logdirwatch.plan.action_types import ACTION_TYPES
from logdirwatch.plan.commands.operations import from_record, plan_of, replicas_of
from logdirwatch.plan.content_hash import content_hash
from logdirwatch.plan.settings import PlanSettings
from logdirwatch.text.units import human_bytes, human_ms

_RATES = frozenset({*REPLICATION_THROTTLES, LOG_DIR_THROTTLE})
_LISTS = frozenset(THROTTLED_REPLICAS)


def _fits_kind(action: ActionRecord, _facts: Facts, _now_ms: int) -> str | None:
    """Return the operation that does something else than the action's kind."""
    executes = ACTION_TYPES[action.kind].executes
    for operation in from_record(action.operations):
        if executes is None or not executes(operation, action.target):
            return f"has an operation that {action.kind} must not have: {operation.op}"
        if not all(_limits_only(args) for args in (operation.args, operation.inverse.args)):
            return "has throttles that are something else"
    return None


def _limits_only(args: OperationArgs) -> bool:
    """Tell whether all keys of the throttles are keys of throttles: any other would be set just the same.

    Those of a move must be on topics that it moves.
    """
    if args.limits is None:
        return True
    moved = {topic for topic, _ in replicas_of(args.reassignment)}
    return (
        all(set(rates) <= _RATES for rates in args.limits.brokers.values())
        and all(set(lists) <= _LISTS for lists in args.limits.topics.values())
        and (args.reassignment is None or set(args.limits.topics) <= moved)
    )


class Cut(NamedTuple):
    """A topic's configuration key and its new value; ``value`` None: the topic's override is deleted.

    ``before`` are the values that it may replace, None among them for a default that is not known.
    """

    topic: str
    key: str
    value: str | None
    before: tuple[str | None, ...] = ()


def _floor(action: ActionRecord, facts: Facts, _now_ms: int) -> str | None:
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
        for step in steps_of(action.operations, back=back)
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
    """Yield the topic of each partition that an action moves."""
    for one in from_record(action.operations):
        if one.args.reassignment is not None:
            yield from (str(entry["topic"]) for entry in plan_of(one.args)["partitions"])


def _matches(topic: str, patterns: tuple[str, ...]) -> bool:
    return any(fnmatchcase(topic, pattern) for pattern in patterns)


def is_open(windows: Iterable[WindowSettings], time_zone: str, now_ms: int) -> bool:
    """Tell whether any window is open; without windows, always."""
    listed = list(windows)
    local = datetime.fromtimestamp(now_ms / 1000, ZoneInfo(time_zone))
    return not listed or any(_holds(window, local.weekday(), local.time()) for window in listed)


def _holds(window: WindowSettings, today: int, now: time) -> bool:
    opens, closes = time.fromisoformat(window.opens), time.fromisoformat(window.closes)
    is_today, was_yesterday = (WEEK[day] in window.days for day in (today, today - 1))
    if opens < closes:
        return is_today and opens <= now < closes
    return (is_today and now >= opens) or (was_yesterday and now < closes)


def described(windows: Iterable[WindowSettings], time_zone: str) -> str:
    """Return windows as text."""
    return "; ".join(f"{', '.join(one.days)} {one.opens}-{one.closes} {time_zone}" for one in windows)


Rule = Callable[[ActionRecord, Facts, int], str | None]
"""Returns why an action must not start at a time, as the end of a sentence; None if it may."""

RETENTION = frozenset({ActionKind.LOWER_RETENTION, ActionKind.RESTORE_RETENTION})

SEEN = frozenset({"no_reassignment_runs", "no_retention_cut", "throttle_free", "in_time", "born_elsewhere"})
"""Preconditions that a person need not check.

The live check and the executor do, which places new replicas before it assigns them.
"""

LATE = "in_time"
"""Of a late action a person decides whether it is better than never: until it ends, nothing else starts."""

OF_RETENTION = frozenset({"owner_agrees", "timestamps", "limit_known"})
"""Those of a cut and of its way back that need nobody.

The floor is the owner's word, a time in the future only keeps data longer, and the executor restores a limit only where
the value is still that of the cut.
"""


def _telemetry(_action: ActionRecord, facts: Facts, now_ms: int) -> str | None:
    """Refuse while the telemetry cluster is unavailable: a rejection could not be read."""
    if facts.read_at_ms is None:
        return "waits: the telemetry topics have not been read yet"
    age_ms = now_ms - facts.read_at_ms
    if age_ms > facts.settings.telemetry_max_age_ms:
        return f"waits: the telemetry topics could not be read for {human_ms(age_ms)}"
    return None


def _kind(action: ActionRecord, facts: Facts, _now_ms: int) -> str | None:
    """Allow only kinds that the configuration names for the cluster."""
    if facts.kind(action.cluster, action.kind) is not None:
        return None
    return f"is not allowed: autopilot.clusters.{action.cluster}.kinds does not name {action.kind}"


def _record(action: ActionRecord, facts: Facts, _now_ms: int) -> str | None:
    """Ask the record itself, as ``apply`` does: no veto, operations, a matching hash, a status to start from."""
    by = str((action.decision or {}).get("by", ""))
    if facts.is_unattended(action) and by.startswith(MARK):
        # The planner was quicker than its own acceptance: it accepts what the action says by now.
        action = replace(action, decision=None)
    return reason_against_applying(action)


def _decision(action: ActionRecord, facts: Facts, now_ms: int) -> str | None:
    """Need an acceptance of its present content, or a kind that may start unattended; a rejection always counts.

    Decisions are read from their own topic. The status ``accepted`` in an action's record proves nothing, because
    permission to write actions is not permission to decide.
    """
    said = facts.said.get(action.action_id)
    if said is not None and said.decision is Decision.REJECT:
        return f"was rejected by {said.by}: {said.reason}"
    if facts.acceptance(action, now_ms) is not None or facts.is_unattended(action):
        return None
    if said is None:
        return f"waits for an acceptance: logdirwatch actions accept {action.action_id} --by NAME --reason WHY"
    if said.content_hash != content_hash(action):
        return f"says something else than what {said.by} accepted: read it again and accept it"
    return f"waits for a new acceptance: the one by {said.by} is too old"


def _data_loss(action: ActionRecord, facts: Facts, now_ms: int) -> str | None:
    """Need a person, or the minimum that the owner declared, to delete the only copy of data."""
    if facts.acceptance(action, now_ms) is not None:
        return None
    if action.kind in RETENTION:
        # Neither the kind nor the record's data_loss proves that a value is not lower: a forged record can lie in both.
        missing = [cut for cut in cuts(action) if not _is_declared(cut, facts.plan)]
        if missing:
            key = "min_retention_ms" if missing[0].key == "retention.ms" else "min_retention_bytes"
            return f"deletes data, and nobody declared a floor ({key} in plan.topics) for {missing[0].topic}: accept it"
        return None
    return "deletes data: it needs an acceptance" if action.data_loss else None


def _is_declared(cut: Cut, plan: PlanSettings) -> bool:
    rule = plan.topic_rule(cut.topic)
    if cut.value is None:
        return False
    if cut.key.startswith("local."):
        return True
    return rule.min_retention_ms is not None if cut.key == "retention.ms" else rule.min_retention_bytes is not None


def _to_check(action: ActionRecord, facts: Facts, now_ms: int) -> str | None:
    """Need a person for conditions that only a person can check."""
    if facts.acceptance(action, now_ms) is not None:
        return None
    known = SEEN | OF_RETENTION if action.kind in RETENTION else SEEN
    left = [one["text"] for one in action.preconditions if one.get("holds") is None and one.get("name") not in known]
    if left:
        return f"needs a person who checks: {left[0]}"
    late = [one["text"] for one in action.preconditions if one.get("holds") is False and one.get("name") == LATE]
    return f"comes late and needs an acceptance: {late[0]}" if late else None


def _expired(action: ActionRecord, _facts: Facts, now_ms: int) -> str | None:
    """Refuse a proposal that was not renewed: the stream that would renew it may be down."""
    if action.status is ActionStatus.PROPOSED and action.expires_at_ms < now_ms:
        return f"expired {human_ms(now_ms - action.expires_at_ms)} ago and was not renewed"
    return None


def _repeated(action: ActionRecord, facts: Facts, now_ms: int) -> str | None:
    """Let an acceptance start one execution; after it a new acceptance is needed."""
    last = facts.last_of(action.action_id)
    if last is None or _is_renewed(action, last, facts, now_ms):
        return None
    if last.state is ExecutionState.STUCK:
        return f"is stuck ({last.reason}): logdirwatch apply --resume or --undo {action.action_id}"
    return "is being carried out" if is_unfinished(last) else f"was carried out ({last.state}): accept it again"


def _is_renewed(action: ActionRecord, last: ExecutionRecord, facts: Facts, now_ms: int) -> bool:
    """Tell whether an action may be carried out again after its last execution.

    An unattended kind may if its action is newer than the execution by ``settle_ms``, unless that is stuck.
    """
    accepted = facts.acceptance(action, now_ms)
    if accepted is not None and accepted.at_ms > last.started_at_ms:
        return True
    is_new = action.at_ms > last.at_ms + facts.settings.settle_ms
    return facts.is_unattended(action) and last.state is not ExecutionState.STUCK and is_new


def _paused(action: ActionRecord, facts: Facts, _now_ms: int) -> str | None:
    """Refuse while a person or the configuration has paused the autopilot."""
    paused = pause_of(action.cluster, facts)
    return None if paused is None else f"waits: {paused}"


def pause_of(cluster: str, facts: Facts) -> str | None:
    """Return why nothing may run on a cluster; None if it is not paused."""
    if facts.settings.paused:
        return "autopilot.paused is set"
    allowed = facts.cluster(cluster)
    if allowed is not None and allowed.paused:
        return f"autopilot.clusters.{cluster}.paused is set"
    return None if facts.pause is None else f"{facts.pause.by} paused it: {facts.pause.reason}"


def _maintenance(action: ActionRecord, facts: Facts, now_ms: int) -> str | None:
    """Leave a broker alone on which somebody works, unless an acceptance is newer than the maintenance."""
    accepted, touches = facts.acceptance(action, now_ms), _touches(action, facts)
    for one in facts.maintenance:
        if f"brokers {one.broker}" in touches and (accepted is None or accepted.at_ms < one.at_ms):
            return f"waits: broker {one.broker} is in maintenance, by {one.by}: {one.reason}"
    return None


def _touches(action: ActionRecord, facts: Facts) -> Sequence[str]:
    return touched(action.operations) if facts.touches is None else facts.touches


def _window(action: ActionRecord, facts: Facts, now_ms: int) -> str | None:
    """Start only within the configured windows."""
    allowed = facts.cluster(action.cluster)
    if allowed is None or is_open(allowed.windows, allowed.time_zone, now_ms):
        return None
    return f"waits for a window: {described(allowed.windows, allowed.time_zone)}"


def alone(action: ActionRecord, facts: Facts, now_ms: int) -> str | None:
    """Let nothing run beside what others carry out, nor two executions that touch the same broker or topic.

    After a stop none begins before that has ended; where its cause may be over, ``worker`` looks at the cluster.
    """
    hold, beside = hold_of(facts.others_on(action.cluster)), facts.beside(action.cluster)
    if hold is None or may_pass(hold):
        hold = next((one for one in beside if share(_touches(action, facts), one.touches)), None)
    if hold is not None:
        return f"waits: {held_by(hold, now_ms)}"
    if (unknown := facts.unknown_execution) is not None:
        return f"waits: {unknown_execution(unknown)}"
    allowed = facts.cluster(action.cluster)
    if allowed is not None and len(beside) >= allowed.executions_at_once:
        return "waits: as many actions run on its cluster as may be (executions_at_once)"
    if facts.running.elsewhere >= facts.settings.clusters_at_once:
        return "waits: actions run on as many clusters as may be (autopilot.clusters_at_once)"
    return None


def _need(action: ActionRecord, facts: Facts, now_ms: int) -> str | None:
    """Delete history only while the alert that it serves fires, by samples that pass the stream now."""
    if not any(map(is_cut, steps_of(action.operations, back=False))):
        return None
    against = facts.shown.reason_against(action.alert_id, action.cluster, now_ms)
    return None if against is None else f"waits: {against}"


def _settled(action: ActionRecord, facts: Facts, now_ms: int) -> str | None:
    """Let an alert's next unattended action wait until the effect of the last one is visible."""
    if facts.acceptance(action, now_ms) is not None:
        return None
    ended = [one.at_ms for one in facts.executions if facts.alerts.get(one.action_id) == action.alert_id]
    if not ended:
        return None
    left_ms = max(ended) + facts.settings.settle_ms - now_ms
    if left_ms > 0:
        return f"waits {human_ms(left_ms)}: another action of its alert was carried out, and its effect is awaited"
    if action.at_ms <= max(ended):
        return "waits until it is planned again: it does not know of the last action of its alert"
    return None


def _budget(action: ActionRecord, facts: Facts, now_ms: int) -> str | None:
    """Limit what may start within an hour, and the partitions that one action may move."""
    allowed = facts.cluster(action.cluster)
    if allowed is None:
        return None
    partitions = len(list(_moved(action)))
    if partitions > allowed.max_partitions:
        return f"moves {partitions} partitions, more than max_partitions ({allowed.max_partitions})"
    recent = [
        one
        for one in facts.executions
        if one.cluster == action.cluster and one.by.startswith(MARK) and one.started_at_ms > now_ms - HOUR_MS
    ]
    if len(recent) >= allowed.max_actions_per_hour:
        return f"waits: {len(recent)} actions started within the last hour (max_actions_per_hour)"
    return _over_bytes(action, allowed, sum(one.bytes or 0 for one in recent))


def _over_bytes(action: ActionRecord, allowed: AutopilotClusterSettings, spent: int) -> str | None:
    limit, wanted = allowed.max_bytes_per_hour, bytes_of(action)
    if limit is None:
        return None
    if wanted is None:
        return "copies an unknown number of bytes, and max_bytes_per_hour is set"
    if wanted > limit:
        return f"copies {human_bytes(wanted)}, more than max_bytes_per_hour ({human_bytes(limit)})"
    if spent + wanted > limit:
        return f"waits: {human_bytes(spent)} were begun within the last hour (max_bytes_per_hour)"
    return None


RULES: Mapping[str, Rule] = {
    "telemetry": _telemetry,
    "kind": _kind,
    "record": _record,
    "fits_kind": _fits_kind,
    "floor": _floor,
    "decision": _decision,
    "data_loss": _data_loss,
    "to_check": _to_check,
    "expired": _expired,
    "repeated": _repeated,
    "paused": _paused,
    "maintenance": _maintenance,
    "window": _window,
    "alone": alone,
    "need": _need,
    "settled": _settled,
    "budget": _budget,
}


class Refusal(NamedTuple):
    """The rule that refuses an action, and the reason, which completes a sentence that begins with the action."""

    rule: str
    reason: str


def refusal(action: ActionRecord, facts: Facts, now_ms: int) -> Refusal | None:
    """Return why an action may not start now; None if it may, according to the records."""
    for name, rule in RULES.items():
        reason = rule(action, facts, now_ms)
        if reason is not None:
            return Refusal(name, reason)
    return None
