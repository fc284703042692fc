"""Observed copy rates, from moves that completed and from moves that alerts report as stalled."""

from collections.abc import Iterable
from dataclasses import replace

from logdirwatch.model.evidence import read_as
from logdirwatch.model.evidence.brokers import MoveStalledEvidence
from logdirwatch.model.records import ActionRecord, AlertRecord
from logdirwatch.model.vocabulary import ActionStatus, Rule
from logdirwatch.plan.cluster.assignment import from_json
from logdirwatch.plan.cluster.layout import LogDirId
from logdirwatch.plan.cluster.snapshot import ClusterSnapshot


def with_rates(
    snapshot: ClusterSnapshot, actions: Iterable[ActionRecord], alerts: Iterable[AlertRecord]
) -> ClusterSnapshot:
    """Return the snapshot with the fastest observed copy to each directory; running copies take precedence."""
    found: dict[LogDirId, float] = {}
    for action in actions:
        if action.cluster == snapshot.cluster and action.status is ActionStatus.DONE:
            for place, rate in _carried_out(action):
                found[place] = max(rate, found.get(place, 0.0))
    for alert in alerts:
        if alert.cluster == snapshot.cluster and alert.rule is Rule.MOVE_STALLED and alert.broker is not None:
            found.update(_held_up(alert, alert.broker))
    return replace(snapshot, copied_bytes_per_s=found)


def _carried_out(action: ActionRecord) -> Iterable[tuple[LogDirId, float]]:
    """Yield the destinations of a completed move and the rate of its copies together: they shared one throttle."""
    observed = action.observed or {}
    took_ms, copied = observed.get("took_ms"), observed.get("copies_bytes")
    if not took_ms or not copied or action.reassignment is None:
        return
    for assignment in from_json(action.reassignment):
        yield from ((place, copied * 1000 / took_ms) for place in assignment.chosen)


def _held_up(alert: AlertRecord, broker: int) -> dict[LogDirId, float]:
    """Return the rates of the stalled moves that an alert names; 0 for those that copy nothing any more."""
    moves = read_as(alert.evidence, MoveStalledEvidence).moves
    return {
        (broker, path): max(0.0, move.bytes_per_s or 0.0)
        for path, move in moves.items()
        if move.bytes_per_s is not None or move.verdict == "stands_still"
    }
