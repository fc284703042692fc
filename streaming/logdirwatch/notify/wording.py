"""The text of a message: a title of one line and a body. Pure."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from logdirwatch.decisions import AlertDecisions
from logdirwatch.model.records import AlertRecord
from logdirwatch.model.vocabulary import Rule, Severity
from logdirwatch.notify.groups import Message, Reason
from logdirwatch.notify.routing import host_of
from logdirwatch.report.handling import marks
from logdirwatch.report.words import change, place
from logdirwatch.text.printable import printable
from logdirwatch.text.units import human_ago
from logdirwatch.text.words import counted, short_id, some_of

EXAMPLES = 2
"""Number of partitions that a title names."""
_COUNTED: Mapping[Rule, tuple[str, str]] = {
    Rule.LOG_DIR_OFFLINE: ("disk offline", "disks offline"),
    Rule.LOG_DIR_UNKNOWN: ("disk unknown", "disks unknown"),
    Rule.LOG_DIR_SUSPECT: ("disk suspect", "disks suspect"),
    Rule.LOG_DIR_SPACE: ("disk filling up", "disks filling up"),
    Rule.BROKER_OFFLINE: ("broker offline", "brokers offline"),
    Rule.BROKER_UNKNOWN: ("broker not answering", "brokers not answering"),
}
LISTED = 10
"""Number of alerts that a message lists; the rest are counted."""
SUMMARY_CHARACTERS = 400


class Text(NamedTuple):
    """A message as people read it; ``severity`` is None when no alert that was sent still fires."""

    title: str
    body: str
    severity: Severity | None


def text_of(message: Message) -> Text:
    """Return the text of a message."""
    firing, ended = message.firing, message.ended
    lines = [*_firing(message), *_ended(ended, has_firing=bool(firing)), *_left_out(message.left_out)]
    return Text(printable(_title(message)), "\n".join(map(printable, lines)), _severity(message))


def _severity(message: Message) -> Severity | None:
    known = [member.alert for member in message.firing] or message.left_out
    return max((alert.severity for alert in known), key=lambda severity: severity.rank, default=None)


def _title(message: Message) -> str:
    alerts = [member.alert for member in message.firing] or list(message.ended)
    over = "[partly resolved]" if message.left_out else "[resolved]"
    word = f"[{_severity(message)}]" if message.firing else over
    again = " (still)" if message.reason is Reason.REPEAT else ""
    if len(alerts) == 1:
        return f"{word}{again} {alerts[0].rule}: {_place(alerts[0])}"
    return f"{word}{again} {len(alerts)} alerts: {_common_place(alerts)}: {'; '.join(headlines(alerts))}"


def headlines(alerts: Iterable[AlertRecord]) -> list[str]:
    """Return what alerts are about, a few words for each rule: leaderless partitions first, then by severity."""
    by_rule: dict[Rule, list[AlertRecord]] = {}
    for alert in sorted(alerts, key=lambda alert: (-alert.severity.rank, alert.rule is not Rule.PARTITIONS_AT_RISK)):
        by_rule.setdefault(alert.rule, []).append(alert)
    return [_headline(rule, found) for rule, found in by_rule.items()]


def _headline(rule: Rule, alerts: Sequence[AlertRecord]) -> str:
    if rule is Rule.PARTITIONS_AT_RISK:
        kinds = list(dict.fromkeys((alert.to_status or str(rule)).replace("_", " ") for alert in alerts))
        names = [name for alert in alerts for name in alert.affected.get("examples") or ()]
        return f"{', '.join(kinds)}: {some_of(names, EXAMPLES)}" if names else ", ".join(kinds)
    if rule in _COUNTED:
        return counted(len(alerts), *_COUNTED[rule])
    return str(rule) if len(alerts) == 1 else f"{len(alerts)} {rule}"


def _firing(message: Message) -> Iterator[str]:
    shown = message.firing[:LISTED]
    for member in shown:
        alert = member.alert
        opened = f"opened {human_ago(alert.opened_at_ms, message.at_ms)}, {short_id(alert.alert_id)}"
        yield ", ".join(filter(None, (f"{alert.severity} {alert.rule} {_place(alert)}", _status(alert), opened)))
        yield f"  {_short(alert.summary)}{_said(member.decided)}"
    if len(message.firing) > len(shown):
        yield f"and {len(message.firing) - len(shown)} more; list them with: logdirwatch alerts"


def _ended(ended: Sequence[AlertRecord], *, has_firing: bool) -> Iterator[str]:
    if ended and has_firing:
        yield "over:"
    for alert in ended[:LISTED]:
        why = f" ({alert.reason})" if alert.reason else ""
        yield f"resolved{why} {alert.rule} {_place(alert)}, {short_id(alert.alert_id)}"
        yield f"  {_short(alert.summary)}"
    if len(ended) > LISTED:
        yield f"and {len(ended) - LISTED} more resolved; list them with: logdirwatch alerts --all"


def _left_out(alerts: Sequence[AlertRecord]) -> Iterator[str]:
    if alerts:
        yield f"still firing, but silenced: {len(alerts)}; list them with: logdirwatch alerts"


def _place(alert: AlertRecord) -> str:
    return place(alert.cluster, alert.broker, alert.log_dir)


def _common_place(alerts: Iterable[AlertRecord]) -> str:
    """Return the place that all alerts share: a cluster, a host or a broker."""
    alerts = list(alerts)
    places = [(alert.cluster, alert.broker, alert.log_dir) for alert in alerts]
    clusters, brokers, log_dirs = map(set, zip(*places, strict=True))
    if len(clusters) > 1:
        return f"{len(clusters)} clusters"
    broker = next(iter(brokers)) if len(brokers) == 1 else None
    if (host := _common_host(alerts)) is not None:
        return f"{place(next(iter(clusters)), None, None)} host {host}"
    return place(
        next(iter(clusters)), broker, next(iter(log_dirs)) if broker is not None and len(log_dirs) == 1 else None
    )


def _common_host(alerts: Iterable[AlertRecord]) -> str | None:
    """Return the host of the brokers if there are several and all of them run on it."""
    hosts = {alert.broker: host_of(alert) for alert in alerts if alert.broker is not None}
    return next(iter(hosts.values())) if len(hosts) > 1 and len(set(hosts.values())) == 1 else None


def _status(alert: AlertRecord) -> str:
    return change(alert.from_status, alert.to_status, alert.cause)


def _short(text: str) -> str:
    return text if len(text) <= SUMMARY_CHARACTERS else f"{text[:SUMMARY_CHARACTERS]}..."


def _said(decided: AlertDecisions) -> str:
    return "".join(f" [{mark}]" for mark in marks(decided))
