"""A hash of all that an action can do: whether a decision on one revision also holds for another.

It covers the operations whole: what is done, the way back, the values that may be overwritten, and the ids of the
topics: a topic that was created again under the name is not the one that was decided about. Texts, times,
expected effects and vetoes are left out: they change with every sample and change nothing on a cluster.
"""

import json
from collections.abc import Mapping
from typing import Any

from logdirwatch.model.identity import identity
from logdirwatch.model.records import ActionRecord, DecisionRecord


def content_hash(action: ActionRecord) -> str:
    """Return the hash of what an action does, 32 hex digits."""
    content: tuple[Any, ...] = (
        str(action.kind),
        action.target,
        action.commands,
        action.reassignment,
        _wanted(action.configs),
        action.data_loss,
    )
    if action.operations is not None:
        content += (list(action.operations),)
    if action.topic_ids:
        content += (action.topic_ids,)
    return identity(json.dumps(content, sort_keys=True, separators=(",", ":")))


def is_said_of(decision: DecisionRecord, action: ActionRecord) -> bool:
    """Tell whether a decision refers to what an action does now.

    By the content hash, else by the revision. Of a decision that names neither, as other programs may write it, only
    the first revision is certain to be what the person saw.
    """
    if decision.content_hash is not None:
        return decision.content_hash == content_hash(action)
    return action.revision == (1 if decision.revision is None else decision.revision)


def _wanted(configs: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the values that the action sets; the values from before are recorded only for the undo."""
    return {
        topic: _values(changes) if isinstance(changes, dict) else changes for topic, changes in (configs or {}).items()
    }


def _values(changes: Mapping[str, Any]) -> dict[str, Any]:
    return {
        key: change["to"] if isinstance(change, dict) and "to" in change else change for key, change in changes.items()
    }
