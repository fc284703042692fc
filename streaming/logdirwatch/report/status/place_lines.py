"""Brokers and log directories for people: the worst first, healthy ones summarised on one line per group."""

from collections import Counter
from collections.abc import Iterator, Sequence

from rich.console import RenderableType
from rich.text import Text

from logdirwatch.model.capabilities import CapacitySource
from logdirwatch.report.layout import listing
from logdirwatch.report.status.cluster import Broker, LogDir
from logdirwatch.report.status.marks import HEALTHY, Place, alert_words, status_words, style
from logdirwatch.report.words import colour
from logdirwatch.text.units import bar, human_ago, human_bytes, human_ratio
from logdirwatch.text.words import counted, number_ranges

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
    for place in healthy:
        by_rack.setdefault(place.broker.rack, []).append(place.broker)
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
