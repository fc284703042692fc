"""The status of a cluster for people: what is old is said first, and loudest."""

import heapq
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from rich.console import Group, RenderableType
from rich.text import Text

from logdirwatch.report.cluster import Broker, ClusterStatus, Heartbeat, LogDir, OfflineReplicas
from logdirwatch.report.handling import phrase
from logdirwatch.report.layout import listing
from logdirwatch.report.units import bar, human_ago, human_bytes, human_ms, human_ratio
from logdirwatch.report.words import colour, place, short_id, utc

LOUD = "bold white on red"
SHOWN = 40
T = TypeVar("T")
_BADNESS = ("online", "filling", "degraded", "critical", "saturated", "unknown", "offline")
_RISK_WORDS = {
    "leaderless": ("leaderless", "bold red"),
    "under_min_isr": ("under min ISR", "bold red"),
    "at_min_isr": ("at min ISR", "yellow"),
    "sole_replica": ("sole replica", "yellow"),
}


def view(status: ClusterStatus, now_ms: int, width: int, *, everything: bool) -> RenderableType:
    """Return one cluster for people; of many brokers, directories and topics only the worst unless ``everything``."""
    limit = None if everything else SHOWN
    return Group(
        *_head(status, now_ms),
        *_said(status, limit),
        *_brokers(status, now_ms, width, limit),
        *_log_dirs(status, now_ms, width, limit),
        *_replicas(status.offline_replicas, width, limit),
        *_partitions(status),
    )


def _head(status: ClusterStatus, now_ms: int) -> Iterator[Text]:
    yield Text(f"cluster {status.cluster}", style="bold")
    age = "never written" if status.data_age_ms is None else f"{human_ms(status.data_age_ms)} old"
    if status.is_stale:
        yield Text(f"THE DATA IS STALE: {age}. What follows is the past. Does logdirwatch stream run?", style=LOUD)
    else:
        yield Text(f"data       {age}")
    yield _inventory(status)
    yield _life(status.heartbeats, now_ms)
    proof = human_ago(status.fast_lane_proof_ms, now_ms)
    if status.is_fast_lane_stale:
        yield Text(
            f"THE FAST LANE IS NOT PROVEN, last time: {proof}. Does logdirwatch stream run fast_lane?", style=LOUD
        )
    elif status.fast_lane_proof_ms is not None:
        yield Text(f"fast lane  proven {proof}")
    for alert in status.pipeline_alerts or []:
        yield Text(f"LOGDIRWATCH ITSELF FALLS SHORT: {alert.summary}", style=colour(alert.severity))
    yield _open_alerts(status.open_alerts)


def _inventory(status: ClusterStatus) -> Text:
    if status.inventory_age_ms is None:
        return Text("inventory  none stored yet: replicas and partitions are not known", style="yellow")
    age = f"{human_ms(status.inventory_age_ms)} old"
    if status.is_inventory_stale:
        return Text(f"THE INVENTORY IS STALE: {age}. Replicas and partitions are those of then.", style=LOUD)
    return Text(f"inventory  {age}")


def _life(heartbeats: list[Heartbeat] | None, now_ms: int) -> Text:
    if heartbeats is None:
        return Text("NO HEARTBEAT CAN BE READ: the telemetry cluster does not answer", style=LOUD)
    if not heartbeats:
        return Text("NO HEARTBEAT YET: do logdirwatch collect and logdirwatch stream run?", style=LOUD)
    ages = ", ".join(f"{_heard(beat, now_ms)} ({beat.collector})" for beat in heartbeats)
    if not heartbeats[0].is_stale:
        return Text(f"heartbeat  {ages}")
    if heartbeats[-1].age_ms is None:
        return Text(f"NOBODY KNOWS HOW OLD THE HEARTBEAT IS: {ages}. Set the clocks right", style=LOUD)
    return Text(f"THE HEARTBEAT STOPPED: {ages}. Do logdirwatch collect and stream run?", style=LOUD)


def _heard(beat: Heartbeat, now_ms: int) -> str:
    if beat.age_ms is None:
        return f"of a clock {human_ms(beat.at_ms - now_ms)} ahead"
    return f"{human_ms(beat.age_ms)} ago"


def _open_alerts(counts: dict[str, int] | None) -> Text:
    if counts is None:
        return Text("alerts     not known")
    if not counts:
        return Text("alerts     none open")
    parts = [Text(f"{count} {severity}", style=colour(severity)) for severity, count in counts.items()]
    return Text("alerts     ").append_text(Text(", ").join(parts)).append("  (logdirwatch alerts)")


def _said(status: ClusterStatus, limit: int | None) -> Iterator[Text]:
    """Yield a line for each alert of which somebody said something, and for each maintenance."""
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
    shown = _worst(status.brokers, lambda broker: (_rank(broker.status), 0.0), limit)
    rows = [
        (
            Text(f"broker {broker.broker}"),
            Text(broker.status, style=colour(broker.status)),
            Text(" ".join(part for part in (broker.host, broker.rack and f"rack {broker.rack}") if part) or "-"),
            Text(human_ago(broker.last_seen_ms, now_ms)),
            Text(broker.reason or ""),
        )
        for broker in shown
    ]
    yield from _block(f"brokers ({len(status.brokers)})", len(status.brokers) - len(rows), "healthier brokers")
    yield listing(("broker", "status", "host", "answered", "why"), rows, width)


def _log_dirs(status: ClusterStatus, now_ms: int, width: int, limit: int | None) -> Iterator[RenderableType]:
    pairs = [(broker, log_dir) for broker in status.brokers for log_dir in broker.log_dirs]
    shown = _worst(pairs, lambda pair: (_rank(pair[1].status), pair[1].used_ratio or 0.0), limit)
    yield from _block(f"log directories ({len(pairs)})", len(pairs) - len(shown), "healthier log directories")
    headers = ("broker", "status", "used", "free", "since", "log directory")
    yield listing(headers, [_log_dir_row(broker, log_dir, now_ms) for broker, log_dir in shown], width)


def _log_dir_row(broker: Broker, log_dir: LogDir, now_ms: int) -> tuple[Text, ...]:
    return (
        Text(f"broker {broker.broker}"),
        Text(_status_words(log_dir), style=colour(log_dir.status)),
        Text(_used(log_dir)),
        Text(f"{human_bytes(log_dir.usable_bytes)} of {human_bytes(log_dir.total_bytes)}"),
        Text(human_ago(log_dir.since_ms, now_ms)),
        Text(" ".join([log_dir.log_dir, *_flags(broker, log_dir)])),
    )


def _used(log_dir: LogDir) -> str:
    used = f"{bar(log_dir.used_ratio)} {human_ratio(log_dir.used_ratio)}"
    is_past = log_dir.status in {"offline", "unknown"} and log_dir.used_ratio is not None
    return f"{used}\nwhen last seen" if is_past else used


def _status_words(log_dir: LogDir) -> str:
    if log_dir.status == "unknown" and log_dir.last_status:
        return f"unknown, was {log_dir.last_status}"
    return f"{log_dir.status} ({log_dir.cause})" if log_dir.cause else log_dir.status


def _flags(broker: Broker, log_dir: LogDir) -> list[str]:
    is_next = len(broker.log_dirs) > 1 and log_dir.log_dir in (broker.next_log_dirs or ())
    flags = (
        ("[metadata]", log_dir.is_metadata_dir),
        ("[cordoned]", log_dir.is_cordoned),
        ("[next new replica]", is_next),
    )
    return [flag for flag, is_set in flags if is_set]


def _replicas(topics: list[OfflineReplicas] | None, width: int, limit: int | None) -> Iterator[RenderableType]:
    if topics is None:
        yield from _block("offline replicas: not known", 0, "")
        return
    if not topics:
        yield from _block("offline replicas: none", 0, "")
        return
    shown = topics[:limit]
    total = sum(topic.directory + topic.broker + topic.unknown for topic in topics)
    yield from _block(f"offline replicas ({total})", len(topics) - len(shown), "topics with fewer")
    rows = [tuple(Text(str(cell)) for cell in (t.directory, t.broker, t.unknown, t.topic)) for t in shown]
    yield listing(("dead directory", "dead broker", "not known", "topic"), rows, width)


def _partitions(status: ClusterStatus) -> Iterator[RenderableType]:
    if status.partitions_at_risk is None:
        yield from _block("partitions at risk: not known", 0, "")
        return
    risks = {name: risk for name, risk in status.partitions_at_risk.items() if risk.count}
    yield from _block("partitions at risk" if risks else "partitions at risk: none", 0, "")
    for name, risk in risks.items():
        words, style = _RISK_WORDS[name]
        more = "" if risk.count <= len(risk.examples) else ", ..."
        yield Text(f"{words:<14}", style=style) + Text(f"{risk.count:>6}  {', '.join(risk.examples)}{more}")


def _rank(status: str) -> int:
    return _BADNESS.index(status) if status in _BADNESS else len(_BADNESS)


def _worst(items: Sequence[T], badness: Callable[[T], tuple[int, float]], limit: int | None) -> list[T]:
    """Return the ``limit`` worst of ``items``, in the order they came."""
    if limit is None or len(items) <= limit:
        return list(items)
    kept = heapq.nlargest(limit, range(len(items)), key=lambda index: badness(items[index]))
    return [items[index] for index in sorted(kept)]


def _block(title: str, left_out: int, of_what: str) -> Iterator[Text]:
    yield Text("")
    hint = f", {left_out} {of_what} left out (--all shows them)" if left_out > 0 else ""
    yield Text(f"{title}{hint}", style="bold")
