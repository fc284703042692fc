"""The status of a cluster for people: faults first, stale data before everything else.

Brokers and directories are listed the worst first; healthy ones are one line per group.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from rich.console import Group, RenderableType
from rich.text import Text

from logdirwatch.model.capabilities import CapacitySource
from logdirwatch.model.vocabulary import Severity
from logdirwatch.report.executions import Execution
from logdirwatch.report.handling import phrase
from logdirwatch.report.layout import listing
from logdirwatch.report.status import ages, counts
from logdirwatch.report.status.cluster import Broker, ClusterStatus, LogDir, OpenAlert, PipelineAlert
from logdirwatch.report.words import colour, place
from logdirwatch.text.printable import printable
from logdirwatch.text.units import bar, human_ago, human_bytes, human_ms, human_ratio
from logdirwatch.text.words import counted, number_ranges, short_id, utc

HEALTHY = "ok"
LEGEND = {"!!": "act on it", "!": "look at it", "?": "not known now", HEALTHY: "healthy"}
"""The marks, the worst first."""

SHOWN_ALERTS = 2
_BADNESS = ("online", "filling", "degraded", "critical", "saturated", "unknown", "offline")
_BAD = {"critical", "saturated", "offline", "degraded"}
_LOUD = {Severity.PAGE, Severity.CRITICAL}


class Place(NamedTuple):
    """A broker, or one of its log directories, with the open alerts about exactly it."""

    broker: Broker
    log_dir: LogDir | None
    alerts: Sequence[OpenAlert]

    @property
    def subject(self) -> Broker | LogDir:
        """The broker or directory."""
        return self.broker if self.log_dir is None else self.log_dir

    @property
    def is_healthy(self) -> bool:
        """Whether nothing is known to be wrong with it."""
        return self.subject.status == "online" and not self.alerts

    @property
    def mark(self) -> str:
        """The mark in front of it."""
        if self.subject.status in _BAD or any(alert.severity in _LOUD for alert in self.alerts):
            return "!!"
        if self.subject.status == "unknown":
            return "?"
        return HEALTHY if self.is_healthy else "!"

    @property
    def badness(self) -> tuple[int, int, float]:
        """Its rank among others; the largest is the worst."""
        loudest = max((Severity(alert.severity).rank for alert in self.alerts), default=-1)
        return _badness(self.subject), loudest, (self.log_dir and self.log_dir.used_ratio) or 0.0


def places_of(brokers: Iterable[Broker], alerts: Sequence[OpenAlert]) -> list[Place]:
    """Return the brokers, the worst first."""
    by_broker = _by_place(alerts)
    return _worst_first([Place(broker, None, by_broker.get((broker.broker, None), ())) for broker in brokers])


def log_dir_places_of(brokers: Iterable[Broker], alerts: Sequence[OpenAlert]) -> list[Place]:
    """Return the log directories of all brokers, the worst first."""
    by_place = _by_place(alerts)
    return _worst_first(
        [
            Place(broker, log_dir, by_place.get((broker.broker, log_dir.log_dir), ()))
            for broker in brokers
            for log_dir in broker.log_dirs or ()
        ]
    )


def status_words(one: Broker | LogDir) -> str:
    """Return a status with its cause and, if it is unknown, the last known one."""
    cause = f" ({one.cause})" if isinstance(one, LogDir) and one.cause else ""
    was = f", was {one.last_status}" if one.status == "unknown" and one.last_status else ""
    return f"{one.status}{was}{cause}"


def style(one: Broker | LogDir) -> str:
    """Return the style of a status: an unknown one that was bad when last seen stays prominent."""
    is_bad = one.status == "unknown" and one.last_status in _BAD
    return colour(one.last_status if is_bad else one.status)


def alert_words(place: Place) -> str:
    """Return the open alerts about a place, as far as they fit."""
    named = [f"{alert.rule} {short_id(alert.alert_id)}" for alert in place.alerts[:SHOWN_ALERTS]]
    more = f" and {len(place.alerts) - SHOWN_ALERTS} more" if len(place.alerts) > SHOWN_ALERTS else ""
    return f"{', '.join(named)}{more}"


def legend(places: Iterable[Place]) -> Text:
    """Return what the marks of these places mean; empty if there are none."""
    used = {place.mark for place in places}
    told = ", ".join(f"{mark} {meaning}" for mark, meaning in LEGEND.items() if mark in used)
    return Text(f"marks: {told}" if told else "", style="dim")


def _by_place(alerts: Iterable[OpenAlert]) -> dict[tuple[int | None, str | None], list[OpenAlert]]:
    found: dict[tuple[int | None, str | None], list[OpenAlert]] = {}
    for alert in alerts:
        found.setdefault((alert.broker, alert.log_dir), []).append(alert)
    return found


def _worst_first(places: Iterable[Place]) -> list[Place]:
    return sorted(places, key=lambda place: place.badness, reverse=True)


def _badness(one: Broker | LogDir) -> int:
    return max(_rank(one.status), _rank(one.last_status)) if one.last_status in _BAD else _rank(one.status)


def _rank(status: str | None) -> int:
    return _BADNESS.index(status) if status in _BADNESS else len(_BADNESS)


LOUD = "bold white on red"
SHOWN = 40
LOUDEST = 5
"""Number of alerts shown above the tables."""
_LATE = {
    **dict.fromkeys(("detect", "fleet", "fast_lane"), "ALERTS ARE LATE"),
    **dict.fromkeys(("store", "store_inventory"), "THE TABLES ARE LATE"),
    "recommend": "ACTIONS ARE LATE",
}
_RISK_STYLES = {"leaderless": "bold red", "under_min_isr": "bold red", "at_min_isr": "yellow", "sole_replica": "yellow"}


def view(status: ClusterStatus, now_ms: int, width: int, *, everything: bool) -> RenderableType:
    """Return one cluster for people, the worst first.

    Healthy brokers share one line per rack, and of many directories and topics only the worst are shown, unless
    ``everything``.
    """
    limit = None if everything else SHOWN
    return Group(
        *_head(status, now_ms, limit),
        *_said(status, limit),
        *_places(status, now_ms, width, limit),
        *_replicas(status, width, limit),
        *_partitions(status),
    )


def _head(status: ClusterStatus, now_ms: int, limit: int | None) -> Iterator[Text]:
    """Yield what cannot be relied on, then the open alerts, then the ages that are within their limits."""
    yield Text(f"cluster {status.cluster}", style="bold")
    aged = list(ages.lines(status, now_ms))
    yield from (Text(line.text, style=LOUD) for line in aged if line.is_loud)
    for alert in status.pipeline_alerts or []:
        yield Text(_falls_short(alert, status, now_ms), style=colour(alert.severity))
    yield _open_alerts(status.open_alerts)
    yield from _loudest(status.firing or [], now_ms, limit)
    yield from (Text(line.text) for line in aged if not line.is_loud)
    yield from _executions(status.executions or [], now_ms)
    if status.notice is not None:
        yield Text(f"notice     {status.notice.text}\n  do: {status.notice.remedy}")


def _loudest(alerts: Sequence[OpenAlert], now_ms: int, limit: int | None) -> Iterator[Text]:
    """Yield one line for each of the most severe alerts."""
    shown = alerts if limit is None else alerts[:LOUDEST]
    for alert in shown:
        words = f"{alert.rule} {short_id(alert.alert_id)}, {human_ago(alert.opened_at_ms, now_ms)}: {alert.summary}"
        line = Text("  ").append(f"{alert.severity:<8}", style=colour(alert.severity)).append(f" {words}")
        line.no_wrap, line.overflow = True, "ellipsis"
        yield line
    if len(alerts) > len(shown):
        yield Text(f"  and {len(alerts) - len(shown)} more")


def _executions(executions: Sequence[Execution], now_ms: int) -> Iterator[Text]:
    """Yield the running executions, and those that need a person."""
    for one in executions:
        begun = f"begun {human_ago(one.started_at_ms, now_ms)} by {one.by}"
        words = f"{one.what} {short_id(one.action_id)}, {one.state}, {one.progress}, {begun}"
        if one.is_stuck:
            yield Text(
                f"EXECUTION STUCK: {words}: {one.reason}\n  do: {one.next_step}: {' or '.join(one.commands)}",
                style=LOUD,
            )
        else:
            yield Text(f"execution  {words}; last state {human_ago(one.at_ms, now_ms)}")


def _falls_short(alert: PipelineAlert, status: ClusterStatus, now_ms: int) -> str:
    """Return a line about a fault of logdirwatch itself.

    The newest heartbeat shows how far ``detect`` is behind now, since it passes through it; an alert's number is as old
    as its last revision.
    """
    if alert.lag_ms is None:
        return f"LOGDIRWATCH HAS A FAULT: {alert.summary}"
    late = f"{_LATE.get(alert.query, 'LOGDIRWATCH IS LATE')}: logdirwatch (query {alert.query})"
    newest = next(iter(status.heartbeats or ()), None)
    if alert.query == "detect" and newest is not None and newest.age_ms is not None:
        return f"{late} is {human_ms(newest.age_ms)} behind."
    return f"{late} was {human_ms(alert.lag_ms)} behind {human_ago(alert.at_ms, now_ms)}."


def _open_alerts(counts: dict[str, int] | None) -> Text:
    if counts is None:
        return Text("alerts     unknown")
    if not counts:
        return Text("alerts     none open")
    parts = [Text(f"{count} {severity}", style=colour(severity)) for severity, count in counts.items()]
    return Text("alerts     ").append_text(Text(", ").join(parts)).append("  (logdirwatch alerts)")


def _said(status: ClusterStatus, limit: int | None) -> Iterator[Text]:
    """Yield a line for each alert with decisions, and for each maintenance."""
    for alert in (status.handled_alerts or [])[:limit]:
        where = place("", alert.broker, alert.log_dir).strip() or "the cluster"
        said = [("acknowledged", alert.acknowledged), ("silenced", alert.silenced)]
        decisions = "; ".join(phrase(what, spoken) for what, spoken in said if spoken is not None)
        yield Text(f"  {alert.rule} {short_id(alert.alert_id)} of {where}: {decisions}")
    for planned in (status.maintenance or [])[:limit]:
        yield Text(
            printable(
                f"maintenance  broker {planned.broker} until {utc(planned.until_ms)} by {planned.by}: {planned.reason}"
            ),
            style="yellow",
        )


def _places(status: ClusterStatus, now_ms: int, width: int, limit: int | None) -> Iterator[RenderableType]:
    """Yield the brokers and log directories with their marks, and a legend."""
    brokers, alerts = status.brokers, status.firing or []
    shown: list[Place] = []
    if brokers is None:
        yield from _block("brokers: unknown", 0, "")
    else:
        shown += (places := places_of(brokers, alerts))
        yield Text("")
        yield from broker_lines(places, now_ms, width, limit)
    if not brokers or any(broker.log_dirs is None for broker in brokers):
        yield from _block("log directories: unknown", 0, "")
    else:
        shown += (places := log_dir_places_of(brokers, alerts))
        yield Text("")
        yield from log_dir_lines(places, now_ms, width, limit)
    if shown:
        yield legend(shown)


def _replicas(status: ClusterStatus, width: int, limit: int | None) -> Iterator[RenderableType]:
    topics = counts.topics(status)
    shown = topics[:limit]
    yield from _block(counts.replicas_title(status), len(topics) - len(shown), "topics with fewer")
    if shown:
        rows = [tuple(Text(str(cell)) for cell in (t.directory, t.broker, t.unknown, t.topic)) for t in shown]
        yield listing(("offline directory", "offline broker", "unknown", "topic"), rows, width)


def _partitions(status: ClusterStatus) -> Iterator[RenderableType]:
    yield from _block(counts.partitions_title(status), 0, "")
    for name, risk in counts.risks(status).items():
        more = "" if risk.count <= len(risk.examples) else ", ..."
        words = Text(f"{counts.RISK_WORDS[name]:<14}", style=_RISK_STYLES[name])
        yield words + Text(f"{risk.count:>6}  {', '.join(risk.examples)}{more}")


def _block(title: str, left_out: int, of_what: str) -> Iterator[Text]:
    yield Text("")
    hint = f", {left_out} {of_what} left out (--all shows them)" if left_out > 0 else ""
    yield Text(f"{title}{hint}", style="bold")


FULLEST = 5
"""Number of healthy log directories that are shown: the fullest ones."""
Row = tuple[Text, ...]


def broker_lines(places: Sequence[Place], now_ms: int, width: int, limit: int | None) -> Iterator[RenderableType]:
    """Yield the brokers; without a ``limit`` every one has its own line."""
    bad = [place for place in places if limit is None or not place.is_healthy]
    healthy = [] if limit is None else [place for place in places if place.is_healthy]
    yield _title("brokers", places, len(bad) - len(bad[:limit]))
    rows = [_broker_row(place, now_ms) for place in bad[:limit]]
    yield listing(("", "broker", "status", "host", "answered", "why"), [*rows, *_groups(healthy, now_ms)], width)


def log_dir_lines(places: Sequence[Place], now_ms: int, width: int, limit: int | None) -> Iterator[RenderableType]:
    """Yield the log directories; with a ``limit`` only the fullest of the healthy ones."""
    bad = [place for place in places if limit is None or not place.is_healthy]
    healthy = [] if limit is None else [place for place in places if place.is_healthy]
    yield _title("log directories", places, len(bad) - len(bad[:limit]))
    headers = ("", "broker", "status", "used", "free", "log directory")
    shown = [*bad[:limit], *healthy[:FULLEST]]
    yield listing(headers, [_log_dir_row(place, now_ms) for place in shown], width)
    rest = healthy[FULLEST:]
    if rest:
        more = counted(len(rest), "more log directory", "more log directories")
        yield Text(f"{HEALTHY}  {more} online, at most {human_ratio(_used_ratio(rest[0]))} used (--all shows them)")


def _title(what: str, places: Sequence[Place], left_out: int) -> Text:
    """Return a title with the number of each status, the worst first."""
    counts = Counter(place.subject.status for place in places)
    found = ", ".join(f"{count} {status}" for status, count in counts.items())
    hint = f"; the {left_out} least severe are left out (--all shows them)" if left_out > 0 else ""
    return Text(f"{what} ({len(places)}){f': {found}' if found else ''}{hint}", style="bold")


def _broker_row(place: Place, now_ms: int) -> Row:
    broker = place.broker
    return (
        Text(place.mark),
        Text(f"broker {broker.broker}"),
        Text(status_words(broker), style=style(broker)),
        Text(" ".join(part for part in (broker.host, broker.rack and f"rack {broker.rack}") if part) or "-"),
        Text(human_ago(broker.last_seen_ms, now_ms)),
        Text("\n".join(filter(None, (broker.reason, alert_words(place))))),
    )


def _groups(healthy: Sequence[Place], now_ms: int) -> Iterator[Row]:
    """Yield one row for the healthy brokers of each rack."""
    by_rack: dict[str | None, list[Broker]] = {}
    for one in healthy:
        by_rack.setdefault(one.broker.rack, []).append(one.broker)
    for _, brokers in sorted(by_rack.items(), key=lambda group: group[0] or ""):
        yield _group(brokers, now_ms)


def _group(brokers: Sequence[Broker], now_ms: int) -> Row:
    seen = [broker.last_seen_ms for broker in brokers]
    oldest_ms = None if None in seen else min(at_ms for at_ms in seen if at_ms is not None)
    first = brokers[0]
    host = (first.host,) if len(brokers) == 1 else ()
    return (
        Text(HEALTHY),
        Text(f"broker{'s' if len(brokers) > 1 else ''} {number_ranges(broker.broker for broker in brokers)}"),
        Text("online", style=colour("online")),
        Text(" ".join(part for part in (*host, first.rack and f"rack {first.rack}") if part) or "-"),
        Text(human_ago(oldest_ms, now_ms)),
        Text(""),
    )


def _log_dir_row(place: Place, now_ms: int) -> Row:
    broker, log_dir = place.broker, place.log_dir
    assert log_dir is not None
    since = "" if log_dir.status == "online" else human_ago(log_dir.since_ms, now_ms)
    where = " ".join([log_dir.log_dir, *_flags(broker, log_dir)])
    return (
        Text(place.mark),
        Text(str(broker.broker)),
        Text("\n".join(filter(None, (status_words(log_dir), since))), style=style(log_dir)),
        Text(_used(log_dir)),
        Text(f"{human_bytes(log_dir.usable_bytes)} of {human_bytes(log_dir.total_bytes)}"),
        Text("\n".join(filter(None, (where, alert_words(place))))),
    )


def _used_ratio(place: Place) -> float | None:
    return None if place.log_dir is None else place.log_dir.used_ratio


def _used(log_dir: LogDir) -> str:
    used = f"{bar(log_dir.used_ratio)} {human_ratio(log_dir.used_ratio)}"
    is_past = log_dir.status in {"offline", "unknown"} and log_dir.used_ratio is not None
    return f"{used}\nwhen last seen" if is_past else used


def _flags(broker: Broker, log_dir: LogDir) -> list[str]:
    is_next = len(broker.log_dirs or ()) > 1 and log_dir.log_dir in (broker.next_log_dirs or ())
    flags = (
        ("[metadata]", log_dir.is_metadata_dir),
        ("[size from the host]", log_dir.capacity_source == CapacitySource.HOST),
        ("[size estimated]", log_dir.capacity_source == CapacitySource.CONFIGURATION),
        ("[cordoned]", log_dir.is_cordoned),
        ("[next new replica]", is_next),
    )
    return [flag for flag, is_set in flags if is_set]
