"""An action needs an acceptance of its present content, or a kind that may start unattended; a rejection always counts.

Decisions are read from their own topic. The status ``accepted`` in an action's record proves nothing, because
permission to write actions is not permission to decide.
"""

from logdirwatch.autopilot.facts import Facts
from logdirwatch.model.records import ActionRecord
from logdirwatch.model.vocabulary import Decision
from logdirwatch.plan.content_hash import content_hash


def reason(action: ActionRecord, facts: Facts, now_ms: int) -> str | None:
    """Return who rejected it, or that it is not accepted."""
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
