"""The snapshot updated with what alerts and open actions know and the tables do not yet.

Alerts take precedence: the tables lag by one trigger of ``store``.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from logdirwatch.model.evidence import read_as
from logdirwatch.model.evidence.base import LogDirEvidence
from logdirwatch.model.evidence.brokers import BrokerSuspectEvidence
from logdirwatch.model.evidence.log_dirs import LogDirSpaceEvidence
from logdirwatch.model.records import ActionRecord, AlertRecord
from logdirwatch.model.vocabulary import (
    NOT_OF_A_DISK,
    OPEN,
    TAKEN_UP,
    ActionKind,
    ActionStatus,
    BrokerStatus,
    LogDirStatus,
    Rule,
)
from logdirwatch.plan.action_types import ACTION_TYPES
from logdirwatch.plan.actions.progress import was_accepted
from logdirwatch.plan.availability import offline_log_dirs
from logdirwatch.plan.capacity.copy_rates import with_rates
from logdirwatch.plan.capacity.projected_use import passing_bytes
from logdirwatch.plan.cluster.assignment import from_json
from logdirwatch.plan.cluster.layout import LogDirId
from logdirwatch.plan.cluster.snapshot import Broker, ClusterSnapshot, LogDir, with_excluded_log_dirs
from logdirwatch.plan.operator_decisions import stops_broker, would_stop_broker
from logdirwatch.plan.settings import PlanSettings

_BROKER_RULES = {Rule.BROKER_OFFLINE: BrokerStatus.OFFLINE, Rule.BROKER_UNKNOWN: BrokerStatus.UNKNOWN}
_NUMBERS = ("total_bytes", "usable_bytes", "growth_bytes_per_s", "is_metadata_dir", "sample_at_ms")
_OUTLOOK = ("lasting_growth_bytes_per_s", "full_at_ms")


def as_seen(
    snapshot: ClusterSnapshot, alerts: Sequence[AlertRecord], actions: Sequence[ActionRecord], limits: PlanSettings
) -> ClusterSnapshot:
    """Return the snapshot that is planned on: with what open alerts and past actions tell, and settings exclude."""
    known = with_own_cordons(with_rates(with_alerts(snapshot, alerts), actions, alerts), actions)
    return with_excluded_log_dirs(known, limits)


def with_alerts(snapshot: ClusterSnapshot, alerts: Iterable[AlertRecord]) -> ClusterSnapshot:
    """Return the snapshot updated with the evidence of the cluster's open alerts."""
    brokers, directories = dict(snapshot.brokers), dict(snapshot.directories)
    ours = [alert for alert in alerts if alert.cluster == snapshot.cluster]
    ours.sort(key=lambda alert: (alert.at_ms, alert.alert_id))
    for alert in ours:
        if alert.broker is None:
            if alert.rule is Rule.BROKER_UNKNOWN:  # none is reported
                brokers = {number: replace(broker, status=BrokerStatus.UNKNOWN) for number, broker in brokers.items()}
        elif alert.rule in _BROKER_RULES and alert.broker in brokers:
            brokers[alert.broker] = replace(brokers[alert.broker], status=_BROKER_RULES[alert.rule])
        elif alert.rule is Rule.LOG_DIR_SUSPECT and alert.log_dir is None and alert.broker in brokers:
            is_suspect = not set(read_as(alert.evidence, BrokerSuspectEvidence).why or ("",)) <= NOT_OF_A_DISK
            brokers[alert.broker] = replace(brokers[alert.broker], is_suspect=is_suspect)
        elif alert.rule is Rule.LOG_DIR_OFFLINE:
            for place in offline_log_dirs.places_of(alert):
                directories[place] = _offline(directories.get(place) or _unknown(place), alert)
                brokers |= {place[0]: _degraded(brokers[place[0]])} if place[0] in brokers else {}
        elif alert.log_dir is not None:
            place = alert.broker, alert.log_dir
            directories[place] = _judged(directories.get(place) or _unknown(place), alert)
    return _with_copy_lags(replace(snapshot, brokers=brokers, directories=directories), ours)


def _with_copy_lags(snapshot: ClusterSnapshot, alerts: Iterable[AlertRecord]) -> ClusterSnapshot:
    """Return the snapshot with the lag of tiered topics where only the alerts know it: brokers answer without it."""
    lags = {
        alert.broker: read_as(alert.evidence, LogDirSpaceEvidence).remote_copy_lag_bytes
        for alert in alerts
        if alert.rule is Rule.LOG_DIR_SPACE and alert.broker is not None
    }
    if set(lags.values()) <= {None}:
        return snapshot
    topics = {
        name: topic.with_copy_lag(lags) if topic.remote_copy_lag_bytes is None else topic
        for name, topic in snapshot.layout.topics.items()
    }
    return replace(snapshot, layout=replace(snapshot.layout, topics=topics))


def with_actions(snapshot: ClusterSnapshot, others: Iterable[ActionRecord]) -> ClusterSnapshot:
    """Return the snapshot updated with what open actions of the cluster's other alerts will do."""
    reserved: Counter[LogDirId] = Counter()
    claimed, cutting, stopping, may_stop = set(), set(), set(), set()
    cordoning: dict[LogDirId, bool] = {}
    for action in others:
        if action.status not in OPEN or action.cluster != snapshot.cluster:
            continue
        if action.reassignment is not None:
            assignments = from_json(action.reassignment)
            reserved.update({(e["broker"], e["log_dir"]): -e["bytes"] for e in action.expected["on"] if e["bytes"] < 0})
            reserved.update(passing_bytes(assignments, snapshot))
            claimed |= {assignment.key for assignment in assignments}
        if action.kind is ActionKind.LOWER_RETENTION and action.status in TAKEN_UP:
            cutting.add(str(action.target["topic"]))
        if stops_broker(action):
            stopping.add(int(action.target["broker"]))
        if would_stop_broker(action) and not action.vetoes:
            may_stop.add(int(action.target["broker"]))
        if ACTION_TYPES[action.kind].sets_whole_list and not action.vetoes:
            cordoning[action.target["broker"], action.target["log_dir"]] = action.expected["is_cordoned"]
    return replace(
        snapshot,
        reserved=dict(reserved),
        claimed=frozenset(claimed),
        cutting=frozenset(cutting),
        cordoning=cordoning,
        stopping=frozenset(stopping),
        may_stop=frozenset(may_stop),
    )


def with_own_cordons(snapshot: ClusterSnapshot, actions: Iterable[ActionRecord]) -> ClusterSnapshot:
    """Return the snapshot with the cordons that accepted actions set because a directory was filling."""
    done = [
        action
        for action in actions
        if ACTION_TYPES[action.kind].sets_whole_list
        and action.status is ActionStatus.DONE
        and action.cluster == snapshot.cluster
    ]
    last = {(a.target["broker"], a.target["log_dir"]): a for a in sorted(done, key=lambda action: action.at_ms)}
    own = (
        place
        for place, action in last.items()
        if action.kind is ActionKind.CORDON_LOG_DIR
        and was_accepted(action)
        and action.alert.get("rule") == Rule.LOG_DIR_SPACE
    )
    return replace(snapshot, own_cordons=frozenset(own))


def _offline(directory: LogDir, alert: AlertRecord) -> LogDir:
    """Return a directory as its alert reports it; in an alert shared by several the numbers are those of the first."""
    is_first = directory.path == next(path for _, path in offline_log_dirs.places_of(alert))
    measured = _measured(directory, alert) if is_first else directory
    return replace(measured, status=LogDirStatus.OFFLINE, cause=offline_log_dirs.cause_at(alert, directory.path))


def _judged(directory: LogDir, alert: AlertRecord) -> LogDir:
    is_newer = directory.state_at_ms is None or alert.at_ms >= directory.state_at_ms
    is_known = alert.to_status in set(LogDirStatus)
    if alert.rule is Rule.LOG_DIR_SPACE and alert.stale_since_ms is None and is_newer and is_known:
        return replace(_measured(directory, alert), status=LogDirStatus(alert.to_status))
    if alert.rule is Rule.LOG_DIR_SUSPECT:
        # A slow or failing disk still serves, unless Kafka cannot measure its directory.
        is_unseen = alert.to_status in {None, LogDirStatus.UNKNOWN}
        return replace(directory, is_suspect=True, status=LogDirStatus.UNKNOWN if is_unseen else directory.status)
    return replace(directory, status=LogDirStatus.UNKNOWN) if alert.rule is Rule.LOG_DIR_UNKNOWN else directory


def _measured(directory: LogDir, alert: AlertRecord) -> LogDir:
    """Use the alert's numbers if its sample is newer."""
    shown = read_as(alert.evidence, LogDirEvidence)
    if shown.sample_at_ms is None or shown.sample_at_ms < (directory.sample_at_ms or 0):
        return directory
    numbers: dict[str, Any] = {key: value for key in _NUMBERS if (value := getattr(shown, key)) is not None}
    # An end that is no longer forecast is news as well.
    return replace(directory, **numbers, **{key: getattr(shown, key) for key in _OUTLOOK})


def _degraded(broker: Broker) -> Broker:
    return replace(broker, status=BrokerStatus.DEGRADED) if broker.status is BrokerStatus.ONLINE else broker


def _unknown(place: LogDirId) -> LogDir:
    return LogDir(broker=place[0], path=place[1], status=LogDirStatus.UNKNOWN)
