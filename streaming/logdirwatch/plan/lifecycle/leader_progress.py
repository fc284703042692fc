"""How far elections, demotions and cancellings are, as the facts show it: steps begun, steps reached, steps in all."""

from typing import Any

from logdirwatch.model.records import ActionRecord
from logdirwatch.model.vocabulary import ActionKind
from logdirwatch.plan.cluster.assignment import Assignment, from_json
from logdirwatch.plan.cluster.snapshot import Facts

Steps = tuple[int, int, int]
"""How many were begun, how many are reached, how many there are."""


def steps(action: ActionRecord, facts: Facts) -> Steps | None:
    """Return how far an action of these kinds is; None for any other, and where it does not say what it acts on."""
    if action.kind is ActionKind.DEMOTE_LEADERS and action.reassignment is not None:
        return _of_demotion(action, facts)
    if action.kind is ActionKind.ELECT_LEADERS and "election" in action.expected:
        return _of_election(action, facts)
    if action.kind is ActionKind.CANCEL_MOVES and "cancels" in action.expected:
        return _of_cancelling(action, facts)
    return None


def _of_demotion(action: ActionRecord, facts: Facts) -> Steps:
    """Count a demotion as begun with the new order of preference, and as reached when another one leads."""
    assignments = from_json(action.reassignment or {"partitions": []})
    ordered = [a for a in assignments if a.key in facts.partitions and facts.partitions[a.key].replicas == a.replicas]
    led = [a for a in ordered if facts.partitions[a.key].leader not in {None, action.target["broker"]}]
    return len(ordered), len(led), len(assignments)


def _of_election(action: ActionRecord, facts: Facts) -> Steps:
    keys = [(entry["topic"], entry["partition"]) for entry in action.expected["election"]["partitions"]]
    is_preferred = action.target.get("election") == "preferred"
    reached = sum(_is_led(key, facts, is_preferred=is_preferred) for key in keys)
    return reached, reached, len(keys)


def _is_led(key: tuple[str, int], facts: Facts, *, is_preferred: bool) -> bool:
    partition = facts.partitions.get(key)
    if partition is None or partition.leader is None:
        return False
    return partition.leader == partition.replicas[0] or not is_preferred


def _of_cancelling(action: ActionRecord, facts: Facts) -> Steps:
    """Count what runs no more; a reassignment that came to its end was not cancelled."""
    targets = from_json(action.expected["cancels"])
    reached = sum(_is_cancelled(target, facts) for target in targets)
    return reached, reached, len(targets)


def _is_cancelled(target: Assignment, facts: Facts) -> bool:
    partition = facts.partitions.get(target.key)
    return partition is not None and not partition.is_reassigned and partition.replicas != target.replicas


def copied_bytes(action: ActionRecord, facts: Facts) -> dict[str, Any]:
    """Return the bytes of the replicas of a reassignment that are where it wants them: what it copied so far.

    Within a broker these are also the bytes that left the directory they were in (KIP-113).
    """
    before = {old.key: old for old in from_json(action.undo["reassignment"])}
    copied = 0
    for assignment in from_json(action.reassignment or {"partitions": []}):
        added = set(assignment.replicas) - set(before[assignment.key].replicas if assignment.key in before else ())
        moved = set(assignment.chosen) - set(before[assignment.key].chosen if assignment.key in before else ())
        for replica in facts.replicas_of(assignment.key):
            if replica.broker in added or replica.place in moved:
                copied += replica.size_bytes or 0
    return {"copies_bytes": copied, **({"frees_bytes": copied} if action.kind is ActionKind.MOVE_LOG_DIR else {})}
