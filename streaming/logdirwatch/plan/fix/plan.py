"""A plan for all open alerts of a cluster, for display and export; its moves as JSON, all together and by action."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from logdirwatch.model.records import ActionRecord, AlertRecord
from logdirwatch.plan.capacity.projected_use import Space, passing_bytes
from logdirwatch.plan.cluster.assignment import ANY, Assignment, from_json, to_json
from logdirwatch.plan.cluster.layout import LogDirId
from logdirwatch.plan.cluster.snapshot import ClusterSnapshot
from logdirwatch.plan.reassignment import steps as forms


@dataclass(frozen=True)
class Remedy:
    """The answer to one alert: what is running already, and what to do, in order.

    ``against`` are the vetoes of the alternatives. ``missing_bytes`` is what its directory still lacks after everything
    that is in time; 0: enough, None: the alert is not about space. ``full_in_ms`` is the time until the directory is
    full if nothing is done; None if unknown.
    """

    alert: AlertRecord
    under_way: tuple[ActionRecord, ...]
    actions: tuple[ActionRecord, ...]
    against: tuple[str, ...]
    missing_bytes: int | None
    full_in_ms: int | None = None


@dataclass(frozen=True)
class Fix:
    """The remedies for all open alerts of a cluster, the most urgent first."""

    snapshot: ClusterSnapshot
    remedies: tuple[Remedy, ...]

    @property
    def actions(self) -> list[ActionRecord]:
        """All actions to carry out, in order."""
        return [action for remedy in self.remedies for action in remedy.actions]


def reassignment(plan: Fix) -> dict[str, Any]:
    """Return all moves as the content of ``kafka-reassign-partitions.sh --reassignment-json-file``."""
    return to_json(assignment for action in plan.actions for assignment in _assignments(action))


def mixed_brokers(plan: Fix) -> list[int]:
    """Return the brokers that one reassignment would both bring new replicas and move replicas within.

    Kafka's tool assigns first and places afterwards, so a throttle for the moves also delays new replicas.
    """
    arriving, within = set[int](), set[int]()
    for action in plan.actions:
        for move in _moves_of(action, plan.snapshot):
            (within if move["from_broker"] == move["to_broker"] else arriving).add(move["to_broker"])
    return sorted(arriving & within)


def steps(plan: Fix) -> dict[str, Any]:
    """Return the actions that move replicas, in order, each with the highest fill of the directories.

    ``worst_ratio`` counts every copy of the step as written and nothing as deleted. A replica that the broker may
    create in any directory counts in all of them.
    """
    moving = [action for action in plan.actions if any(_moves_of(action, plan.snapshot))]
    fills = _Fills(plan.snapshot)
    waves = [
        {"wave": number, "after": [number - 1] if number > 1 else [], **_step(action, fills)}
        for number, action in enumerate(moving, start=1)
    ]
    return forms.steps("fix", waves)


class _Fills:
    """The bytes in the directories, updated step by step."""

    def __init__(self, snapshot: ClusterSnapshot) -> None:
        self.snapshot = snapshot
        space = Space(snapshot)
        self._used = {place: space.used_bytes(place) for place, d in snapshot.directories.items() if d.is_serving}

    def step(self, coming: Counter[LogDirId], going: Counter[LogDirId]) -> list[dict[str, Any]]:
        """Apply a step; return the fills of the serving directories that it changes."""
        found = []
        for place in sorted(coming.keys() | going.keys()):
            used, size = self._used.get(place), self.snapshot.directories[place].total_bytes
            if used is None or not size:
                continue
            after = used + coming[place] - going[place]
            self._used[place] = after
            worst = used + coming[place]
            found.append(forms.fill(place, size, before_bytes=used, worst_bytes=worst, after_bytes=after))
        return found


def _step(action: ActionRecord, fills: _Fills) -> dict[str, Any]:
    assignments = _assignments(action)
    moves = list(_moves_of(action, fills.snapshot))
    coming = passing_bytes(assignments, fills.snapshot)
    going: Counter[LogDirId] = Counter()
    for move in moves:
        if move["to_log_dir"] != ANY:
            coming[move["to_broker"], move["to_log_dir"]] += move["size_bytes"]
        if move["from_log_dir"] is not None:
            going[move["from_broker"], move["from_log_dir"]] += move["size_bytes"]
    is_between = any(move["from_broker"] != move["to_broker"] for move in moves)
    rate = action.expected.get("throttle_bytes_per_s")
    step = forms.step(
        moves,
        fills.step(coming, going),
        assignments,
        needs_ms=action.expected.get("needs_ms"),
        log_dir_bytes_per_s=rate,
        replication_bytes_per_s=rate if is_between else None,
    )
    who = {"action_id": action.action_id, "alert_id": action.alert_id, "kind": str(action.kind)}
    return {**who, **step, "commands": list(action.commands)}


def _moves_of(action: ActionRecord, snapshot: ClusterSnapshot) -> Iterator[dict[str, Any]]:
    return (move for assignment in _assignments(action) for move in _moves(assignment, snapshot))


def _assignments(action: ActionRecord) -> Sequence[Assignment]:
    return () if action.reassignment is None else from_json(action.reassignment)


def _moves(assignment: Assignment, snapshot: ClusterSnapshot) -> Iterator[dict[str, Any]]:
    """Yield the copies: to new directories, and to new brokers, each replacing a replica that is removed."""
    before = snapshot.partitions[assignment.key].replicas
    gone = [broker for broker in before if broker not in assignment.replicas]
    places = {replica.broker: replica for replica in snapshot.replicas_of(assignment.key)}
    for broker, path in zip(assignment.replicas, assignment.log_dirs, strict=True):
        is_new = broker not in before
        old = gone.pop(0) if is_new and gone else broker
        source = places.get(old)
        from_log_dir = None if source is None else source.log_dir
        if not is_new and path in {ANY, from_log_dir}:
            continue
        size = None if source is None or is_new else source.size_bytes
        size_bytes = size if size is not None else snapshot.layout.size_of(assignment.key) or 0
        yield forms.move(assignment.key, size_bytes, (old, from_log_dir), (broker, path))
