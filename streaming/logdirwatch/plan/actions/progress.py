"""The progress of an action, inferred from the snapshot: no one reports it."""

from dataclasses import dataclass
from typing import Any

from logdirwatch.model.actions.parts import Target
from logdirwatch.model.records import ActionRecord
from logdirwatch.model.vocabulary import ActionStatus, Decision
from logdirwatch.plan.cluster.layout import LogDirId
from logdirwatch.plan.cluster.snapshot import ClusterSnapshot, LogDir


@dataclass(frozen=True)
class Progress:
    """The steps of the target that have begun and that are done, with what was observed."""

    begun: int
    reached: int
    of: int
    observed: dict[str, Any]

    @property
    def is_done(self) -> bool:
        """Whether the whole target is reached."""
        # 0 of 0 steps: nothing is seen, which does not mean that everything is done.
        return self.reached == self.of > 0

    @property
    def is_running(self) -> bool:
        """Whether part of the target is reached."""
        return self.begun > 0


def not_seen(action: ActionRecord, snapshot: ClusterSnapshot) -> Progress | None:  # noqa: ARG001 - one signature for every kind
    """Return None: no broker shows what is done on a host or by clients."""
    return None


def in_steps(begun: int, reached: int, of: int, snapshot: ClusterSnapshot) -> Progress:
    """Return the progress of an action of several steps."""
    observed = {"reached": reached, "of": of, "inventory_at_ms": snapshot.inventory_at_ms}
    return Progress(max(begun, reached), reached, of, observed)


def in_one_step(is_reached: bool | None, snapshot: ClusterSnapshot) -> Progress | None:
    """Return the progress of an action with a single step; None if it cannot be seen."""
    return None if is_reached is None else in_steps(int(is_reached), int(is_reached), 1, snapshot)


def target_after(action: ActionRecord) -> dict[str, Any]:
    """Return the target of a follow-up.

    That of the action it follows, without fields that this release does not know.
    """
    known = Target.__struct_encode_fields__
    return {name: value for name, value in action.target.items() if name in known} | {"after": action.action_id}


def place_of(action: ActionRecord) -> LogDirId:
    """Return the directory that an action's target names."""
    return action.target["broker"], action.target["log_dir"]


def places_of(action: ActionRecord) -> list[LogDirId]:
    """Return the directories that an action's target names; for an action on a cluster, all that it changes."""
    if action.target["log_dir"] is not None:
        return [place_of(action)]
    return [(entry["broker"], entry["log_dir"]) for entry in action.expected["on"]]


def directory_of(action: ActionRecord, snapshot: ClusterSnapshot) -> LogDir | None:
    """Return the snapshot's state of the directory that an action's target names."""
    return snapshot.directories.get(place_of(action))


def space_seen(action: ActionRecord, snapshot: ClusterSnapshot) -> dict[str, Any]:
    """Return the observed space of the directory that an action's target names."""
    directory = directory_of(action, snapshot)
    found = {"inventory_at_ms": snapshot.inventory_at_ms}
    if directory is None:
        return found
    return {**found, "total_bytes": directory.total_bytes, "usable_bytes": directory.usable_bytes}


def was_accepted(action: ActionRecord) -> bool:
    """Tell whether a person accepted an action."""
    return action.decision is not None and action.decision.get("decision") == Decision.ACCEPT


def was_carried_out(action: ActionRecord) -> bool:
    """Tell whether an action was seen done, or a person accepted it."""
    return action.status is ActionStatus.DONE or was_accepted(action)


def was_begun(action: ActionRecord) -> bool:
    """Tell whether an action was seen begun."""
    observed = action.observed or {}
    return action.status in {ActionStatus.DONE, ActionStatus.FAILED} or "started_at_ms" in observed
