"""Action records that cannot be processed, written by another program or another release.

Parts of an action are read where they are needed, by the kind that they belong to. So a record is tested by running all
of these readers on it alone.
"""

from msgspec.structs import replace

from logdirwatch.model.records import ActionRecord, AlertRecord
from logdirwatch.model.vocabulary import ActionStatus, Severity
from logdirwatch.plan.action_types import ACTION_TYPES
from logdirwatch.plan.capacity.copy_rates import with_rates
from logdirwatch.plan.cluster.snapshot import ClusterSnapshot
from logdirwatch.plan.content_hash import content_hash
from logdirwatch.plan.lifecycle import follow_ups, transitions
from logdirwatch.plan.lifecycle.overlay import with_actions, with_own_cordons
from logdirwatch.plan.lifecycle.transitions import close
from logdirwatch.plan.operator_decisions import decisions_on
from logdirwatch.plan.proposal import Policy


def fault_of(
    action: ActionRecord, alert: AlertRecord | None, snapshot: ClusterSnapshot | None, policy: Policy, now_ms: int
) -> Exception | None:
    """Return the error that an action causes even on its own; None if it can be processed."""
    try:
        _read_all_of(action, alert, snapshot, policy, now_ms)
    except Exception as error:
        return error
    return None


def _read_all_of(
    action: ActionRecord, alert: AlertRecord | None, snapshot: ClusterSnapshot | None, policy: Policy, now_ms: int
) -> None:
    content_hash(action)
    Severity(action.alert["severity"])
    decisions_on([action], Severity.CRITICAL)
    transitions.keep_waiting([action], [action], now_ms)
    follow_ups.may_owe([action], policy.settling_ms, now_ms, are_facts_known=False)
    close([action], alert, snapshot, policy, now_ms)
    if snapshot is None:
        return
    with_own_cordons(with_rates(with_actions(snapshot, [action]), [action], ()), [action])
    ACTION_TYPES[action.kind].carry_over(action, action)
    # As a known action, and as one that would be planned again once it has ended.
    for status in (action.status, ActionStatus.PROPOSED):
        transitions.reconcile([replace(action, status=status)], [action], snapshot, policy, now_ms)
    if alert is not None:
        follow_ups.follow_ups(alert, [action], snapshot, policy, now_ms, is_over=True)
