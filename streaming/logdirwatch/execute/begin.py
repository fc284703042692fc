"""The first record of an execution."""

import uuid

from logdirwatch.model.records import ActionRecord, ExecutionRecord
from logdirwatch.model.vocabulary import MOVES, ExecutionState
from logdirwatch.plan.content_hash import content_hash


def begun(action: ActionRecord, by: str, now_ms: int) -> ExecutionRecord:
    """Return a new execution of an action, claimed by ``by``."""
    return ExecutionRecord(
        version=1,
        execution_id=uuid.uuid4().hex,
        action_id=action.action_id,
        revision=action.revision,
        content_hash=content_hash(action),
        kind=action.kind,
        cluster=action.cluster,
        state=ExecutionState.CLAIMED,
        back=False,
        operations=action.operations or [],
        bytes=bytes_of(action),
        by=by,
        started_at_ms=now_ms,
        at_ms=now_ms,
    )


def bytes_of(action: ActionRecord) -> int | None:
    """Return the bytes that an action copies; None: not known."""
    if action.kind not in MOVES:
        return 0
    found = action.expected.get("copies_bytes")
    found = action.expected.get("frees_bytes") if found is None else found
    return found if isinstance(found, int) else None
