"""Changes that Strimzi reverts because they bypass its resources."""

from logdirwatch.model.records import ActionRecord
from logdirwatch.model.vocabulary import ActionKind, ClusterOwner

REVERTED = frozenset({ActionKind.LOWER_RETENTION, ActionKind.RESTORE_RETENTION, ActionKind.CORDON_LOG_DIR})
"""The kinds whose direct change an operator reverts."""


def why_reverted(action: ActionRecord, owner: ClusterOwner | None) -> str | None:
    """Return why an action planned before Strimzi managed the cluster must not be carried out; None if it may."""
    if owner is not ClusterOwner.STRIMZI or action.owner is owner or action.kind not in REVERTED:
        return None
    return "Strimzi reverts it: it was planned before the cluster was known to be Strimzi's"
