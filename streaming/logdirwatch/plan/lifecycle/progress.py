"""How far an action is, as the facts show it: nobody reports execution, it is seen."""

from dataclasses import dataclass
from typing import Any

from logdirwatch.model.records import ActionRecord
from logdirwatch.model.vocabulary import ActionKind
from logdirwatch.plan.cluster.assignment import Assignment, from_json
from logdirwatch.plan.cluster.snapshot import Facts, Place
from logdirwatch.plan.lifecycle.leader_progress import Steps, copied_bytes, steps
from logdirwatch.plan.lifecycle.relief_progress import relief_steps


@dataclass(frozen=True)
class Progress:
    """Steps of the target that are seen begun and reached, with what was observed."""

    begun: int
    reached: int
    of: int
    observed: dict[str, Any]

    @property
    def is_done(self) -> bool:
        """Whether all of the target is seen."""
        return self.reached == self.of > 0

    @property
    def is_running(self) -> bool:
        """Whether part of the target is seen."""
        return self.begun > 0


def progress(action: ActionRecord, facts: Facts) -> Progress | None:
    """Return how far an action is; None where the facts cannot show it."""
    found = steps(action, facts) or relief_steps(action, facts)
    if found is not None:
        return _of_steps(found, facts)
    if action.reassignment is not None:
        return _of_reassignment(action, facts)
    if action.kind is ActionKind.LOWER_RETENTION:
        return _of_retention(action, facts)
    if action.kind is ActionKind.EXPAND_DISK:
        return _of_expansion(action, facts)
    return None


def _of_steps(found: Steps, facts: Facts) -> Progress:
    begun, reached, of = found
    observed = {"reached": reached, "of": of, "inventory_at_ms": facts.inventory_at_ms}
    return Progress(max(begun, reached), reached, of, observed)


def place_of(action: ActionRecord) -> Place:
    """Return the directory that an action's target names."""
    return action.target["broker"], action.target["log_dir"]


def places_of(action: ActionRecord) -> list[Place]:
    """Return the directory that an action's target names; for one that is about a cluster all that it changes."""
    if action.target["log_dir"] is not None:
        return [place_of(action)]
    return [(entry["broker"], entry["log_dir"]) for entry in action.expected["on"]]


def _of_reassignment(action: ActionRecord, facts: Facts) -> Progress:
    assignments = from_json(action.reassignment or {"partitions": []})
    reached = sum(_is_reached(assignment, facts) for assignment in assignments)
    begun = sum(_is_begun(assignment, action, facts) for assignment in assignments)
    observed = {"reached": reached, "of": len(assignments), **copied_bytes(action, facts), **_space(action, facts)}
    return Progress(max(begun, reached), reached, len(assignments), observed)


def _is_reached(assignment: Assignment, facts: Facts) -> bool:
    partition = facts.partitions.get(assignment.key)
    if partition is None or partition.replicas != assignment.replicas:
        return False
    places = {replica.place for replica in facts.replicas_of(assignment.key)}
    return all(place in places and place[0] in partition.isr for place in assignment.chosen)


def _is_begun(assignment: Assignment, action: ActionRecord, facts: Facts) -> bool:
    partition = facts.partitions.get(assignment.key)
    copies = {replica.place for replica in facts.layout.replicas if replica.key == assignment.key and replica.is_future}
    added = set(assignment.replicas) - set(_replicas_before(action, assignment))
    return any(place in copies for place in assignment.chosen) or (
        partition is not None and bool(added & set(partition.replicas))
    )


def _replicas_before(action: ActionRecord, assignment: Assignment) -> tuple[int, ...]:
    before = {old.key: old.replicas for old in from_json(action.undo["reassignment"])}
    return before.get(assignment.key, ())


def _of_retention(action: ActionRecord, facts: Facts) -> Progress | None:
    name = str(action.target["topic"])
    topic, changes = facts.topics.get(name), (action.configs or {})[name]
    if topic is None:
        return None
    is_set = all(topic.configs.get(key) == change["to"] for key, change in changes.items())
    before = action.expected.get("topic_bytes_before")
    now = sum(facts.layout.topic_bytes(place, name) for place in places_of(action))
    freed = None if before is None else before - now
    is_freed = is_set and freed is not None and freed * 2 >= (action.expected["frees_bytes"] or 0)
    observed = {"is_set": is_set, "frees_bytes": freed, **_space(action, facts)}
    return Progress(int(is_set), int(is_freed), 1, observed)


def _of_expansion(action: ActionRecord, facts: Facts) -> Progress | None:
    directory = facts.directories.get(place_of(action))
    before = action.expected.get("total_bytes_before")
    if directory is None or directory.total_bytes is None or before is None:
        return None
    has_grown = int(directory.total_bytes > before)
    return Progress(has_grown, has_grown, 1, _space(action, facts))


def _space(action: ActionRecord, facts: Facts) -> dict[str, Any]:
    directory = facts.directories.get(place_of(action))
    found = {"inventory_at_ms": facts.inventory_at_ms}
    if directory is None:
        return found
    return {**found, "total_bytes": directory.total_bytes, "usable_bytes": directory.usable_bytes}
