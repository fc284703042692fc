"""What follows an action that was carried out: the way back once the danger is over, and limits that stayed behind.

A follow-up is an action of its own, linked to the alert of what it follows: ``target.after`` names that action. Whether
an action was carried out is seen in the facts, or known from a person who accepted it where nothing can be seen.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from logdirwatch.model.records import ActionRecord, AlertRecord
from logdirwatch.model.vocabulary import OPEN, ActionKind, ActionStatus, Decision
from logdirwatch.plan.actions.brokers.recreate_reserve import recreate_draft
from logdirwatch.plan.actions.replicas.clear_throttles import clear_draft
from logdirwatch.plan.actions.replicas.uncordon_log_dir import uncordon_draft
from logdirwatch.plan.actions.topics.restore_retention import is_cut, restore_draft, with_returning, with_room_for
from logdirwatch.plan.cluster.snapshot import Directory, Facts
from logdirwatch.plan.commands.configs import client_quota
from logdirwatch.plan.commands.throttles import from_data
from logdirwatch.plan.proposal import Draft, Policy, effect
from logdirwatch.plan.reassignment.throttles import SETS_LIMITS, still_ours
from logdirwatch.plan.recommend import record

Follow = Callable[[ActionRecord, Facts, Policy], Draft | None]

VALID_MS = 86_400_000
"""A way back stays right for longer than a way out: it is renewed once a day."""

WAITS = 3
"""How many times it takes for the facts to show what was done, at most."""

_SETTLED = frozenset({ActionStatus.REJECTED, ActionStatus.DONE})


def is_follow_up(action: ActionRecord) -> bool:
    """Tell whether an action follows another one."""
    return "after" in action.target


def may_owe(actions: Iterable[ActionRecord], settling_ms: int, now_ms: int, *, are_facts_known: bool) -> bool:
    """Tell whether something may still have to follow the actions of an alert that is over, though nothing does yet.

    What was done shows late in the facts: until then it is waited for.
    """
    known = list(actions)
    owing = unsettled(known)
    late = [a for a in known if a.action_id in owing and now_ms <= a.at_ms + WAITS * settling_ms]
    return bool(late or (owing and not are_facts_known))


def unsettled(actions: Iterable[ActionRecord]) -> set[str]:
    """Return the actions that may have been carried out and that nothing followed to its end yet."""
    known = list(actions)
    settled = {str(a.target["after"]) for a in known if is_follow_up(a) and a.status in _SETTLED}
    return {action.action_id for action in known if _may_be_done(action)} - settled


def follow_ups(
    alert: AlertRecord, known: Sequence[ActionRecord], facts: Facts, policy: Policy, now_ms: int, *, is_over: bool
) -> list[ActionRecord]:
    """Return what follows the actions of an alert now; while it fires that is only what moves left behind."""
    rules = _WHEN_OVER if is_over else _ALWAYS
    owing, facts = unsettled(known), with_returning(known, facts)
    drafts: list[Draft] = []
    for action in known:
        follow = rules.get(action.kind)
        if follow is None or action.action_id not in owing or now_ms < action.at_ms + policy.settling_ms:
            continue
        draft = follow(action, facts, policy)
        if draft is not None:
            drafts.append(draft)
            facts = with_room_for(draft, facts)
    lasting = (replace(draft, valid_ms=VALID_MS) for draft in drafts)
    return [record(draft, alert, facts.based_on, policy, now_ms) for draft in lasting]


def _may_be_done(action: ActionRecord) -> bool:
    """Tell whether an action was seen begun or done, or somebody said that it would be, and it has ended."""
    if action.kind not in _WHEN_OVER or action.status in OPEN or action.status is ActionStatus.REJECTED:
        return False
    observed = action.observed or {}
    return _was_carried_out(action) or _was_begun(action) or bool(observed.get("is_set"))


def _restored(action: ActionRecord, facts: Facts, policy: Policy) -> Draft | None:
    return restore_draft(action, facts, policy) if is_cut(action, facts) else None


def _uncordoned(action: ActionRecord, facts: Facts, policy: Policy) -> Draft | None:
    directory = _directory(action, facts)
    if directory is None or not directory.is_cordoned or not _was_carried_out(action):
        return None
    return uncordon_draft(directory, facts, policy, action.action_id)


def _recreated(action: ActionRecord, facts: Facts, policy: Policy) -> Draft | None:
    directory = _directory(action, facts)
    if directory is None or not _was_carried_out(action):
        return None
    return recreate_draft(directory, policy, action.action_id)


def _unthrottled(action: ActionRecord, facts: Facts, policy: Policy) -> Draft | None:
    """Return the end of a producer's quota: nobody sees whether it was set, but somebody said that it would be."""
    del facts
    if not _was_accepted(action):
        return None
    return Draft(
        kind=ActionKind.CLEAR_THROTTLES,
        target={**action.target, "after": action.action_id},
        reason="take the quota of the slowed producers away: the directory has room again",
        expected=effect(needs_ms=0),
        commands=(client_quota(policy.tools, None),),
        undo={"text": "set the quota again"},
    )


def _cleared(action: ActionRecord, facts: Facts, policy: Policy) -> Draft | None:
    """Return the end of limits that a plan set and its last command did not take away: of those with its own values.

    A plan of 0.1.0 did not say what it sets: ``throttle_left`` names what it left behind.
    """
    if SETS_LIMITS not in action.expected or not _was_begun(action):
        return None
    target = {"broker": action.target["broker"], "log_dir": action.target["log_dir"], "after": action.action_id}
    return clear_draft(still_ours(from_data(action.expected[SETS_LIMITS]), facts), facts, policy, target)


_ALWAYS: Mapping[ActionKind, Follow] = {
    ActionKind.MOVE_LOG_DIR: _cleared,
    ActionKind.REASSIGN: _cleared,
}
_WHEN_OVER: Mapping[ActionKind, Follow] = {
    **_ALWAYS,
    ActionKind.LOWER_RETENTION: _restored,
    ActionKind.CORDON_LOG_DIR: _uncordoned,
    ActionKind.RELEASE_RESERVE: _recreated,
    ActionKind.THROTTLE_PRODUCERS: _unthrottled,
}


def _was_carried_out(action: ActionRecord) -> bool:
    return action.status is ActionStatus.DONE or _was_accepted(action)


def _was_accepted(action: ActionRecord) -> bool:
    return action.decision is not None and action.decision.get("decision") == Decision.ACCEPT


def _was_begun(action: ActionRecord) -> bool:
    observed = action.observed or {}
    return action.status in {ActionStatus.DONE, ActionStatus.FAILED} or "started_at_ms" in observed


def _directory(action: ActionRecord, facts: Facts) -> Directory | None:
    return facts.directories.get((action.target["broker"], action.target["log_dir"]))
