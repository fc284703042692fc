"""Action records: a proposal with its identity, its alert and its times, as the first revision of an action.

Its preconditions and vetoes agree: a veto makes its precondition false.
"""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from msgspec.structs import replace

from logdirwatch.model.actions import EXPECTED
from logdirwatch.model.actions.parts import Target, Undo
from logdirwatch.model.identity import identity
from logdirwatch.model.record_part import as_written
from logdirwatch.model.records import ActionRecord, AlertRecord
from logdirwatch.model.vocabulary import MOVES, STOPPING_STEPS, ActionKind, ActionStatus
from logdirwatch.plan.action_types import ACTION_TYPES
from logdirwatch.plan.availability.impact import veto_predicted_harm
from logdirwatch.plan.cluster.snapshot import ClusterSnapshot
from logdirwatch.plan.commands.operations import as_data, topics_of
from logdirwatch.plan.content_hash import content_hash
from logdirwatch.plan.owners.owner import for_owner
from logdirwatch.plan.proposal import Policy, Precondition, ProposedAction


def action_id(alert_id: str, kind: ActionKind, target: Mapping[str, Any]) -> str:
    """Return an action's identity: what is done where, for which alert."""
    return identity(alert_id, str(kind), json.dumps(target, sort_keys=True, separators=(",", ":")))


def record(
    proposal: ProposedAction, alert: AlertRecord, snapshot: ClusterSnapshot | None, policy: Policy, now_ms: int
) -> ActionRecord:
    """Return a proposal as the first revision of its action, with the vetoes that its own prediction adds."""
    proposal = for_owner(veto_predicted_harm(proposal), policy)
    action = ActionRecord(
        version=1,
        action_id=action_id(alert.alert_id, proposal.kind, proposal.target),
        revision=1,
        status=ActionStatus.PROPOSED,
        kind=proposal.kind,
        alert_id=alert.alert_id,
        alert={
            "rule": str(alert.rule),
            "severity": str(alert.severity),
            "broker": alert.broker,
            "log_dir": alert.log_dir,
            "to": alert.to_status,
            "cause": None if alert.cause is None else str(alert.cause),
            "opened_at_ms": alert.opened_at_ms,
            "revision": alert.revision,
            "summary": alert.summary,
        },
        cluster=alert.cluster,
        target=as_written(proposal.target, Target),
        reason=proposal.reason,
        expected=as_written(_dated(proposal, now_ms), EXPECTED[proposal.kind]),
        preconditions=[precondition._asdict() for precondition in agreed(proposal)],
        vetoes=[veto._asdict() for veto in proposal.vetoes],
        data_loss=proposal.data_loss,
        requires_approval=ACTION_TYPES[proposal.kind].needs_approval or proposal.target.get("step") in STOPPING_STEPS,
        expires_at_ms=now_ms + (proposal.valid_ms or policy.limits.expires_after_ms),
        # What must not be done now cannot be pasted either; the next revision without a veto has it again.
        commands=[] if proposal.vetoes else list(proposal.commands),
        reassignment=None if proposal.reassignment is None else dict(proposal.reassignment),
        configs=None if proposal.configs is None else dict(proposal.configs),
        undo=as_written(proposal.undo, Undo),
        based_on=_based_on(proposal, snapshot),
        at_ms=now_ms,
        operations=([] if proposal.vetoes else as_data(proposal.operations)) if proposal.operations else None,
        owner=None if policy.owner is None else policy.owner.kind,
    )
    return replace(action, content_hash=content_hash(action))


def _dated(proposal: ProposedAction, now_ms: int) -> dict[str, Any]:
    """Return what is expected of a proposal, with the moment at which its bytes are free if it starts at once.

    Only of what Kafka carries out from then on by itself; what people do on hosts and disks has no such moment.
    """
    needs_ms = proposal.expected.get("needs_ms") if proposal.kind in _DATED else None
    return {**proposal.expected, "frees_by_ms": None if needs_ms is None else now_ms + needs_ms}


_DATED = MOVES | {ActionKind.LOWER_RETENTION, ActionKind.DELETE_RECORDS}


def _based_on(proposal: ProposedAction, snapshot: ClusterSnapshot | None) -> dict[str, Any]:
    """Return the age of the facts, and which topics the operations are for: another of that name is not meant."""
    if snapshot is None:
        return {"state_at_ms": None, "inventory_at_ms": None}
    topics = {topic for operation in proposal.operations or () for topic in topics_of(operation.args)}
    ids = {name: topic.id for name in sorted(topics & snapshot.topics.keys()) if (topic := snapshot.topics[name]).id}
    return {**snapshot.based_on, **({"topic_ids": ids} if ids else {})}


DENIED_BY: Mapping[str, frozenset[str]] = {
    "writes_go_on": frozenset({"min_isr_lost", "last_in_sync_replica", "leaderless_after", "under_min_isr_after"}),
    "quorum_safe": frozenset({"quorum_unsafe"}),
    "room_for_recovery": frozenset({"no_room_for_recovery"}),
    "no_move": frozenset({"partition_moving", "move_waits"}),
    "no_retention_cut": frozenset({"retention_waits"}),
    "min_retention": frozenset({"min_retention", "owner_minimum"}),
    "consumers_done": frozenset({"consumers_unread"}),
    "remote_copied": frozenset({"remote_copy_lags"}),
    "high_watermark_moves": frozenset({"high_watermark_stands"}),
    "volume_can_grow": frozenset({"volume_at_maximum"}),
    "metadata_version": frozenset({"cordon_not_enforced"}),
    "danger_over": frozenset({"not_over"}),
    "cannot_come_back": frozenset({"may_come_back"}),
}
"""By precondition: the vetoes that contradict it."""


def agreed(proposal: ProposedAction) -> Iterable[Precondition]:
    """Return the preconditions of a proposal; those that one of its vetoes contradicts are false."""
    named = {veto.name for veto in proposal.vetoes}
    return (
        replace(precondition, holds=False) if named & DENIED_BY.get(precondition.name, frozenset()) else precondition
        for precondition in proposal.preconditions
    )
