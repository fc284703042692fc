"""What the chosen actions of a fix plan free, and whether that is before a directory is full."""

from collections.abc import Iterable, Sequence

from logdirwatch.model.records import ActionRecord, AlertRecord
from logdirwatch.plan.action_types import ACTION_TYPES
from logdirwatch.plan.actions.action_type import FixRole
from logdirwatch.plan.cluster.assignment import from_json
from logdirwatch.plan.cluster.layout import LogDirId
from logdirwatch.plan.cluster.snapshot import ClusterSnapshot, LogDir
from logdirwatch.plan.relief.freed_bytes import Freed, in_time_bytes


def freed_in_time(
    alert: AlertRecord,
    directory: LogDir,
    volume: Sequence[LogDirId],
    agreed: Iterable[ActionRecord],
    snapshot: ClusterSnapshot,
) -> int:
    """Return the bytes that actions free on a directory's volume before it is full.

    The moves of an alert run one after the other; each one that is in time postpones the moment for the next. For a
    running move the snapshot says what it frees.
    """
    elapsed_ms, found = 0, list[Freed]()
    for action in agreed:
        if ACTION_TYPES[action.kind].fix_role is FixRole.FIRST or _is_seen_running(action, snapshot):
            continue
        needs_ms = action.expected.get("needs_ms")
        is_own_move = action.alert_id == alert.alert_id and action.reassignment is not None
        elapsed_ms += (needs_ms or 0) if is_own_move else 0
        found.append(Freed(elapsed_ms if is_own_move else needs_ms, _freed_of(volume, action)))
    return in_time_bytes(directory, found)


def given(agreed: Iterable[ActionRecord]) -> dict[LogDirId, int]:
    """Return the bytes that directories lose by the chosen actions; cancelled copies no longer arrive."""
    given: dict[LogDirId, int] = {}
    for action in agreed:
        for entry in action.expected.get("on") or ():
            place = entry["broker"], entry["log_dir"]
            given[place] = given.get(place, 0) + max(0, entry["bytes"])
        if "spares_bytes" in action.expected:
            place = action.target["broker"], action.target["log_dir"]
            given[place] = given.get(place, 0) + action.expected["spares_bytes"]
    return given


def _is_seen_running(action: ActionRecord, snapshot: ClusterSnapshot) -> bool:
    moving = snapshot.layout.moving
    return any(assignment.key in moving for assignment in from_json(action.reassignment or {"partitions": []}))


def _freed_of(volume: Sequence[LogDirId], action: ActionRecord) -> int:
    on = action.expected.get("on") or ()
    return sum(max(0, entry["bytes"]) for entry in on if (entry["broker"], entry["log_dir"]) in volume)
