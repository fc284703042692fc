"""Whether an action may be carried out at all, according to its record."""

from logdirwatch.execute.steps import steps_of
from logdirwatch.model.records import ActionRecord
from logdirwatch.model.vocabulary import ActionStatus, ClusterOwner
from logdirwatch.plan.commands.operations import NOT_KNOWN, UNKNOWN, from_record
from logdirwatch.plan.content_hash import content_hash

_OTHER_CONTENT = "accept_other_content"


def reason_against_applying(action: ActionRecord) -> str | None:
    """Return why an action must not be carried out, as the end of a sentence; None when it may."""
    if action.vetoes:
        return f"must not be done now: {action.vetoes[0]['reason']}"
    if not action.operations:
        return _for_a_person(action)
    if action.content_hash != content_hash(action):
        return "is not what its content_hash stands for: another program wrote or changed it"
    return _undecided(action) or _unknown(action)


def _undecided(action: ActionRecord) -> str | None:
    if action.status not in {ActionStatus.PROPOSED, ActionStatus.ACCEPTED}:
        return f"is {action.status}"
    if (action.decision or {}).get("decision") == _OTHER_CONTENT:
        return "says something else than what was accepted: look at it and accept it again"
    return None


def _unknown(action: ActionRecord) -> str | None:
    """Return that the operations or their undo have no steps: they are of a later release, or forged."""
    try:
        from_record(action.operations or ())
        for back in (False, True):
            steps_of(action.operations or (), back=back)
    except NOT_KNOWN:
        return UNKNOWN
    return None


def _for_a_person(action: ActionRecord) -> str:
    if action.owner is ClusterOwner.STRIMZI:
        return "is written for Strimzi, which reverts what is changed past it: use the commands of actions show"
    return "has no operations: only a person can carry it out, with the commands of actions show"
