"""A message for Alertmanager's API v2 (``POST /api/v2/alerts``): labels identify, annotations describe. Pure."""

from datetime import datetime, timezone
from typing import Any

from logdirwatch.model.records import AlertRecord
from logdirwatch.model.vocabulary import Severity
from logdirwatch.notify.groups import Member, Message
from logdirwatch.notify.links import NO_LINKS, Links
from logdirwatch.notify.routing import host_of
from logdirwatch.notify.wording import next_words
from logdirwatch.report.handling import marks
from logdirwatch.report.words import change, place

TEST_NAME = "logdirwatch_test"
"""The name of a test's alert: no route for missing heartbeats should take it."""

Alert = dict[str, Any]


def alerts_of(message: Message, links: Links = NO_LINKS) -> list[Alert]:
    """Return the firing alerts, without an end time, and the ended ones.

    Alertmanager itself gives a firing alert the end that each repeat extends, by ``resolve_timeout`` and its own clock:
    an end by the clock of this host would end everything at once when that clock is behind.

    The severity is a label, for routing, and labels identify an alert: one sent before with another severity, or
    perhaps sent, ends with that severity, when the new one began by the evidence.
    """
    posted: list[Alert] = []
    for member in message.firing:
        others = _severities(member.alert, message) - {member.alert.severity}
        posted += [_ended(member.alert, severity, message, links) for severity in sorted(others)]
        posted.append(_posted(member, member.alert.severity, message.at_ms, links, is_test=message.is_test))
    for alert in message.ended:
        known = _severities(alert, message) or {alert.severity}
        posted += [_ended(alert, severity, message, links) for severity in sorted(known)]
    return posted


def _severities(alert: AlertRecord, message: Message) -> set[Severity]:
    """Return the severities with which Alertmanager knows an alert, or may know it."""
    spoken = message.spoken.get(alert.alert_id)
    return {*message.unsure.get(alert.alert_id, ()), *([] if spoken is None else [spoken])}


def _ended(alert: AlertRecord, severity: Severity, message: Message, links: Links) -> Alert:
    ended_ms = min(alert.at_ms, message.at_ms)
    posted = _posted(Member(alert), severity, ended_ms, links, is_test=message.is_test)
    return posted | {"endsAt": _rfc3339(ended_ms)}


def _posted(member: Member, severity: Severity, latest_ms: int, links: Links, *, is_test: bool) -> Alert:
    alert = member.alert
    page = links.alert(alert.alert_id)
    return {
        "labels": _labels(alert, severity) | ({"alertname": TEST_NAME} if is_test else {}),
        "annotations": _annotations(member, links),
        "startsAt": _rfc3339(min(alert.opened_at_ms, latest_ms)),
        **({"generatorURL": page} if page else {}),
    }


def _annotations(member: Member, links: Links) -> dict[str, str]:
    """Return the texts of an alert.

    The host is one of them: as a label it would make another alert, since the fast lane does not know it yet.
    """
    alert = member.alert
    found = {
        "summary": alert.summary,
        "description": _description(member),
        "host": host_of(alert),
        "runbook_url": links.runbook(alert.rule),
        "said": "; ".join(marks(member.decided)),
    }
    return {name: text for name, text in found.items() if text}


def _description(member: Member) -> str:
    alert = member.alert
    changed = change(alert.from_status, alert.to_status, alert.cause)
    where = place(alert.cluster, alert.broker, alert.log_dir)
    what = f"{alert.rule} of {where}{f', {changed}' if changed else ''}"
    return f"{what}. Next: {next_words(member)}"


def _labels(alert: AlertRecord, severity: Severity) -> dict[str, str]:
    """Return the labels; ``alert_id`` distinguishes two alerts of one rule and place.

    Examples are alerts about queries of the stream.
    """
    labels = {
        "alertname": str(alert.rule),
        "severity": str(severity),
        "cluster": alert.cluster,
        "broker": None if alert.broker is None else str(alert.broker),
        "log_dir": alert.log_dir,
        "alert_id": alert.alert_id,
    }
    return {name: value for name, value in labels.items() if value is not None}


_CALENDAR_MS = 253_402_300_799_000
"""The last second of the year 9999, the last one that Python and RFC 3339 know."""


def _rfc3339(at_ms: int) -> str:
    at_ms = min(max(at_ms, 0), _CALENDAR_MS)
    return datetime.fromtimestamp(at_ms / 1000, tz=timezone.utc).isoformat(timespec="milliseconds")
