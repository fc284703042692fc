"""Whether an action may be carried out at all, according to its record, and the first record of its execution."""

import json
import uuid
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from logdirwatch.execute import changes
from logdirwatch.execute.changes import Change
from logdirwatch.execute.packing import packed
from logdirwatch.execute.steps import steps_of
from logdirwatch.model.actions.operations import Operation
from logdirwatch.model.identity import identity
from logdirwatch.model.records import ActionRecord, ExecutionRecord
from logdirwatch.model.records.executions import FINISHED
from logdirwatch.model.vocabulary import MOVES, ActionKind, ActionStatus, ClusterOwner, ExecutionState
from logdirwatch.plan.commands.operations import NOT_KNOWN, UNKNOWN, as_data, from_record
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
        from_record(action.operations)
        for back in (False, True):
            steps_of(action.operations, back=back)
    except NOT_KNOWN:
        return UNKNOWN
    return None


def _for_a_person(action: ActionRecord) -> str:
    if action.owner is ClusterOwner.STRIMZI:
        return "is written for Strimzi, which reverts what is changed past it: use the commands of actions show"
    return "has no operations: only a person can carry it out, with the commands of actions show"


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
        operations=packed(action.operations or []),
        needs_ms=_number(action.expected.get("needs_ms")),
        bytes=bytes_of(action),
        topic_ids=action.topic_ids,
        by=by,
        started_at_ms=now_ms,
        at_ms=now_ms,
    )


def undone(known: Sequence[ExecutionRecord], by: str, now_ms: int) -> ExecutionRecord:
    """Return the execution that takes back what executions of an action did, from the oldest: the last one's content.

    Several may have done a part of it each, unless what they did was taken back since.
    """
    last = [one for one in known if not one.back][-1]
    ours = frozenset[Change]()
    for one in known:
        ours = frozenset() if one.back and one.state in FINISHED else ours | changes.changed(one)
    return replace(
        last,
        execution_id=uuid.uuid4().hex,
        state=ExecutionState.CLAIMED,
        back=True,
        step=0,
        changed=changes.written(ours, last.operations),
        begun={},
        by=by,
        reason=None,
        cause_is_seen=False,
        # A finished execution has deleted what it set: the same value now belongs to somebody else.
        limits=[] if last.state in FINISHED else last.limits,
        started_at_ms=now_ms,
        at_ms=now_ms,
    )


_PLAN = "plan-"


def planned(
    cluster: str, operations: Sequence[Operation], reason: str, expected: Mapping[str, Any], now_ms: int
) -> ActionRecord:
    """Return a plan as an action that is on no topic.

    Its id says so, and is derived from the cluster, the operations and the time.
    """
    data = as_data(operations)
    is_within = all(
        there.replicas == here.replicas
        for one in operations
        if one.args.reassignment is not None and one.expect_before.reassignment is not None
        for there, here in zip(one.args.reassignment.partitions, one.expect_before.reassignment.partitions, strict=True)
    )
    said = json.dumps([[one["op"], one["args"]] for one in data], sort_keys=True)
    return _action(
        f"{_PLAN}{identity(cluster, said, str(now_ms))}",
        ActionKind.MOVE_LOG_DIR if is_within else ActionKind.REASSIGN,
        cluster,
        data,
        reason,
        dict(expected),
        now_ms,
    )


def is_plan(record: ExecutionRecord) -> bool:
    """Tell whether an execution is one of a plan, not of a recommended action."""
    return record.action_id.startswith(_PLAN)


def as_action(record: ExecutionRecord) -> ActionRecord:
    """Return what a plan's execution carries out, as far as the journal has it."""
    expected = {"copies_bytes": record.bytes, "needs_ms": record.needs_ms}
    return _action(
        record.action_id, record.kind, record.cluster, record.operations, "a plan", expected, record.started_at_ms
    )


def _action(
    action_id: str,
    kind: ActionKind,
    cluster: str,
    operations: list[dict[str, Any]],
    reason: str,
    expected: dict[str, Any],
    now_ms: int,
) -> ActionRecord:
    return ActionRecord(
        version=1,
        action_id=action_id,
        revision=1,
        status=ActionStatus.ACCEPTED,
        kind=kind,
        alert_id=action_id,
        alert={},
        cluster=cluster,
        target={},
        reason=reason,
        expected=expected,
        preconditions=[],
        vetoes=[],
        data_loss=False,
        requires_approval=True,
        expires_at_ms=now_ms,
        commands=[],
        reassignment=None,
        configs=None,
        undo={},
        based_on={},
        at_ms=now_ms,
        operations=operations,
    )


def bytes_of(action: ActionRecord) -> int | None:
    """Return the bytes that an action copies; None if unknown."""
    if action.kind not in MOVES:
        return 0
    found = action.expected.get("copies_bytes")
    found = action.expected.get("frees_bytes") if found is None else found
    return _number(found)


def _number(found: Any) -> int | None:
    return found if isinstance(found, int) else None
