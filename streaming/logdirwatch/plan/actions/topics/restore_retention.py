"""``restore_retention``: set a topic's old retention again once there is room for the history.

Restoring too early fills the directory again; forgetting it loses data later. The bytes that a cut freed come back, so
every directory that it freed must have that much room below the target ratio.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace as _replace
from typing import Any

from msgspec.structs import replace

from logdirwatch.model.actions.operations import Operation
from logdirwatch.model.records import ActionRecord
from logdirwatch.model.vocabulary import ActionKind, ActionStatus, LogDirStatus, OperationKind
from logdirwatch.plan.actions.action_type import ActionType, frees_as_much, only
from logdirwatch.plan.actions.parts import bytes_at, carried_out_by
from logdirwatch.plan.actions.progress import Progress, in_one_step, target_after
from logdirwatch.plan.capacity.projected_use import Space
from logdirwatch.plan.cluster.layout import LogDirId
from logdirwatch.plan.cluster.snapshot import ClusterSnapshot
from logdirwatch.plan.commands.operations import topic_config, undone_to
from logdirwatch.plan.proposal import NAMED, Policy, Precondition, ProposedAction, Veto, effect, owner_of
from logdirwatch.plan.retention.limits import UNLIMITED
from logdirwatch.text.units import human_bytes, human_ratio

_NEVER_MADE = frozenset({ActionStatus.PROPOSED, ActionStatus.SUPERSEDED, ActionStatus.EXPIRED})


def is_cut(action: ActionRecord, snapshot: ClusterSnapshot) -> bool:
    """Tell whether a cut is in force: a limit of its topic has the value that it set, or a later cut's lower one."""
    return bool(_standing(action, snapshot))


def carry_over_limits(old: ActionRecord | None, plan: ActionRecord) -> ActionRecord:
    """Return a deeper cut with the limits from before the first cut, which are the ones to restore.

    The first cut has the same identity, and its record is replaced by the new one.
    """
    if old is None or plan.kind is not ActionKind.LOWER_RETENTION or not (old.observed or {}).get("is_set"):
        return plan
    topic = str(plan.target["topic"])
    before, now = (old.configs or {})[topic], (plan.configs or {})[topic]
    changes = {**before, **{key: _after(before.get(key), change) for key, change in now.items()}}
    is_new = any(key not in before for key in now)
    # A deeper cut that was only proposed freed nothing.
    freed = list(old.expected.get("freed_before", ())) if old.status in _NEVER_MADE else _freed(old)
    back = {topic: {**plan.undo["configs"][topic], **old.undo["configs"][topic]}}
    return replace(
        plan,
        operations=None if plan.operations is None else undone_to(plan.operations, back),
        configs={topic: changes},
        expected={**plan.expected, "freed_before": freed},
        undo={
            **plan.undo,
            "configs": back,
            "commands": [*old.undo["commands"], *(plan.undo["commands"] if is_new else [])],
        },
        observed={"is_set": True},
    )


def _after(before: Mapping[str, Any] | None, change: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a change with the limit from before the first cut, and the limit that the first cut set.

    Up to that limit the topic is cut, whatever deeper cuts, of other alerts too, were taken back meanwhile.
    """
    return change if before is None else {**change, "was": was(before), "stands": _stands(before)}


def _stands(change: Mapping[str, Any]) -> Any:
    """Return the limit that the first cut set."""
    return change.get("stands", change["to"])


def _freed(action: ActionRecord) -> list[dict[str, Any]]:
    """Return the bytes that a cut freed, including earlier cuts."""
    found: Counter[LogDirId] = Counter()
    for one in (*action.expected.get("freed_before", ()), *action.expected["on"]):
        found[one["broker"], one["log_dir"]] += one["bytes"]
    return bytes_at(found)


def was(change: Mapping[str, Any]) -> Any:
    """Return the limit from before the first cut."""
    return change.get("was", change["from"])


def propose_restore(action: ActionRecord, snapshot: ClusterSnapshot, policy: Policy) -> ProposedAction | None:
    """Return the action that restores a topic's old limits; vetoed while there is no room."""
    standing, topic = _standing(action, snapshot), str(action.target["topic"])
    if not standing:
        return None
    old, now = action.undo["configs"][topic], snapshot.topics[topic].configs
    is_made = any(_size(now.get(key)) <= _size(change["to"]) for key, change in standing.items())
    freed = _freed(action) if is_made else action.expected.get("freed_before", [])
    comes_back = {(one["broker"], one["log_dir"]): one["bytes"] for one in freed if one["bytes"] > 0}
    # Undoing the earlier cut would undo a later one too.
    again = [
        Veto("cut_again", f"a later cut lowered {topic} further, to {value}: that one is to be taken back first")
        for key, change in standing.items()
        if (value := now.get(key)) is not None and _size(value) < _size(change["to"])
    ]
    operations = (topic_config(topic, key, old[key], now=now.get(key), old=now.get(key)) for key in standing)
    limits = ", ".join(f"{key} {_said(was(change))}" for key, change in standing.items())
    known = [snapshot.directories[place] for place in comes_back if place in snapshot.directories]
    # Too little room is a veto.
    has_room = True if all(d.used_bytes is not None and d.total_bytes for d in known) else None
    return ProposedAction(
        kind=ActionKind.RESTORE_RETENTION,
        target=target_after(action),
        reason=f"give {topic} its old retention back, {limits} as before: the danger is over, and there is room for "
        f"the {human_bytes(sum(comes_back.values()))} that come back; tell {owner_of(topic, policy)}",
        expected=effect(
            needs_ms=0,
            on=bytes_at({place: -size for place, size in comes_back.items()}),
            owner=policy.limits.topic_rule(topic).owner,
        ),
        preconditions=(
            Precondition("danger_over", "the alert is resolved, and no directory that it freed is filling", True),
            Precondition("room", "every directory that it freed has room for the bytes that return", has_room),
            Precondition("limit_known", "the old limit is still what the owner wants", None),
        ),
        vetoes=(*again, *_no_room(comes_back, snapshot, policy)),
        configs={topic: {key: {"from": now.get(key), "to": was(change)} for key, change in standing.items()}},
        **carried_out_by(policy, *operations),
    )


def with_returning(known: Iterable[ActionRecord], snapshot: ClusterSnapshot) -> ClusterSnapshot:
    """Return the snapshot with the bytes that cuts restored earlier will bring back over time."""
    found = Counter(snapshot.reserved)
    for action in known:
        was_set = action.status is ActionStatus.DONE or (action.observed or {}).get("is_set")
        if action.kind is ActionKind.LOWER_RETENTION and was_set and not is_cut(action, snapshot):
            found.update(_still_returning(action, snapshot))
    return _replace(snapshot, reserved=dict(found))


def with_room_for(proposal: ProposedAction, snapshot: ClusterSnapshot) -> ClusterSnapshot:
    """Return the snapshot with the bytes that a restored retention will write.

    The next restored retention then needs its own room beside them.
    """
    if proposal.kind is not ActionKind.RESTORE_RETENTION or proposal.vetoes:
        return snapshot
    found = Counter(snapshot.reserved)
    found.update({(one["broker"], one["log_dir"]): -one["bytes"] for one in proposal.expected["on"]})
    return _replace(snapshot, reserved=dict(found))


def _still_returning(action: ActionRecord, snapshot: ClusterSnapshot) -> dict[LogDirId, int]:
    """Return the bytes that the alert's own directory has not regained since the cut; unknown for others."""
    before, topic = action.expected.get("topic_bytes_before"), str(action.target["topic"])
    place = action.target["broker"], action.target["log_dir"]
    freed = sum(one["bytes"] for one in _freed(action) if (one["broker"], one["log_dir"]) == place)
    if before is None or topic not in snapshot.topics:
        return {}
    return {place: max(0, min(freed, before - snapshot.layout.topic_bytes(place, topic)))}


def _standing(action: ActionRecord, snapshot: ClusterSnapshot) -> dict[str, Mapping[str, Any]]:
    """Return the changes of a cut that are still in force, by key."""
    topic = snapshot.topics.get(str(action.target["topic"]))
    changes = (action.configs or {}).get(str(action.target["topic"]), {})
    if topic is None:
        return {}
    return {
        key: change
        for key, change in changes.items()
        # An owner who raised the limit meanwhile has decided: it is no longer the cut's, and stays.
        if (now := topic.configs.get(key)) is not None and _size(now) <= _size(_stands(change)) < _size(was(change))
    }


def _no_room(comes_back: Mapping[LogDirId, int], snapshot: ClusterSnapshot, policy: Policy) -> list[Veto]:
    """Veto while a directory is filling, not reported, or would exceed the target ratio again."""
    space, limit = Space(snapshot), policy.limits.target_ratio
    found = [Veto("not_over", why) for why in _not_over(bytes_at(comes_back), snapshot)]
    for directory in (snapshot.directories[place] for place in sorted(comes_back) if place in snapshot.directories):
        used, total = space.used_bytes(directory.place, comes_back[directory.place]), directory.total_bytes
        if directory.status is LogDirStatus.ONLINE and used and total and (missing := used - int(limit * total)) > 0:
            where = f"{directory.path} of broker {directory.broker} below {human_ratio(limit, 0)}"
            more = f"{human_bytes(missing)} are missing in {where}: a bigger volume, or fewer replicas there"
            found.append(Veto("no_room_for_old_retention", more))
    return found[:NAMED]


def _not_over(on: Iterable[Mapping[str, Any]], snapshot: ClusterSnapshot) -> list[str]:
    found = [d for one in on if (d := snapshot.directories.get((one["broker"], one["log_dir"]))) is not None]
    return [f"{d.path} of broker {d.broker} is {d.status}" for d in found if d.status is not LogDirStatus.ONLINE]


def _size(value: Any) -> float:
    """Order limits: unlimited, unknown, and a local limit that follows the remote one sort above every number."""
    return float("inf") if value is None or int(value) < 0 else int(value)


def _said(value: Any) -> str:
    if value is None:
        return "an unknown value"
    return "unlimited" if str(value) == UNLIMITED else str(value)


def _progress(action: ActionRecord, snapshot: ClusterSnapshot) -> Progress | None:
    changes = action.configs or {}
    if not changes or any(name not in snapshot.topics for name in changes):
        return None
    is_restored = all(
        snapshot.topics[name].configs.get(key) == change["to"]
        for name, keys in changes.items()
        for key, change in keys.items()
    )
    return in_one_step(is_restored, snapshot)


RETENTION_KEYS = frozenset({"retention.ms", "retention.bytes", "local.retention.ms", "local.retention.bytes"})
_SETS_CONFIG = only(OperationKind.SET_TOPIC_CONFIG)


def sets_retention(operation: Operation, target: Mapping[str, Any]) -> bool:
    """Tell whether an operation sets one limit of the action's topic, and its inverse the same."""
    args, back = operation.args, operation.inverse.args
    return (
        _SETS_CONFIG(operation, target)
        and args.key in RETENTION_KEYS
        and (args.topic, args.key) == (back.topic, back.key)
        and target.get("topic") in {None, args.topic}
    )


ACTION_TYPE = ActionType(
    kind=ActionKind.RESTORE_RETENTION,
    progress=_progress,
    covers=frees_as_much,
    live_check=lambda action, snapshot, _: _not_over(action.expected.get("on") or (), snapshot),
    operator_reverts=True,
    executes=sets_retention,
)
