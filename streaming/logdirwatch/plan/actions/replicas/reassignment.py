"""Progress and validity of published reassignments, shared by the kinds that reassign."""

from collections.abc import Sequence
from typing import Any

from logdirwatch.model.records import ActionRecord
from logdirwatch.model.vocabulary import ActionKind
from logdirwatch.plan.actions.action_type import FollowUp
from logdirwatch.plan.actions.progress import Progress, space_seen
from logdirwatch.plan.actions.replicas.clear_throttles import clear_left_behind
from logdirwatch.plan.cluster.assignment import Assignment, from_json
from logdirwatch.plan.cluster.snapshot import ClusterSnapshot
from logdirwatch.plan.operator_decisions import moved_topics
from logdirwatch.plan.proposal import Policy
from logdirwatch.plan.vetoes.reassignment import violations

CLEARS_THROTTLES = FollowUp(clear_left_behind, while_firing=True)


def copying_progress(action: ActionRecord, snapshot: ClusterSnapshot) -> Progress | None:
    """Return how many partitions a reassignment has placed, and how many are on their way."""
    if action.reassignment is None:
        return None
    assignments = from_json(action.reassignment)
    reached = sum(_is_reached(assignment, snapshot) for assignment in assignments)
    begun = sum(_is_begun(assignment, action, snapshot) for assignment in assignments)
    observed = {
        "reached": reached,
        "of": len(assignments),
        **_copied_bytes(action, snapshot),
        **space_seen(action, snapshot),
    }
    return Progress(max(begun, reached), reached, len(assignments), observed)


def reasons_against_reassignment(action: ActionRecord, snapshot: ClusterSnapshot, policy: Policy) -> Sequence[str]:
    """Return why a published reassignment may no longer be carried out."""
    if action.reassignment is None:
        return ()
    changed = [
        f"the replicas of {old.label} are no longer those that it was planned for"
        for old in from_json(action.undo["reassignment"])
        if old.key in snapshot.partitions and snapshot.partitions[old.key].replicas != old.replicas
    ]
    cut = sorted(moved_topics(action) & snapshot.decisions.cutting)
    waiting = [f"a retention cut of {topic} was taken up" for topic in cut]
    return changed or waiting or [veto.reason for veto in violations(from_json(action.reassignment), snapshot, policy)]


def _is_reached(assignment: Assignment, snapshot: ClusterSnapshot) -> bool:
    partition = snapshot.partitions.get(assignment.key)
    if partition is None or partition.replicas != assignment.replicas:
        return False
    places = {replica.place for replica in snapshot.replicas_of(assignment.key)}
    return all(place in places and place[0] in partition.isr for place in assignment.chosen)


def _is_begun(assignment: Assignment, action: ActionRecord, snapshot: ClusterSnapshot) -> bool:
    partition = snapshot.partitions.get(assignment.key)
    copies = {
        replica.place for replica in snapshot.layout.replicas if replica.key == assignment.key and replica.is_future
    }
    added = set(assignment.replicas) - set(_replicas_before(action, assignment))
    return any(place in copies for place in assignment.chosen) or (
        partition is not None and bool(added & set(partition.replicas))
    )


def _replicas_before(action: ActionRecord, assignment: Assignment) -> tuple[int, ...]:
    before = {old.key: old.replicas for old in from_json(action.undo["reassignment"])}
    return before.get(assignment.key, ())


def _copied_bytes(action: ActionRecord, snapshot: ClusterSnapshot) -> dict[str, Any]:
    """Return the bytes that a reassignment has copied so far: of replicas that are where it wants them.

    Within a broker these are also the bytes that left the source directory (KIP-113).
    """
    before = {old.key: old for old in from_json(action.undo["reassignment"])}
    copied = 0
    for assignment in from_json(action.reassignment or {"partitions": []}):
        added = set(assignment.replicas) - set(before[assignment.key].replicas if assignment.key in before else ())
        moved = set(assignment.chosen) - set(before[assignment.key].chosen if assignment.key in before else ())
        for replica in snapshot.replicas_of(assignment.key):
            if replica.broker in added or replica.place in moved:
                copied += replica.size_bytes or 0
    return {"copies_bytes": copied, **({"frees_bytes": copied} if action.kind is ActionKind.MOVE_LOG_DIR else {})}
