"""Follow-ups to actions that were carried out: undo them when the alert is resolved, and clear what is left behind.

A follow-up is an action of its own, linked to the alert of the first one: ``target.after`` names that action. Whether
an action was carried out is seen in the snapshot or, where nothing can be seen, taken from its acceptance.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from logdirwatch.model.records import ActionRecord, AlertRecord
from logdirwatch.model.vocabulary import OPEN, ActionStatus
from logdirwatch.plan.action_records import record
from logdirwatch.plan.action_types import ACTION_TYPES
from logdirwatch.plan.actions.progress import was_begun, was_carried_out
from logdirwatch.plan.actions.topics.restore_retention import with_returning, with_room_for
from logdirwatch.plan.cluster.snapshot import ClusterSnapshot
from logdirwatch.plan.proposal import Policy, ProposedAction

VALID_MS = 86_400_000
"""An undo stays valid longer than a remedy: it is renewed once a day."""

WAITS = 3
"""The maximum wait until the snapshot shows what was done, as a multiple of its delay."""

_SETTLED = frozenset({ActionStatus.REJECTED, ActionStatus.DONE})


def is_follow_up(action: ActionRecord) -> bool:
    """Tell whether an action follows another one."""
    return "after" in action.target


def may_owe(actions: Iterable[ActionRecord], settling_ms: int, now_ms: int, *, are_facts_known: bool) -> bool:
    """Tell whether the actions of a resolved alert may still need a follow-up, though none is due yet.

    The snapshot shows late what was done.
    """
    known = list(actions)
    owing = unsettled(known)
    late = [a for a in known if a.action_id in owing and now_ms <= a.at_ms + WAITS * settling_ms]
    return bool(late or (owing and not are_facts_known))


def unsettled(actions: Iterable[ActionRecord]) -> set[str]:
    """Return the actions that may have been carried out and whose follow-up is not finished."""
    known = list(actions)
    settled = {str(a.target["after"]) for a in known if is_follow_up(a) and a.status in _SETTLED}
    return {action.action_id for action in known if _may_be_done(action)} - settled


def follow_ups(
    alert: AlertRecord,
    known: Sequence[ActionRecord],
    snapshot: ClusterSnapshot,
    policy: Policy,
    now_ms: int,
    *,
    is_over: bool,
) -> list[ActionRecord]:
    """Return the present follow-ups to the actions of an alert; while it fires, only for leftovers of moves."""
    owing, snapshot = unsettled(known), with_returning(known, snapshot)
    proposals: list[ProposedAction] = []
    for action in known:
        follow = ACTION_TYPES[action.kind].follow_up
        if follow is None or not (is_over or follow.while_firing):
            continue
        if action.action_id not in owing or now_ms < action.at_ms + policy.settling_ms:
            continue
        proposal = follow.propose(action, snapshot, policy)
        if proposal is not None:
            proposals.append(proposal)
            snapshot = with_room_for(proposal, snapshot)
    lasting = (replace(proposal, valid_ms=VALID_MS) for proposal in proposals)
    return [record(proposal, alert, snapshot, policy, now_ms) for proposal in lasting]


def _may_be_done(action: ActionRecord) -> bool:
    """Tell whether an action has ended and was seen begun or done, or was accepted."""
    has_follow_up = ACTION_TYPES[action.kind].follow_up is not None
    if not has_follow_up or action.status in OPEN or action.status is ActionStatus.REJECTED:
        return False
    observed = action.observed or {}
    return was_carried_out(action) or was_begun(action) or bool(observed.get("is_set"))
