"""The decision that accepts or rejects an action, as the command line and the console write it. Pure."""

from logdirwatch.cli.deciding import Signed
from logdirwatch.decisions import DECIDABLE
from logdirwatch.errors import UserError
from logdirwatch.model.records import ActionRecord, DecisionRecord
from logdirwatch.model.vocabulary import Decision
from logdirwatch.plan.content_hash import content_hash


def new_decision(
    action: ActionRecord, decision: Decision, said: Signed, at_ms: int, seen_hash: str | None = None
) -> DecisionRecord:
    """Return the decision; raises UserError if the action's status does not allow it.

    With ``seen_hash``, the content_hash of what the person saw, also if the action would do something else now.
    """
    if action.status not in DECIDABLE[decision]:
        raise UserError(f"action {action.action_id} is {action.status}: there is nothing to {decision}")
    hashed = content_hash(action)
    if seen_hash is not None and seen_hash != hashed:
        raise UserError(f"action {action.action_id} changed since the page was made: read it again before you decide")
    return DecisionRecord(
        version=1,
        id=action.action_id,
        cluster=action.cluster,
        decision=decision,
        by=said.by,
        reason=said.reason,
        at_ms=at_ms,
        revision=action.revision,
        content_hash=hashed,
    )
