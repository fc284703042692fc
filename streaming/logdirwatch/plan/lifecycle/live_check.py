"""Whether a published action still holds on the cluster as it is now: the reasons why not, one per line.

The snapshot is that of :mod:`logdirwatch.plan.cluster.from_brokers`. What the brokers could not report is a reason too.
"""

from collections.abc import Iterator
from typing import Any

from msgspec.structs import replace

from logdirwatch.collect.kafka.answers import Quorum
from logdirwatch.model.actions.operations import Operation, OperationArgs
from logdirwatch.model.records import ActionRecord
from logdirwatch.model.vocabulary import OPEN, ActionKind, ActionStatus, OperationKind, Rule
from logdirwatch.plan.action_types import ACTION_TYPES
from logdirwatch.plan.cluster.assignment import keys_in
from logdirwatch.plan.cluster.layout import LogDirId
from logdirwatch.plan.cluster.snapshot import ClusterSnapshot, with_excluded_log_dirs
from logdirwatch.plan.commands.kafka_tools import ADDITIONAL
from logdirwatch.plan.commands.operations import ANOTHER_TOPIC, NOT_KNOWN, UNKNOWN, from_record, other_topics, plan_of
from logdirwatch.plan.lifecycle.transitions import standing_against
from logdirwatch.plan.owners.owner import why_reverted
from logdirwatch.plan.proposal import Policy
from logdirwatch.text.units import human_ms, human_ratio
from logdirwatch.text.words import some_of

_NEEDS_OFFLINE = frozenset({Rule.LOG_DIR_OFFLINE.value})
_NEEDS_AWAY = frozenset({Rule.BROKER_OFFLINE.value})
_NO_OBSTACLE = frozenset({"throttle_free", "born_elsewhere", "in_time"})
"""What need not hold.

Whether a late action is better than none is a person's choice. Copies run under somebody else's limit, and their rate
was planned under it. Replicas that are created in another directory have room there, and free their source before they
reach the planned one; ``apply`` places them first.
"""


def reasons_against(
    action: ActionRecord, snapshot: ClusterSnapshot, quorum: Quorum | None, policy: Policy, now_ms: int
) -> list[str]:
    """Return every reason why an action must not be carried out now; empty when it may."""
    try:
        action = _as_carried_out(action)
    except NOT_KNOWN:
        return [f"it {UNKNOWN}"]
    snapshot = with_excluded_log_dirs(snapshot, policy.limits)
    # On another cluster all topics are others than those that it was planned for.
    others = other_topics(action.topic_ids, {name: topic.id for name, topic in snapshot.topics.items()})
    found = [*_of_record(action, now_ms), *(f"{name} {ANOTHER_TOPIC}" for name in others)]
    if action.status in OPEN:
        reverted = why_reverted(action, None if policy.owner is None else policy.owner.kind)
        found += [
            *([] if reverted is None else [reverted]),
            *_of_alert(action, snapshot),
            *_of_need(action, snapshot, policy, now_ms),
            *_of_reassignment(action, snapshot, policy),
            *_of_configs(action, snapshot),
        ]
        # Those of reassignments are among the reasons above.
        found += standing_against(action, snapshot, policy) if action.reassignment is None else []
        found += ACTION_TYPES[action.kind].live_check(action, snapshot, quorum)
    return list(dict.fromkeys(found))


def left_to_see(action: ActionRecord) -> list[str]:
    """Return the preconditions that only a person can check."""
    return [str(item["text"]) for item in action.preconditions if item.get("holds") is None]


def _as_carried_out(action: ActionRecord) -> ActionRecord:
    """Return an action whose other fields say what its operations do: these alone are carried out."""
    operations = from_record(action.operations)
    reassigns = [one for one in operations if one.op is OperationKind.REASSIGN]
    there, here = (
        {"version": 1, "partitions": [entry for args in every for entry in plan_of(args)["partitions"]]}
        for every in ([one.args for one in reassigns], [one.inverse.args for one in reassigns])
    )
    sets: dict[str, dict[str, Any]] = {}
    for one in operations:
        if one.op is OperationKind.SET_TOPIC_CONFIG:
            change = {"from": one.expect_before.value, "to": one.args.value}
            sets.setdefault(str(one.args.topic), {})[str(one.args.key)] = change
    cancels = [entry for one in operations for entry in _reassignments_cancelled(one)]
    return replace(
        action,
        reassignment=there if reassigns else action.reassignment,
        undo={**action.undo, "reassignment": here} if reassigns else action.undo,
        configs=sets or action.configs,
        expected={**action.expected, "cancels": {"version": 1, "partitions": cancels}} if cancels else action.expected,
    )


def _reassignments_cancelled(one: Operation) -> list[dict[str, Any]]:
    """Return where the reassignments lead that an operation cancels; copies within brokers have no other replicas."""
    if one.op is not OperationKind.CANCEL_MOVES:
        return []
    kept, goals = plan_of(OperationArgs(reassignment=one.expect_after.reassignment)), plan_of(one.inverse.args)
    before = {(entry["topic"], entry["partition"]): entry["replicas"] for entry in kept["partitions"]}
    return [goal for goal in goals["partitions"] if goal["replicas"] != before[goal["topic"], goal["partition"]]]


def _of_record(action: ActionRecord, now_ms: int) -> Iterator[str]:
    if action.status not in OPEN:
        yield f"it is {action.status}: {action.status_reason or 'no reason given'}"
    elif action.status is ActionStatus.RUNNING:
        yield "it is running already"
    elif action.status is ActionStatus.PROPOSED and action.expires_at_ms < now_ms:
        yield f"it expired {human_ms(now_ms - action.expires_at_ms)} ago and was not renewed"
    for veto in action.vetoes:
        yield f"when it was planned: {veto['reason']}"
    for item in action.preconditions:
        if item.get("holds") is False and item.get("name") not in _NO_OBSTACLE:
            yield f"when it was planned this did not hold: {item['text']}"


def _of_alert(action: ActionRecord, snapshot: ClusterSnapshot) -> Iterator[str]:
    """Yield why there is nothing left to repair."""
    rule, broker, path = action.alert.get("rule"), action.target.get("broker"), action.target.get("log_dir")
    directory = None if broker is None or path is None else snapshot.directories.get((broker, path))
    if rule in _NEEDS_OFFLINE and directory is not None and directory.is_serving:
        yield f"{directory.path} of broker {directory.broker} serves again"
    if rule in _NEEDS_AWAY and isinstance(broker, int) and snapshot.is_alive(broker):
        yield f"broker {broker} is alive again"


def _of_need(action: ActionRecord, snapshot: ClusterSnapshot, policy: Policy, now_ms: int) -> Iterator[str]:
    """Yield that history would be deleted for nothing: the need was seen when it was planned, or is seen now."""
    if not action.data_loss or action.kind is not ActionKind.LOWER_RETENTION:
        return
    age_ms, least = now_ms - action.at_ms, policy.limits.target_ratio
    served = [place for place in map(snapshot.directories.get, _places(action)) if place is not None]
    if age_ms <= policy.facts_max_age_ms or not served:
        return
    ratios = [place.used_bytes / place.total_bytes for place in served if place.used_bytes and place.total_bytes]
    if not ratios:
        yield f"it was planned {human_ms(age_ms)} ago, and whether space is still needed cannot be seen"
    elif max(ratios) < least:
        yield (
            f"it was planned {human_ms(age_ms)} ago, and now the fullest directory that it serves is "
            f"{human_ratio(max(ratios))} full: history would be deleted for nothing"
        )


def _places(action: ActionRecord) -> list[LogDirId]:
    """Return the directories that an action serves: its target, without one those that it frees space in."""
    target = (action.target.get("broker"), action.target.get("log_dir"))
    on = [(one.get("broker"), one.get("log_dir")) for one in action.expected.get("on") or ()]
    return [(b, path) for b, path in ([target] if None not in target else on) if isinstance(b, int) and path]


def _of_reassignment(action: ActionRecord, snapshot: ClusterSnapshot, policy: Policy) -> Iterator[str]:
    if action.reassignment is None:
        return
    if snapshot.inventory_at_ms is None:
        yield "the topics cannot be listed, so nobody knows where their replicas are"
        return
    yield from standing_against(action, snapshot, policy)
    own = set(keys_in(action.reassignment))
    others = sorted(p.label for p in snapshot.partitions.values() if p.is_reassigned and p.key not in own)
    is_beside = any(one.args.additional for one in from_record(action.operations))
    if others and not (is_beside or any(ADDITIONAL in command for command in action.commands)):
        yield f"another reassignment runs ({some_of(others, 3)}); Kafka's tool refuses a second one"
    if any(partition.adding is None for partition in snapshot.partitions.values()):
        yield "whether a reassignment runs cannot be asked"


def _of_configs(action: ActionRecord, snapshot: ClusterSnapshot) -> Iterator[str]:
    """Yield configurations that have changed since the action was planned."""
    for topic, changes in (action.configs or {}).items():
        for key, change in changes.items() if isinstance(changes, dict) else ():
            if not isinstance(change, dict) or change.get("from") is None:
                continue
            now = snapshot.topics[topic].configs.get(key) if topic in snapshot.topics else None
            if topic not in snapshot.topics:
                yield f"topic {topic} is not there any more, or the ACL Describe on it is missing"
            elif now is None:
                yield f"{key} of topic {topic} is not shown: is the ACL DescribeConfigs on it missing?"
            elif now != change["from"]:
                yield f"{key} of {topic} is {now}, not {change['from']} as it was"
