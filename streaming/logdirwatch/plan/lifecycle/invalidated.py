"""Whether an accepted action has become invalid: it must be withdrawn before somebody carries it out."""

from collections.abc import Sequence

from logdirwatch.model.records import ActionRecord
from logdirwatch.model.vocabulary import ActionStatus
from logdirwatch.plan.action_types import ACTION_TYPES
from logdirwatch.plan.owners.owner import why_reverted


def why_invalid(action: ActionRecord, planned: Sequence[ActionRecord]) -> str | None:
    """Return why an accepted action no longer holds, given what would be planned for its alert now; None if it does.

    It has a new veto, the list that its cordon sets has changed, or the alert has another cause, for which the action
    is no remedy.
    """
    if action.status is not ActionStatus.ACCEPTED or not planned:
        return None
    again = next((plan for plan in planned if plan.action_id == action.action_id), None)
    if again is not None:
        if (reverted := why_reverted(action, again.owner)) is not None:
            return reverted
        known = {veto["name"] for veto in action.vetoes}
        against = [veto["reason"] for veto in again.vetoes if veto["name"] not in known]
        return str(against[0]) if against else _other_list(action, again)
    was, now = action.alert.get("cause"), planned[0].alert.get("cause")
    return None if was == now else f"its alert was about the cause {was or 'unknown'}, and now is about {now or 'none'}"


def _other_list(action: ActionRecord, again: ActionRecord) -> str | None:
    if not ACTION_TYPES[action.kind].sets_whole_list or action.commands == again.commands:
        return None
    return "other directories of the broker are cordoned now, or will be, than its command says"
