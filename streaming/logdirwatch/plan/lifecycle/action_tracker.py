"""The open alerts and their actions, as read from the topics, and what to publish next.

The topics hold the state. The tracker reads them completely at start, then every new record and everything published;
it can be discarded and rebuilt at any time.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import replace
from typing import NamedTuple

from msgspec.structs import replace as changed

from logdirwatch.decisions import dated
from logdirwatch.model import topics
from logdirwatch.model.identity import Origin
from logdirwatch.model.records import ActionRecord, AlertRecord, DecisionRecord
from logdirwatch.model.vocabulary import OPEN, TAKEN_UP, ActionStatus, AlertStatus, Decision, Rule, Severity
from logdirwatch.parse.reading import RecordReader
from logdirwatch.parse.records import Deleted
from logdirwatch.plan.action_records import record
from logdirwatch.plan.action_types import ACTION_TYPES
from logdirwatch.plan.capacity.copy_rates import with_rates
from logdirwatch.plan.cluster.snapshot import ClusterSnapshot, unusable
from logdirwatch.plan.content_hash import content_hash
from logdirwatch.plan.lifecycle import follow_ups as followup
from logdirwatch.plan.lifecycle import transitions
from logdirwatch.plan.lifecycle.overlay import as_seen, with_actions, with_alerts, with_own_cordons
from logdirwatch.plan.operator_decisions import decisions_on, stops_broker, taken_up
from logdirwatch.plan.proposal import Policy
from logdirwatch.plan.recommend import recommend
from logdirwatch.plan.rule_responses import investigate

UNREADABLE = "the alert's record cannot be planned on; the log of logdirwatch stream says why"


class SetAside(NamedTuple):
    """An alert for which planning failed, or an action whose record is malformed, and the error."""

    record: AlertRecord | ActionRecord
    error: Exception


class ActionTracker:
    """Open alerts, the latest revision of every action, and pending decisions.

    An alert on whose record the planner fails is set aside until its next revision: it keeps its runbook step, and all
    others get their actions as if it carried no evidence. An action whose record is malformed is set aside until a
    later revision of it arrives; what is planned instead continues its revisions. ``skew_ms`` is how far the clock of
    the person deciding may be ahead of Kafka's; ``reader`` counts the records that cannot be read.
    """

    def __init__(self, skew_ms: int, reader: RecordReader | None = None) -> None:
        self._skew_ms = skew_ms
        self._reader = reader or RecordReader()
        self._alerts: dict[str, AlertRecord] = {}
        self._actions: dict[str, dict[str, ActionRecord]] = defaultdict(dict)
        self._decisions: list[DecisionRecord] = []
        self._over: dict[str, int] = {}
        self._aside: dict[str, int] = {}
        self._malformed: dict[str, int] = {}
        self._news_of_aside: list[SetAside] = []
        self._set_aside_actions = 0

    def take(
        self,
        topic: str,
        key: bytes | None,
        value: bytes | None,
        timestamp_ms: int,
        partition: int = -1,
        offset: int = -1,
    ) -> bool:
        """Process one record with its Kafka timestamp; return whether it may change what has to be published."""
        record = self._reader.read(Origin(topic, partition, offset, timestamp_ms), key, value)
        if isinstance(record, Deleted):
            return self._forget(topic, record.key)
        if isinstance(record, AlertRecord):
            return self._take_alert(record)
        if isinstance(record, ActionRecord):
            return self._take_action(record)
        if isinstance(record, DecisionRecord):
            return self._take_decision(dated(record, timestamp_ms, self._skew_ms))
        return False

    @property
    def unreadable(self) -> int:
        """The number of records that could not be read, and of actions set aside."""
        return self._reader.unreadable.total() + self._set_aside_actions

    @property
    def open_clusters(self) -> set[str]:
        """The clusters with an open alert, an action that has not ended, or a pending follow-up."""
        owing = (a for a in self._resolved() if followup.unsettled(self._actions.get(a.alert_id, {}).values()))
        alerts = {alert.cluster for alert in (*self._firing(), *owing)}
        return alerts | {action.cluster for action in self._open_actions()}

    @property
    def open_alerts(self) -> Counter[tuple[str, str, str]]:
        """The number of open alerts, by cluster, rule and severity."""
        return Counter((alert.cluster, str(alert.rule), str(alert.severity)) for alert in self._firing())

    def take_set_aside(self) -> list[SetAside]:
        """Return the alerts and actions that were set aside since the last call."""
        news, self._news_of_aside = self._news_of_aside, []
        return news

    def revise(
        self, snapshot: Mapping[str, ClusterSnapshot], policy_of: Callable[[str], Policy], now_ms: int
    ) -> list[ActionRecord]:
        """Return the action revisions to publish, and record them as published.

        ``snapshot`` by cluster; a cluster without one gets runbook steps. Decisions come first, then alerts that are
        resolved, then open alerts, the oldest first; each is planned with what the actions of the others will do.
        """
        actions = {alert_id: dict(known) for alert_id, known in self._actions.items()}
        alerts, over, decisions = dict(self._alerts), dict(self._over), list(self._decisions)
        try:
            return self._revised_all(snapshot, policy_of, now_ms)
        except Exception:
            self._actions = defaultdict(dict, actions)
            self._alerts, self._over, self._decisions = alerts, over, decisions
            if not self._set_malformed_aside(snapshot, policy_of, now_ms):
                raise
        return self._revised_all(snapshot, policy_of, now_ms)

    def _revised_all(
        self, snapshot: Mapping[str, ClusterSnapshot], policy_of: Callable[[str], Policy], now_ms: int
    ) -> list[ActionRecord]:
        revisions = self._decide(now_ms)
        try:
            seen = self._with_all_alerts(snapshot, policy_of)
        except Exception:
            # If the cause is an action, no alert is set aside, and this fails again.
            self._set_unreadable_aside(snapshot)
            seen = self._with_all_alerts(snapshot, policy_of)
        revisions += self._close(seen, policy_of, now_ms)
        for alert in sorted(self._readable(), key=lambda alert: (alert.opened_at_ms, alert.alert_id)):
            revisions += self._publish(self._answered(alert, seen.get(alert.cluster), policy_of(alert.cluster), now_ms))
        if any(ACTION_TYPES[action.kind].sets_whole_list for action in revisions):
            revisions += self._share_lists(seen, policy_of, now_ms)
        usable = {cluster for cluster, known in seen.items() if not unusable(known, policy_of(cluster), now_ms)}
        self._drop_what_is_over(usable, policy_of, now_ms)
        return revisions

    def _with_all_alerts(
        self, snapshot: Mapping[str, ClusterSnapshot], policy_of: Callable[[str], Policy]
    ) -> dict[str, ClusterSnapshot]:
        known, firing = self._known(), self._readable()
        return {
            cluster: as_seen(found, firing, known, policy_of(cluster).limits) for cluster, found in snapshot.items()
        }

    def _set_malformed_aside(
        self, snapshot: Mapping[str, ClusterSnapshot], policy_of: Callable[[str], Policy], now_ms: int
    ) -> bool:
        """Set aside the actions that make a reader fail; return whether there are any."""
        found = [
            (action, error)
            for action in self._known()
            if (error := self._fault(action, snapshot.get(action.cluster), policy_of(action.cluster), now_ms))
        ]
        for action, _ in found:
            del self._actions[action.alert_id][action.action_id]
            self._malformed[action.action_id] = action.revision
        self._set_aside_actions += len(found)
        self._news_of_aside += [SetAside(action, error) for action, error in found]
        return bool(found)

    def _fault(
        self, action: ActionRecord, seen: ClusterSnapshot | None, policy: Policy, now_ms: int
    ) -> Exception | None:
        return fault_of(action, self._alerts.get(action.alert_id), seen, policy, now_ms)

    def _set_unreadable_aside(self, snapshot: Mapping[str, ClusterSnapshot]) -> None:
        """Set aside the alerts that cannot be applied to the snapshot; called only after such a failure."""
        for alert in self._readable():
            if (found := snapshot.get(alert.cluster)) is None:
                continue
            try:
                with_rates(with_alerts(found, [alert]), (), [alert])
            except Exception as error:
                self._set_aside(alert, error)

    def _readable(self) -> list[AlertRecord]:
        """Return the firing alerts; those set aside without the evidence on which the planner fails."""
        return [
            changed(alert, evidence={}, to_status=None) if self._is_aside(alert) else alert for alert in self._firing()
        ]

    def _answered(
        self, alert: AlertRecord, seen: ClusterSnapshot | None, policy: Policy, now_ms: int
    ) -> list[ActionRecord]:
        """Return the revisions for an alert; only the runbook step if planning fails."""
        if not self._is_aside(alert):
            try:
                return self._revised(alert, seen, policy, now_ms)
            except Exception as error:
                if any(self._fault(a, seen, policy, now_ms) for a in self._known() if a.cluster == alert.cluster):
                    raise
                self._set_aside(alert, error)
        known = list(self._actions[alert.alert_id].values())
        has_zookeeper = alert.evidence.has_zookeeper is True or (seen is not None and seen.has_zookeeper)
        step = investigate(changed(alert, evidence={}), policy, UNREADABLE, has_zookeeper=has_zookeeper)
        return transitions.keep_waiting(known, [record(step, alert, None, policy, now_ms)], now_ms)

    def _is_aside(self, alert: AlertRecord) -> bool:
        return self._aside.get(alert.alert_id) == alert.revision

    def _set_aside(self, alert: AlertRecord, error: Exception) -> None:
        if not self._is_aside(alert):
            self._aside[alert.alert_id] = alert.revision
            self._news_of_aside.append(SetAside(alert, error))

    def _revised(
        self, alert: AlertRecord, seen: ClusterSnapshot | None, policy: Policy, now_ms: int
    ) -> list[ActionRecord]:
        known = list(self._actions[alert.alert_id].values())
        decisions = decisions_on(known, alert.severity)
        snapshot = None if seen is None else replace(with_actions(seen, self._others(alert)), decisions=decisions)
        planned = recommend(alert, snapshot, policy, now_ms)
        if snapshot is None or unusable(snapshot, policy, now_ms):
            return transitions.keep_waiting(known, planned, now_ms)
        before = self._actions[alert.alert_id]
        planned = [ACTION_TYPES[p.kind].carry_over(before.get(p.action_id), p) for p in planned]
        planned += followup.follow_ups(alert, known, snapshot, policy, now_ms, is_over=False)
        return transitions.reconcile(known, planned, snapshot, policy, now_ms)

    def _decide(self, now_ms: int) -> list[ActionRecord]:
        revisions: list[ActionRecord] = []
        for decision in self._decisions:
            for actions in list(self._actions.values()):
                decided = transitions.decide(actions[decision.id], decision, now_ms) if decision.id in actions else None
                revisions += self._publish([decided] if decided else [])
        self._decisions.clear()
        return revisions

    def _close(
        self, snapshot: Mapping[str, ClusterSnapshot], policy_of: Callable[[str], Policy], now_ms: int
    ) -> list[ActionRecord]:
        revisions: list[ActionRecord] = []
        for alert_id, actions in list(self._actions.items()):
            alert, known = self._alerts.get(alert_id), list(actions.values())
            if known and (alert is None or alert.status is AlertStatus.RESOLVED):
                cluster = known[0].cluster
                over = [action for action in known if alert is None or not followup.is_follow_up(action)]
                closed = transitions.close(over, alert, snapshot.get(cluster), policy_of(cluster), now_ms)
                revisions += self._publish(closed)
                revisions += self._publish(self._followed(alert, snapshot.get(cluster), policy_of(cluster), now_ms))
        return revisions

    def _followed(
        self, alert: AlertRecord | None, snapshot: ClusterSnapshot | None, policy: Policy, now_ms: int
    ) -> list[ActionRecord]:
        """Return the follow-ups to the actions of a resolved alert, once there is room for them."""
        if alert is None or snapshot is None or unusable(snapshot, policy, now_ms):
            return []
        known = list(self._actions[alert.alert_id].values())
        snapshot = with_actions(snapshot, self._others(alert))
        planned = followup.follow_ups(alert, known, snapshot, policy, now_ms, is_over=True)
        followers = [action for action in known if followup.is_follow_up(action)]
        return transitions.reconcile(followers, planned, snapshot, policy, now_ms)

    def _share_lists(
        self, snapshot: Mapping[str, ClusterSnapshot], policy_of: Callable[[str], Policy], now_ms: int
    ) -> list[ActionRecord]:
        """Give cordons that set one broker's list the cordons that were planned after them."""
        sharing: defaultdict[tuple[str, int], set[str]] = defaultdict(set)
        for action in self._open_actions():
            if ACTION_TYPES[action.kind].sets_whole_list:
                sharing[action.cluster, action.target["broker"]].add(action.alert_id)
        revisions: list[ActionRecord] = []
        for alert_id in sorted({alert_id for ids in sharing.values() if len(ids) > 1 for alert_id in ids}):
            alert = self._alerts[alert_id]
            answer = self._answered if alert.status is AlertStatus.FIRING else self._followed
            known = snapshot.get(alert.cluster)
            revisions += self._publish(answer(alert, known, policy_of(alert.cluster), now_ms))
        return revisions

    def _drop_what_is_over(self, usable: AbstractSet[str], policy_of: Callable[[str], Policy], now_ms: int) -> None:
        """Forget all but the last revision of a resolved alert, so that memory does not grow with history."""
        for alert in self._resolved():
            actions = self._actions.get(alert.alert_id, {}).values()
            settling_ms, is_known = policy_of(alert.cluster).settling_ms, alert.cluster in usable
            owes = followup.may_owe(actions, settling_ms, now_ms, are_facts_known=is_known)
            if not owes and not any(action.status in OPEN for action in actions):
                self._actions.pop(alert.alert_id, None)
                self._over[alert.alert_id] = self._alerts.pop(alert.alert_id).revision
                self._aside.pop(alert.alert_id, None)

    def _publish(self, revisions: Iterable[ActionRecord]) -> list[ActionRecord]:
        published = [self._after_malformed(action) for action in revisions]
        for action in published:
            self._actions[action.alert_id][action.action_id] = action
        return published

    def _after_malformed(self, action: ActionRecord) -> ActionRecord:
        """Return a revision that follows a malformed one under the same key."""
        revision = max(action.revision, self._malformed.get(action.action_id, 0) + 1)
        return action if revision == action.revision else changed(action, revision=revision)

    def _firing(self) -> list[AlertRecord]:
        return [alert for alert in self._alerts.values() if alert.status is AlertStatus.FIRING]

    def _resolved(self) -> list[AlertRecord]:
        return [alert for alert in self._alerts.values() if alert.status is AlertStatus.RESOLVED]

    def _others(self, alert: AlertRecord) -> Iterable[ActionRecord]:
        """Return the open actions of other alerts; a broker stop that was taken up first waits for no later one."""
        own = min((taken_up(a) for a in self._actions[alert.alert_id].values() if stops_broker(a)), default=None)
        return (
            action
            for action in self._open_actions()
            if action.alert_id != alert.alert_id
            and self._may_happen(action)
            and not (own is not None and stops_broker(action) and taken_up(action) > own)
        )

    def _may_happen(self, action: ActionRecord) -> bool:
        """Tell whether an open action counts for other alerts; a proposal whose alert is over does not."""
        alert = self._alerts.get(action.alert_id)
        is_over = alert is None or alert.status is AlertStatus.RESOLVED
        return not is_over or action.status in TAKEN_UP or followup.is_follow_up(action)

    def _known(self) -> list[ActionRecord]:
        return [action for actions in self._actions.values() for action in actions.values()]

    def _open_actions(self) -> list[ActionRecord]:
        return [a for actions in self._actions.values() for a in actions.values() if a.status in OPEN]

    def _take_alert(self, alert: AlertRecord) -> bool:
        """Record a revision; the fast lane's revision 0 counts until a stateful one is known."""
        known = self._alerts.get(alert.alert_id)
        newest = self._over.get(alert.alert_id, -1) if known is None else known.revision
        if alert.rule is Rule.HEARTBEAT or newest >= alert.revision:
            return False
        self._alerts[alert.alert_id] = alert
        return True

    def _take_action(self, action: ActionRecord) -> bool:
        known = self._actions[action.alert_id].get(action.action_id)
        if self._malformed.get(action.action_id, 0) >= action.revision:
            return False
        if known is not None and known.revision >= action.revision:
            return False
        self._actions[action.alert_id][action.action_id] = action
        return True

    def _take_decision(self, decision: DecisionRecord) -> bool:
        if decision.decision not in {Decision.ACCEPT, Decision.REJECT}:
            return False
        self._decisions.append(decision)
        return True

    def _forget(self, topic: str, key: str) -> bool:
        """Process a tombstone: the key ended long ago; keys of the fast lane are not held."""
        if topic == topics.ALERTS:
            self._alerts.pop(key, None)
            self._over.pop(key, None)
            self._aside.pop(key, None)
        return False


# Parts of an action are read where they are needed, by the kind that they belong to, and another program or release may
# have written them. So a record is tested by running all of these readers on it alone.
def fault_of(
    action: ActionRecord, alert: AlertRecord | None, snapshot: ClusterSnapshot | None, policy: Policy, now_ms: int
) -> Exception | None:
    """Return the error that an action causes even on its own; None if it can be processed."""
    try:
        content_hash(action)
        Severity(action.alert["severity"])
        decisions_on([action], Severity.CRITICAL)
        transitions.keep_waiting([action], [action], now_ms)
        followup.may_owe([action], policy.settling_ms, now_ms, are_facts_known=False)
        transitions.close([action], alert, snapshot, policy, now_ms)
        if snapshot is not None:
            _read_on_snapshot(action, alert, snapshot, policy, now_ms)
    except Exception as error:
        return error
    return None


def _read_on_snapshot(
    action: ActionRecord, alert: AlertRecord | None, snapshot: ClusterSnapshot, policy: Policy, now_ms: int
) -> None:
    with_own_cordons(with_rates(with_actions(snapshot, [action]), [action], ()), [action])
    ACTION_TYPES[action.kind].carry_over(action, action)
    # As a known action, and as one that would be planned again once it has ended.
    for status in (action.status, ActionStatus.PROPOSED):
        transitions.reconcile([changed(action, status=status)], [action], snapshot, policy, now_ms)
    if alert is not None:
        followup.follow_ups(alert, [action], snapshot, policy, now_ms, is_over=True)
