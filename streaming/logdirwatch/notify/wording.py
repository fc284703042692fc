"""The text of a message: a title of one line and a body. Pure."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from logdirwatch.decisions import AlertDecisions
from logdirwatch.model.records import ActionRecord, AlertRecord
from logdirwatch.model.vocabulary import Rule, Severity
from logdirwatch.notify.groups import Member, Message, Reason
from logdirwatch.notify.links import NO_LINKS, Links
from logdirwatch.notify.routing import host_of
from logdirwatch.plan.rule_responses import first_look
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
    Rule.BROKER_CRASH_LOOP: ("broker in a crash loop", "brokers in a crash loop"),
}
LISTED = 10
"""Number of alerts that a message lists; the rest are counted."""
SUMMARY_CHARACTERS = 400
STEP_CHARACTERS = 200
_MAY_REPEAT = (
    "notify started without a record of the messages sent before (logdir.notifications was lost or is new): "
    "you may have got some of this already"
)


class Text(NamedTuple):
    """A message as people read it; ``severity`` is None when no alert that was sent still fires."""

    title: str
    body: str
    severity: Severity | None


def text_of(message: Message, links: Links = NO_LINKS) -> Text:
    """Return the text of a message: what is new first, with its next step, then what ended, then what still fires."""
    news = [member for member in message.firing if message.is_new(member)]
    rest = [member for member in message.firing if not message.is_new(member)]
    lines = [
        *_news(news, message, links, is_marked=bool(rest or message.ended)),
        *_ended(message.ended, has_firing=bool(message.firing)),
        *_rest(rest, message),
        *_left_out(message.left_out),
        *([_MAY_REPEAT] if message.may_repeat else []),
    ]
    return Text(printable(_title(message, news)), "\n".join(map(printable, lines)), _severity(message))


def _severity(message: Message) -> Severity | None:
    known = [member.alert for member in message.firing] or message.left_out
    return _loudest(known)


def _loudest(alerts: Iterable[AlertRecord]) -> Severity | None:
    return max((alert.severity for alert in alerts), key=lambda severity: severity.rank, default=None)


def _title(message: Message, news: Sequence[Member]) -> str:
    if message.is_test:
        return f"[test] logdirwatch notify: nothing is wrong{'' if message.firing else ', the test is over'}"
    firing = [member.alert for member in message.firing]
    tells_news = bool(news) or not message.ended
    alerts = ([member.alert for member in news] or firing) if tells_news else list(message.ended)
    known = [member.alert for member in message.firing if not message.is_new(member)] if news else []
    word = (
        _loudest(alerts) if tells_news and firing else "partly resolved" if firing or message.left_out else "resolved"
    )
    again = " (still)" if message.reason is Reason.REPEAT else ""
    besides = _besides(message, known) if tells_news else _still_firing(message)
    tail = f" ({'; '.join(besides)})" if besides else ""
    if len(alerts) == 1:
        return f"[{word}]{again} {alerts[0].rule}: {_place(alerts[0])}{tail}"
    new = "new " if known else ""
    return f"[{word}]{again} {len(alerts)} {new}alerts: {_common_place(alerts)}: {'; '.join(headlines(alerts))}{tail}"


def _besides(message: Message, known: Sequence[AlertRecord]) -> list[str]:
    """Return what a title counts besides its news."""
    return [
        *([f"known: {_by_severity(known)}"] if known else []),
        *([f"resolved: {len(message.ended)}"] if message.ended and message.firing else []),
    ]


def _still_firing(message: Message) -> list[str]:
    """Return what fires on after an end: whether somebody must still get up."""
    firing = [member.alert for member in message.firing]
    return [
        *([f"still firing: {_by_severity(firing)}"] if firing else []),
        *([f"silenced: {_by_severity(message.left_out)}"] if message.left_out else []),
    ]


def _by_severity(alerts: Iterable[AlertRecord]) -> str:
    found = Counter(alert.severity for alert in alerts)
    return ", ".join(f"{found[severity]} {severity}" for severity in sorted(found, key=lambda one: -one.rank))


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


def _news(news: Sequence[Member], message: Message, links: Links, *, is_marked: bool) -> Iterator[str]:
    """Yield what the receiver does not know yet, in full; marked as new if the message is about other alerts, too."""
    mark = "new: " if is_marked else ""
    for member in news[:LISTED]:
        yield f"{mark}{_line(member, message.at_ms)}"
        yield f"  {_short(member.alert.summary)}{_said(member.decided)}"
        if not message.is_test:
            yield f"  next: {next_words(member)}"
        yield from _links(member, links)
    yield from _uncounted(len(news))


def _rest(rest: Sequence[Member], message: Message) -> Iterator[str]:
    """Yield one line for each alert that the receiver knows."""
    for member in rest[:LISTED]:
        yield f"still {_line(member, message.at_ms)}{_said(member.decided)}"
    yield from _uncounted(len(rest))


def _uncounted(count: int) -> Iterator[str]:
    if count > LISTED:
        yield f"and {count - LISTED} more; list them with: logdirwatch alerts"


def _line(member: Member, now_ms: int) -> str:
    alert = member.alert
    opened = f"opened {human_ago(alert.opened_at_ms, now_ms)}, {short_id(alert.alert_id)}"
    return ", ".join(filter(None, (f"{alert.severity} {alert.rule} {_place(alert)}", _status(alert), opened)))


def _links(member: Member, links: Links) -> Iterator[str]:
    """Yield where more can be read about an alert and its next step."""
    step = member.next_step
    if step is not None and (page := links.action(step.action_id)) is not None:
        yield f"  action: {page}"
    if (page := links.alert(member.alert.alert_id)) is not None:
        yield f"  console: {page}"
    if (page := links.runbook(member.alert.rule)) is not None:
        yield f"  runbook: {page}"


def next_words(member: Member) -> str:
    """Return the next step: an action, or what to find out first while none is known."""
    return _clipped(first_look(member.alert)) if member.next_step is None else _step_words(member.next_step)


def _clipped(reason: str) -> str:
    return reason if len(reason) <= STEP_CHARACTERS else f"{reason[:STEP_CHARACTERS]}..."


def _step_words(step: ActionRecord) -> str:
    """Return an action as a next step: what, why, and the command that shows it."""
    reason = _clipped(step.reason)
    loses = " LOSES DATA;" if step.data_loss else ""
    return f"{step.kind}:{loses} {reason} (logdirwatch actions show {short_id(step.action_id)})"


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
