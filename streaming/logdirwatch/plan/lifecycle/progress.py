"""The progress of an action, inferred from the snapshot."""

from logdirwatch.model.records import ActionRecord
from logdirwatch.plan.action_types import ACTION_TYPES
from logdirwatch.plan.actions.progress import Progress
from logdirwatch.plan.cluster.snapshot import ClusterSnapshot


def progress(action: ActionRecord, snapshot: ClusterSnapshot) -> Progress | None:
    """Return the progress of an action; None if the snapshot cannot show it."""
    return ACTION_TYPES[action.kind].progress(action, snapshot)
