"""The status of a cluster for people: stale data comes first and stands out."""

import heapq
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from rich.console import Group, RenderableType
from rich.text import Text

from logdirwatch.model.capabilities import CapacitySource
from logdirwatch.report.handling import phrase
from logdirwatch.report.layout import listing
from logdirwatch.report.status import ages, counts
from logdirwatch.report.status.cluster import Broker, ClusterStatus, LogDir, PipelineAlert
from logdirwatch.report.words import colour, place
from logdirwatch.text.units import bar, human_ago, human_bytes, human_ms, human_ratio
from logdirwatch.text.words import short_id, utc

LOUD = "bold white on red"
SHOWN = 40
T = TypeVar("T")
_BADNESS = ("online", "filling", "degraded", "critical", "saturated", "unknown", "offline")
_LATE = {
    **dict.fromkeys(("detect", "fleet", "fast_lane"), "ALERTS ARE LATE"),
    **dict.fromkeys(("store", "store_inventory"), "THE TABLES ARE LATE"),
    "recommend": "ACTIONS ARE LATE",
}
_BAD = {"critical", "saturated", "offline", "degraded"}
_RISK_STYLES = {
    "leaderless": "bold red",
    "under_min_isr": "bold red",
    "at_min_isr": "yellow",
    "sole_replica": "yellow",
}


def view(status: ClusterStatus, now_ms: int, width: int, *, everything: bool) -> RenderableType:
    """Return one cluster for people; of many brokers, directories and topics only the worst unless ``everything``."""
    limit = None if everything else SHOWN
    return Group(
        *_head(status, now_ms),
        *_said(status, limit),
        *_brokers(status, now_ms, width, limit),
        *_log_dirs(status, now_ms, width, limit),
        *_replicas(status, width, limit),
        *_partitions(status),
    )


def _head(status: ClusterStatus, now_ms: int) -> Iterator[Text]:
    yield Text(f"cluster {status.cluster}", style="bold")
    for line in ages.lines(status, now_ms):
        yield Text(line.text, style=LOUD if line.is_loud else "")
    for alert in status.pipeline_alerts or []:
        yield Text(_falls_short(alert, status, now_ms), style=colour(alert.severity))
    if status.notice is not None:
        yield Text(f"notice     {status.notice.text}\n  do: {status.notice.remedy}")
    yield _open_alerts(status.open_alerts)


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
        words = "; ".join(phrase(what, spoken) for what, spoken in said if spoken is not None)
        yield Text(f"  {alert.rule} {short_id(alert.alert_id)} of {where}: {words}")
    for planned in (status.maintenance or [])[:limit]:
        yield Text(
            f"maintenance  broker {planned.broker} until {utc(planned.until_ms)} by {planned.by}: {planned.reason}",
            style="yellow",
        )


def _brokers(status: ClusterStatus, now_ms: int, width: int, limit: int | None) -> Iterator[RenderableType]:
    if status.brokers is None:
        yield from _block("brokers: unknown", 0, "")
        return
    shown = _worst(status.brokers, lambda broker: (_badness(broker), 0.0), limit)
    rows = [
        (
            Text(f"broker {broker.broker}"),
            Text(_status_words(broker), style=_style(broker)),
            Text(" ".join(part for part in (broker.host, broker.rack and f"rack {broker.rack}") if part) or "-"),
            Text(human_ago(broker.last_seen_ms, now_ms)),
            Text(broker.reason or ""),
        )
        for broker in shown
    ]
    yield from _block(f"brokers ({len(status.brokers)})", len(status.brokers) - len(rows), "healthier brokers")
    yield listing(("broker", "status", "host", "answered", "why"), rows, width)


def _log_dirs(status: ClusterStatus, now_ms: int, width: int, limit: int | None) -> Iterator[RenderableType]:
    brokers = status.brokers or []
    if not brokers or any(broker.log_dirs is None for broker in brokers):
        yield from _block("log directories: unknown", 0, "")
        return
    pairs = [(broker, log_dir) for broker in brokers for log_dir in broker.log_dirs or ()]
    shown = _worst(pairs, lambda pair: (_badness(pair[1]), pair[1].used_ratio or 0.0), limit)
    yield from _block(f"log directories ({len(pairs)})", len(pairs) - len(shown), "healthier log directories")
    headers = ("broker", "status", "used", "free", "since", "log directory")
    yield listing(headers, [_log_dir_row(broker, log_dir, now_ms) for broker, log_dir in shown], width)


def _log_dir_row(broker: Broker, log_dir: LogDir, now_ms: int) -> tuple[Text, ...]:
    return (
        Text(f"broker {broker.broker}"),
        Text(_status_words(log_dir), style=_style(log_dir)),
        Text(_used(log_dir)),
        Text(f"{human_bytes(log_dir.usable_bytes)} of {human_bytes(log_dir.total_bytes)}"),
        Text(human_ago(log_dir.since_ms, now_ms)),
        Text(" ".join([log_dir.log_dir, *_flags(broker, log_dir)])),
    )


def _used(log_dir: LogDir) -> str:
    used = f"{bar(log_dir.used_ratio)} {human_ratio(log_dir.used_ratio)}"
    is_past = log_dir.status in {"offline", "unknown"} and log_dir.used_ratio is not None
    return f"{used}\nwhen last seen" if is_past else used


def _status_words(one: Broker | LogDir) -> str:
    cause = f" ({one.cause})" if isinstance(one, LogDir) and one.cause else ""
    was = f", was {one.last_status}" if one.status == "unknown" and one.last_status else ""
    return f"{one.status}{was}{cause}"


def _style(one: Broker | LogDir) -> str:
    """Return the style of a status: an unknown one that was bad when last seen stays prominent."""
    is_bad = one.status == "unknown" and one.last_status in _BAD
    return colour(one.last_status if is_bad else one.status)


def _badness(one: Broker | LogDir) -> int:
    return max(_rank(one.status), _rank(one.last_status)) if one.last_status in _BAD else _rank(one.status)


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


def _rank(status: str | None) -> int:
    return _BADNESS.index(status) if status in _BADNESS else len(_BADNESS)


def _worst(items: Sequence[T], badness: Callable[[T], tuple[int, float]], limit: int | None) -> list[T]:
    """Return the ``limit`` worst of ``items``, in their order."""
    if limit is None or len(items) <= limit:
        return list(items)
    kept = heapq.nlargest(limit, range(len(items)), key=lambda index: badness(items[index]))
    return [items[index] for index in sorted(kept)]


def _block(title: str, left_out: int, of_what: str) -> Iterator[Text]:
    yield Text("")
    hint = f", {left_out} {of_what} left out (--all shows them)" if left_out > 0 else ""
    yield Text(f"{title}{hint}", style="bold")
