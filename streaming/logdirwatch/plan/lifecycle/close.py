"""The end of the actions of a resolved alert: done if their target is reached; withdrawn if none of it was begun.

An action that is being carried out goes on: its own first effect may have ended the alert, and nobody should leave half
of the copies where they were.
"""

from collections.abc import Iterable

from logdirwatch.model.records import ActionRecord, AlertRecord
from logdirwatch.model.vocabulary import OPEN, SPACE_STATUSES, ActionStatus, BrokerStatus
from logdirwatch.plan.action_types import ACTION_TYPES
from logdirwatch.plan.actions.progress import Progress
from logdirwatch.plan.cluster.snapshot import ClusterSnapshot
from logdirwatch.plan.lifecycle.progress import progress
from logdirwatch.plan.lifecycle.revisions import done, failed, is_in_time, next_revision
from logdirwatch.plan.proposal import Policy

_BACK = frozenset({*map(str, SPACE_STATUSES), str(BrokerStatus.DEGRADED)})


def close(
    known: Iterable[ActionRecord],
    alert: AlertRecord | None,
    snapshot: ClusterSnapshot | None,
    policy: Policy,
    now_ms: int,
) -> list[ActionRecord]:
    """Return the last revisions for a resolved alert: done, withdrawn, or failed if it took too long.

    An alert resolves before an inventory shows why: actions whose effect an inventory can show wait for the next one.
    """
    closed = (_closed(action, alert, snapshot, policy, now_ms) for action in known if action.status in OPEN)
    return [action for action in closed if action is not None]


def _closed(
    action: ActionRecord, alert: AlertRecord | None, snapshot: ClusterSnapshot | None, policy: Policy, now_ms: int
) -> ActionRecord | None:
    seen = None if snapshot is None else progress(action, snapshot)
    if seen is not None and seen.is_done:
        return done(action, seen.observed, now_ms)
    if alert is None:
        return next_revision(action, now_ms, ActionStatus.WITHDRAWN, "its alert is gone")
    if ACTION_TYPES[action.kind].is_done_when_back and alert.to_status in _BACK:
        observed = {"status": alert.to_status, "at_ms": alert.at_ms}
        what = "broker answers" if alert.log_dir is None else "directory serves"
        return next_revision(action, now_ms, ActionStatus.DONE, f"the {what} again", observed=observed)
    if is_in_time(action, policy, now_ms) or (seen is not None and _may_show_more(alert, snapshot, policy, now_ms)):
        return None
    if action.status is ActionStatus.RUNNING and seen is not None:
        return failed(action, seen.observed, now_ms)
    return _withdrawn(action, alert, seen, now_ms)


def _withdrawn(action: ActionRecord, alert: AlertRecord, seen: Progress | None, now_ms: int) -> ActionRecord:
    why = f"its alert is resolved: {alert.reason or 'no reason given'}"
    observed = seen.observed if seen is not None and seen.is_running else action.observed
    return next_revision(action, now_ms, ActionStatus.WITHDRAWN, why, observed=observed)


def _may_show_more(alert: AlertRecord, snapshot: ClusterSnapshot | None, policy: Policy, now_ms: int) -> bool:
    is_older = snapshot is None or snapshot.inventory_at_ms is None or snapshot.inventory_at_ms <= alert.at_ms
    return is_older and now_ms - alert.at_ms < policy.settling_ms
