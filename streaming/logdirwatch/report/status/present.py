"""What a status may show: an open alert overrides older rows, and what is not monitored now is unknown. Pure."""

from collections.abc import Iterable, Sequence
from typing import Any

from msgspec.structs import replace

from logdirwatch.model.records import AlertRecord
from logdirwatch.model.vocabulary import AlertStatus, BrokerStatus, LogDirStatus, Rule
from logdirwatch.plan.availability import offline_log_dirs
from logdirwatch.report.status.cluster import RISKS, Broker, LogDir, Risk
from logdirwatch.text.units import human_ago
from logdirwatch.text.words import short_id

_BROKER_GONE = {Rule.BROKER_OFFLINE: BrokerStatus.OFFLINE, Rule.BROKER_UNKNOWN: BrokerStatus.UNKNOWN}
_LOG_DIR_RULES = {Rule.LOG_DIR_OFFLINE, Rule.LOG_DIR_UNKNOWN, Rule.LOG_DIR_SPACE}
_LOSSES = {*_BROKER_GONE, Rule.LOG_DIR_OFFLINE, Rule.LOG_DIR_UNKNOWN, Rule.PARTITIONS_AT_RISK}
_LOG_DIR_STATUSES = {str(status) for status in LogDirStatus}


def losses(alerts: Iterable[AlertRecord] | None, since_ms: int | None) -> list[AlertRecord]:
    """Return the open alerts about losses or missing data that are newer than ``since_ms``, or all of them."""
    return [
        alert
        for alert in alerts or ()
        if alert.rule in _LOSSES and alert.status is AlertStatus.FIRING and (since_ms is None or alert.at_ms > since_ms)
    ]


def corrected(brokers: Iterable[Broker], alerts: Iterable[AlertRecord] | None) -> list[Broker]:
    """Return brokers and directories, corrected by open alerts that are newer than their rows."""
    firing = [alert for alert in alerts or () if alert.status is AlertStatus.FIRING and alert.stale_since_ms is None]
    return [
        _corrected(broker, [alert for alert in firing if alert.broker == broker.broker and alert.at_ms > broker.at_ms])
        for broker in brokers
    ]


def _corrected(broker: Broker, newer: Sequence[AlertRecord]) -> Broker:
    by_log_dir = _by_log_dir(newer)
    log_dirs = broker.log_dirs and [_by_alert(one, by_log_dir.get(one.log_dir)) for one in broker.log_dirs]
    broker = replace(broker, log_dirs=log_dirs)
    gone = next((alert for alert in newer if alert.rule in _BROKER_GONE), None)
    if gone is not None:
        return _gone(broker, _BROKER_GONE[gone.rule], _by(gone))
    lost = next((alert for alert in newer if alert.rule is Rule.LOG_DIR_OFFLINE), None)
    if lost is None or broker.status != BrokerStatus.ONLINE:
        return broker
    return replace(broker, status=BrokerStatus.DEGRADED, reason=_by(lost), next_log_dirs=None)


def _by_log_dir(alerts: Iterable[AlertRecord]) -> dict[str, AlertRecord]:
    """Return the alert about each directory; one alert may be about several."""
    found: dict[str, AlertRecord] = {}
    of_log_dirs = (alert for alert in alerts if alert.rule in _LOG_DIR_RULES)
    for alert in sorted(of_log_dirs, key=lambda alert: (alert.rule is Rule.LOG_DIR_OFFLINE, alert.at_ms)):
        found |= {path: alert for _, path in offline_log_dirs.places_of(alert)}
    return found


def _by_alert(log_dir: LogDir, alert: AlertRecord | None) -> LogDir:
    if alert is None or alert.to_status not in _LOG_DIR_STATUSES:
        return log_dir
    found = offline_log_dirs.cause_at(alert, log_dir.log_dir)
    cause = None if found is None else str(found)
    was = log_dir.last_status if log_dir.status == LogDirStatus.UNKNOWN else log_dir.status
    return replace(log_dir, status=alert.to_status, cause=cause, reason=_by(alert), last_status=was)


def _by(alert: AlertRecord) -> str:
    return f"open alert {alert.rule} {short_id(alert.alert_id)}, newer than the table"


def past(brokers: Iterable[Broker], now_ms: int) -> list[Broker]:
    """Return brokers that are not monitored now: each status is ``unknown``, with the last known one beside it."""
    return [_gone(broker, BrokerStatus.UNKNOWN, _as_of(broker.reason, broker.at_ms, now_ms)) for broker in brokers]


def _gone(broker: Broker, status: str, reason: str) -> Broker:
    log_dirs = broker.log_dirs and [_unknown(log_dir, reason) for log_dir in broker.log_dirs]
    was = _last(broker.status, broker.last_status)
    return replace(
        broker, status=status, last_status=was, reason=reason, log_dirs=log_dirs or broker.log_dirs, next_log_dirs=None
    )


def _unknown(log_dir: LogDir, reason: str) -> LogDir:
    was = _last(log_dir.status, log_dir.last_status)
    return replace(log_dir, status=LogDirStatus.UNKNOWN, last_status=was, reason=reason)


def _last(status: str, last_status: str | None) -> str | None:
    return last_status if status == LogDirStatus.UNKNOWN else status


def _as_of(reason: str | None, at_ms: int, now_ms: int) -> str:
    return f"as of {human_ago(at_ms, now_ms)}: {reason}" if reason else f"as of {human_ago(at_ms, now_ms)}"


def risks_by(alerts: Iterable[AlertRecord], known: dict[str, Risk] | None) -> dict[str, Risk] | None:
    """Return lower bounds of the partitions at risk from alerts; None if no alert counts any.

    ``known`` are the counts of an older inventory: higher ones may still hold.
    """
    counting = [alert.affected for alert in alerts if any(_count(alert.affected, name) for name in RISKS)]
    if not counting:
        return None
    before = known or {}
    return {name: _risk(name, counting, before.get(name, Risk())) for name in RISKS}


def _risk(name: str, counting: list[dict[str, Any]], before: Risk) -> Risk:
    most = max(counting, key=lambda affected: _count(affected, name))
    count = _count(most, name)
    if count <= before.count:
        return before
    # Examples cover all risks together, the worst first: they belong to the worst risk present.
    worst = next(danger for danger in RISKS if _count(most, danger))
    return Risk(count=count, examples=list(most.get("examples") or ()) if name == worst else [])


def _count(affected: dict[str, Any], name: str) -> int:
    count = affected.get(name)
    return count if isinstance(count, int) else 0
