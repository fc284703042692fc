"""The life of actions: what is on the topic against what would be planned now.

::

    proposed ──▶ accepted ──▶ running ──▶ done | failed
       │  ├────▶ rejected        ▲
       │  └──────────────────────┘  carried out without a word
       └──▶ superseded (something better) | withdrawn (wrong, or its alert is over) | expired (cannot be renewed)

Every function returns only what must be published: a second look at the same snapshot returns nothing.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from logdirwatch.model.records import ActionRecord, AlertRecord, DecisionRecord
from logdirwatch.model.vocabulary import OPEN, SPACE_STATUSES, TAKEN_UP, ActionStatus, BrokerStatus, Decision, Severity
from logdirwatch.plan.action_types import ACTION_TYPES
from logdirwatch.plan.actions.action_type import BETTER_BY
from logdirwatch.plan.actions.progress import Progress
from logdirwatch.plan.cluster.snapshot import ClusterSnapshot
from logdirwatch.plan.content_hash import is_said_of
from logdirwatch.plan.operator_decisions import is_rejected
from logdirwatch.plan.owners.owner import why_reverted
from logdirwatch.plan.proposal import Policy

OTHER_CONTENT = "accept_other_content"
"""``decision.decision`` of an action whose acceptance refers to other content: it accepts nothing."""


def decide(action: ActionRecord, decision: DecisionRecord, now_ms: int) -> ActionRecord | None:
    """Return the action after a person's decision; None if the decision is outdated or changes nothing.

    An acceptance holds for the content that was seen: other content must be accepted again, and the action says so.
    """
    if action.decision is not None and decision.at_ms <= action.decision["at_ms"]:
        return None
    said = {"decision": str(decision.decision), "by": decision.by, "reason": decision.reason, "at_ms": decision.at_ms}
    if decision.decision is Decision.ACCEPT and action.status is ActionStatus.PROPOSED:
        if not is_said_of(decision, action):
            said["decision"] = OTHER_CONTENT
            which = "an earlier revision" if decision.revision is None else f"revision {decision.revision}"
            why = f"{decision.by} accepted it as {which}, which said something else: read it again and accept this one"
            return next_revision(action, now_ms, action.status, why, decision=said)
        status = ActionStatus.ACCEPTED
    elif decision.decision is Decision.REJECT and action.status in {ActionStatus.PROPOSED, ActionStatus.ACCEPTED}:
        status = ActionStatus.REJECTED
    else:
        return None
    return next_revision(action, now_ms, status, f"{decision.by}: {decision.reason}", decision=said)


def reconcile(
    known: Sequence[ActionRecord],
    planned: Sequence[ActionRecord],
    snapshot: ClusterSnapshot,
    policy: Policy,
    now_ms: int,
) -> list[ActionRecord]:
    """Return the revisions that bring an open alert's actions in line with a plan on a fresh snapshot."""
    moved = [_moved_on(action, planned, snapshot, policy, now_ms) or action for action in known]
    by_id = {action.action_id: action for action in moved}
    changed = [new for old, new in zip(known, moved, strict=True) if new is not old]
    proposed = [
        revision
        for plan in planned
        if (revision := _revised(by_id.get(plan.action_id), plan, snapshot, policy, now_ms))
    ]
    wanted = {plan.action_id for plan in planned}
    return [*changed, *proposed, *_superseded(moved, planned, wanted, now_ms)]


def keep_waiting(known: Sequence[ActionRecord], fallback: Sequence[ActionRecord], now_ms: int) -> list[ActionRecord]:
    """Return the revisions for an open alert on whose cluster nothing can be planned now.

    Published actions stay until they expire; ``fallback``, the runbook step, is added if none is left.
    """
    wanted = {plan.action_id for plan in fallback}
    expired = [
        next_revision(
            action, now_ms, ActionStatus.EXPIRED, "not taken up in time, and the facts are too old to renew it"
        )
        for action in known
        if _is_past(action, now_ms) and action.action_id not in wanted
    ]
    if any(action.status in OPEN and not _is_past(action, now_ms) for action in known):
        return expired
    by_id = {action.action_id: action for action in known}
    renewed = (_renewed(by_id.get(plan.action_id), plan) for plan in fallback)
    return [*expired, *(action for action in renewed if action is not None)]


def _is_past(action: ActionRecord, now_ms: int) -> bool:
    return action.status is ActionStatus.PROPOSED and action.expires_at_ms <= now_ms


def _moved_on(
    action: ActionRecord, planned: Sequence[ActionRecord], snapshot: ClusterSnapshot, policy: Policy, now_ms: int
) -> ActionRecord | None:
    """Return an action's next revision if it was begun, carried out or became impossible, as the snapshot shows."""
    if action.status not in OPEN:
        return None
    seen = progress(action, snapshot)
    if seen is not None and seen.is_done:
        return done(action, seen.observed, now_ms)
    if seen is not None and seen.is_running and action.status is not ActionStatus.RUNNING:
        observed = {**seen.observed, "started_at_ms": now_ms}
        return next_revision(action, now_ms, ActionStatus.RUNNING, "part of its target is seen", observed=observed)
    if action.status is ActionStatus.RUNNING and not is_in_time(action, policy, now_ms):
        return failed(action, {} if seen is None else seen.observed, now_ms)
    if action.status is not ActionStatus.ACCEPTED:
        return None
    why = next(iter(standing_against(action, snapshot, policy)), None) or _why_invalid(action, planned)
    return None if why is None else next_revision(action, now_ms, ActionStatus.WITHDRAWN, f"it no longer holds: {why}")


def standing_against(action: ActionRecord, snapshot: ClusterSnapshot, policy: Policy) -> list[str]:
    """Return why a published action may no longer be carried out on the snapshot."""
    return [*ACTION_TYPES[action.kind].reasons_against(action, snapshot, policy)]


def _revised(
    old: ActionRecord | None, plan: ActionRecord, snapshot: ClusterSnapshot, policy: Policy, now_ms: int
) -> ActionRecord | None:
    """Return the revision to publish for a planned action; None if the published one is still good."""
    if old is None:
        return plan
    if old.status is ActionStatus.PROPOSED:
        is_current = _is_current(old, plan, snapshot, policy, now_ms) and not _was_uninformed(old, snapshot, policy)
        return None if is_current else _again(old, plan)
    if old.status in TAKEN_UP:
        return None
    if old.status in {ActionStatus.DONE, ActionStatus.FAILED}:
        return _again(old, plan) if now_ms > old.at_ms + policy.settling_ms else None
    return _renewed(old, plan)


def _was_uninformed(old: ActionRecord, snapshot: ClusterSnapshot, policy: Policy) -> bool:
    """Tell whether a proposal was made while planning was impossible: it promised that the full action follows."""
    inventory_at_ms: int | None = old.based_on.get("inventory_at_ms")
    if inventory_at_ms is None:
        return snapshot.inventory_at_ms is not None
    return abs(old.at_ms - inventory_at_ms) > policy.facts_max_age_ms


def _is_current(old: ActionRecord, plan: ActionRecord, snapshot: ClusterSnapshot, policy: Policy, now_ms: int) -> bool:
    """Whether a published proposal still matches: numbers change with every sample."""
    before, now = old.expected.get("throttle_bytes_per_s"), plan.expected.get("throttle_bytes_per_s")
    return (
        now_ms < old.expires_at_ms
        and _names(old.vetoes) == _names(plan.vetoes)
        and all(old.alert.get(key) == plan.alert.get(key) for key in ("severity", "to", "cause"))
        and (old.reassignment is None) == (plan.reassignment is None)
        and old.data_loss == plan.data_loss
        and old.expected.get("device") == plan.expected.get("device")
        # Its throttle is about the one that is in time now; without one nothing is limited.
        and (before is None or now is None or now <= BETTER_BY * before)
        and ACTION_TYPES[plan.kind].covers(old, plan)
        and not standing_against(old, snapshot, policy)
    )


def _superseded(
    known: Iterable[ActionRecord], planned: Sequence[ActionRecord], wanted: set[str], now_ms: int
) -> list[ActionRecord]:
    kinds = ", ".join(dict.fromkeys(str(plan.kind) for plan in planned))
    why = f"replaced by {kinds}" if kinds else "nothing asks for it any more"
    return [
        next_revision(action, now_ms, ActionStatus.SUPERSEDED, why)
        for action in known
        if action.status is ActionStatus.PROPOSED and action.action_id not in wanted
    ]


def _renewed(old: ActionRecord | None, plan: ActionRecord) -> ActionRecord | None:
    """Return the plan as the next revision; None if it was rejected and the severity did not rise since."""
    if old is None:
        return plan
    return None if is_rejected(old, Severity(plan.alert["severity"])) else _again(old, plan)


def _again(old: ActionRecord, plan: ActionRecord) -> ActionRecord:
    """Return the plan as the next revision, with the note that an earlier one was accepted."""
    is_other = (old.decision or {}).get("decision") == OTHER_CONTENT
    why = old.status_reason if is_other and old.status is ActionStatus.PROPOSED else plan.status_reason
    return replace(plan, revision=old.revision + 1, decision=old.decision, status_reason=why)


def _names(vetoes: Iterable[Mapping[str, Any]]) -> set[str]:
    return {str(veto["name"]) for veto in vetoes}


def _why_invalid(action: ActionRecord, planned: Sequence[ActionRecord]) -> str | None:
    """Return why an accepted action no longer holds, given what would be planned for its alert now; None if it does.

    It has a new veto, the list that its cordon sets has changed, or the alert has another cause, for which the action
    is no remedy.
    """
    if not planned:
        return None
    again = next((plan for plan in planned if plan.action_id == action.action_id), None)
    if again is not None:
        if (reverted := why_reverted(action, again.owner)) is not None:
            return reverted
        known = {veto["name"] for veto in action.vetoes}
        against = [veto["reason"] for veto in again.vetoes if veto["name"] not in known]
        is_other_list = ACTION_TYPES[action.kind].sets_whole_list and action.commands != again.commands
        other = "other directories of the broker are cordoned now, or will be, than its command says"
        return str(against[0]) if against else other if is_other_list else None
    was, now = action.alert.get("cause"), planned[0].alert.get("cause")
    return None if was == now else f"its alert was about the cause {was or 'unknown'}, and now is about {now or 'none'}"


def next_revision(action: ActionRecord, now_ms: int, status: ActionStatus, why: str, **changes: Any) -> ActionRecord:
    """Return an action's next revision; ``changes`` are its new field values."""
    return replace(action, revision=action.revision + 1, status=status, status_reason=why, at_ms=now_ms, **changes)


def done(action: ActionRecord, observed: Mapping[str, Any], now_ms: int) -> ActionRecord:
    """Return the last revision of an action with what was observed, and its duration if its start was seen."""
    started_at_ms = (action.observed or {}).get("started_at_ms")
    times = {} if started_at_ms is None else {"started_at_ms": started_at_ms, "took_ms": now_ms - started_at_ms}
    return next_revision(action, now_ms, ActionStatus.DONE, "all of its target is seen", observed={**observed, **times})


def is_in_time(action: ActionRecord, policy: Policy, now_ms: int) -> bool:
    """Return whether an action is being carried out and may still take as long as it said, plus two inventories."""
    if action.status is not ActionStatus.RUNNING:
        return False
    started_at_ms: int = (action.observed or {})["started_at_ms"]
    return now_ms <= started_at_ms + (action.expected.get("needs_ms") or 0) + policy.settling_ms


def failed(action: ActionRecord, observed: Mapping[str, Any], now_ms: int) -> ActionRecord:
    """Return the last revision of an action that took too long, with what was observed."""
    observed = {**(action.observed or {}), **observed}
    return next_revision(
        action, now_ms, ActionStatus.FAILED, "not all of its target is seen in time", observed=observed
    )


def progress(action: ActionRecord, snapshot: ClusterSnapshot) -> Progress | None:
    """Return the progress of an action; None if the snapshot cannot show it."""
    return ACTION_TYPES[action.kind].progress(action, snapshot)


_BACK = frozenset({*map(str, SPACE_STATUSES), str(BrokerStatus.DEGRADED)})


# An action that is being carried out goes on when its alert resolves: its own first effect may have ended the alert,
# and nobody should leave half of the copies where they were.
def close(
    known: Iterable[ActionRecord],
    alert: AlertRecord | None,
    snapshot: ClusterSnapshot | None,
    policy: Policy,
    now_ms: int,
) -> list[ActionRecord]:
    """Return the last revisions for a resolved alert: done, withdrawn, or failed if it took too long.

    An alert resolves before an inventory shows why: actions whose effect an inventory can show wait for the next one.
    """
    closed = (_closed(action, alert, snapshot, policy, now_ms) for action in known if action.status in OPEN)
    return [action for action in closed if action is not None]


def _closed(
    action: ActionRecord, alert: AlertRecord | None, snapshot: ClusterSnapshot | None, policy: Policy, now_ms: int
) -> ActionRecord | None:
    seen = None if snapshot is None else progress(action, snapshot)
    if seen is not None and seen.is_done:
        return done(action, seen.observed, now_ms)
    if alert is None:
        return next_revision(action, now_ms, ActionStatus.WITHDRAWN, "its alert is gone")
    if ACTION_TYPES[action.kind].is_done_when_back and alert.to_status in _BACK:
        back = {"status": alert.to_status, "at_ms": alert.at_ms}
        what = "broker answers" if alert.log_dir is None else "directory serves"
        return next_revision(action, now_ms, ActionStatus.DONE, f"the {what} again", observed=back)
    is_older = snapshot is None or snapshot.inventory_at_ms is None or snapshot.inventory_at_ms <= alert.at_ms
    may_show_more = seen is not None and is_older and now_ms - alert.at_ms < policy.settling_ms
    if is_in_time(action, policy, now_ms) or may_show_more:
        return None
    if action.status is ActionStatus.RUNNING and seen is not None:
        return failed(action, seen.observed, now_ms)
    why = f"its alert is resolved: {alert.reason or 'no reason given'}"
    observed = seen.observed if seen is not None and seen.is_running else action.observed
    return next_revision(action, now_ms, ActionStatus.WITHDRAWN, why, observed=observed)
