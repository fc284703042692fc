"""A message for Alertmanager's API v2 (``POST /api/v2/alerts``): labels identify, annotations describe. Pure."""

from datetime import datetime, timezone
from typing import Any

from logdirwatch.model.records import AlertRecord
from logdirwatch.model.vocabulary import Severity
from logdirwatch.notify.groups import Member, Message
from logdirwatch.report.handling import marks

KEPT_FOR_RESENDS = 4
"""An alert ends by itself after this many missed repeats, as with Prometheus."""

Alert = dict[str, Any]


def alerts_of(message: Message, resend_ms: int) -> list[Alert]:
    """Return the firing alerts, with an end time that the next repeat extends, and the ended ones.

    The severity is a label, for routing, and labels identify an alert: one sent before with another severity ends with
    that severity.
    """
    posted: list[Alert] = []
    for member in message.firing:
        spoken = message.spoken.get(member.alert.alert_id)
        if spoken is not None and spoken is not member.alert.severity:
            posted.append(_posted(Member(member.alert), spoken, message.at_ms))
        posted.append(_posted(member, member.alert.severity, message.at_ms + KEPT_FOR_RESENDS * resend_ms))
    for alert in message.ended:
        spoken = message.spoken.get(alert.alert_id, alert.severity)
        posted.append(_posted(Member(alert), spoken, min(alert.at_ms, message.at_ms)))
    return posted


def _posted(member: Member, severity: Severity, ends_ms: int) -> Alert:
    alert = member.alert
    return {
        "labels": _labels(alert, severity),
        "annotations": {"summary": alert.summary, **_said(member)},
        "startsAt": _rfc3339(min(alert.opened_at_ms, ends_ms)),
        "endsAt": _rfc3339(ends_ms),
    }


def _labels(alert: AlertRecord, severity: Severity) -> dict[str, str]:
    """``alert_id`` distinguishes two alerts of one rule and place, such as those about queries of the stream."""
    labels = {
        "alertname": str(alert.rule),
        "severity": str(severity),
        "cluster": alert.cluster,
        "broker": None if alert.broker is None else str(alert.broker),
        "log_dir": alert.log_dir,
        "alert_id": alert.alert_id,
    }
    return {name: value for name, value in labels.items() if value is not None}


def _said(member: Member) -> dict[str, str]:
    said = marks(member.decided)
    return {"said": "; ".join(said)} if said else {}


def _rfc3339(at_ms: int) -> str:
    return datetime.fromtimestamp(at_ms / 1000, tz=timezone.utc).isoformat(timespec="milliseconds")
