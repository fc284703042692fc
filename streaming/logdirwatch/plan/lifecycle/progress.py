"""How far an action is, as the facts show it."""

from logdirwatch.model.records import ActionRecord
from logdirwatch.plan.action_types import ACTION_TYPES
from logdirwatch.plan.actions.progress import Progress
from logdirwatch.plan.cluster.snapshot import Facts


def progress(action: ActionRecord, facts: Facts) -> Progress | None:
    """Return how far an action is; None where the facts cannot show it."""
    return ACTION_TYPES[action.kind].progress(action, facts)
