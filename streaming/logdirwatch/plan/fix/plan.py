"""A plan for all open alerts of a cluster, for display and export; its moves as JSON, all together and by action."""

from collections import Counter
from collections.abc import Iterator
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
    return to_json(assignment for action in plan.actions for assignment in from_json(action.reassignment))


def mixed_brokers(plan: Fix) -> list[int]:
    """Return the brokers that one reassignment would both bring new replicas and move replicas within.

    Kafka's tool assigns first and places afterwards, so a throttle for the moves also delays new replicas.
    """
    arriving, within = set[int](), set[int]()
    for move in (move for action in plan.actions for move in _moves_of(action, plan.snapshot)):
        (within if move["from_broker"] == move["to_broker"] else arriving).add(move["to_broker"])
    return sorted(arriving & within)


def steps(plan: Fix) -> dict[str, Any]:
    """Return the actions that move replicas, in order, each with the highest fill of the directories.

    ``worst_ratio`` counts every copy of the step as written and nothing as deleted. A replica that the broker may
    create in any directory counts in all of them.
    """
    space = Space(plan.snapshot)
    used = {place: space.used_bytes(place) for place, d in plan.snapshot.directories.items() if d.is_serving}
    waves: list[dict[str, Any]] = []
    for action in plan.actions:
        if moves := list(_moves_of(action, plan.snapshot)):
            number = len(waves) + 1
            order = {"wave": number, "after": [number - 1] if waves else []}
            waves.append({**order, **_step(action, moves, used, plan.snapshot)})
    return forms.steps("fix", waves)


def _step(
    action: ActionRecord,
    moves: list[dict[str, Any]],
    used: dict[LogDirId, int | None],
    snapshot: ClusterSnapshot,
) -> dict[str, Any]:
    """Return a step with the fills of the serving directories that it changes; ``used`` becomes what it leaves."""
    assignments = from_json(action.reassignment)
    coming, going = passing_bytes(assignments, snapshot), Counter[LogDirId]()
    for move in moves:
        if move["to_log_dir"] != ANY:
            coming[move["to_broker"], move["to_log_dir"]] += move["size_bytes"]
        if move["from_log_dir"] is not None:
            going[move["from_broker"], move["from_log_dir"]] += move["size_bytes"]
    fills = []
    for place in sorted(coming.keys() | going.keys()):
        before, size = used.get(place), snapshot.directories[place].total_bytes
        if before is not None and size:
            used[place] = after = before + coming[place] - going[place]
            fills.append(forms.fill(place, size, before, before + coming[place], after))
    is_between = any(move["from_broker"] != move["to_broker"] for move in moves)
    rate = action.expected.get("throttle_bytes_per_s")
    step = forms.step(
        moves,
        fills,
        assignments,
        needs_ms=action.expected.get("needs_ms"),
        log_dir_bytes_per_s=rate,
        replication_bytes_per_s=rate if is_between else None,
    )
    who = {"action_id": action.action_id, "alert_id": action.alert_id, "kind": str(action.kind)}
    return {**who, **step, "commands": list(action.commands)}


def _moves_of(action: ActionRecord, snapshot: ClusterSnapshot) -> Iterator[dict[str, Any]]:
    return (move for assignment in from_json(action.reassignment) for move in _moves(assignment, snapshot))


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
