"""The fleet at a glance: counts of what is bad, bad brokers worst first, healthy ones by rack. Pure.

Each directory is a small square, and the header tells how old it all is.

As squares, each broker is a column of its directories; columns are placed side by side in order and wrap. A directory
takes a few bytes, so that thousands fit on a page: those of one colour are one path, and neighbours of one colour in
a column one stroke of it.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import NamedTuple

from logdirwatch.model.records import AlertRecord
from logdirwatch.model.vocabulary import BrokerStatus, LogDirStatus, Severity
from logdirwatch.report.status.cluster import Broker, ClusterStatus, LogDir
from logdirwatch.text.units import human_age, human_ms
from logdirwatch.text.words import counted, natural

WORST_FIRST = (
    LogDirStatus.OFFLINE,
    LogDirStatus.UNKNOWN,
    LogDirStatus.SATURATED,
    LogDirStatus.CRITICAL,
    LogDirStatus.FILLING,
)
_RANKS = {str(status): rank for rank, status in enumerate((*WORST_FIRST, BrokerStatus.DEGRADED))}
_SEVERITIES = {
    Severity.PAGE: ("page", "pages"),
    Severity.CRITICAL: ("critical", "critical"),
    Severity.WARNING: ("warning", "warnings"),
}


class Count(NamedTuple):
    """A count as text; ``look`` is the status or severity whose colour it has, ``query`` is the filter for it."""

    text: str
    look: str
    query: str


class Rack(NamedTuple):
    """The healthy brokers of one rack; ``name`` is None for brokers without one."""

    name: str | None
    brokers: list[Broker]


def is_healthy(broker: Broker) -> bool:
    """Tell whether a broker and all of its directories are known to be online."""
    log_dirs = broker.log_dirs
    return (
        broker.status == BrokerStatus.ONLINE
        and log_dirs is not None
        and all(log_dir.status == LogDirStatus.ONLINE for log_dir in log_dirs)
    )


def worst_first(brokers: Iterable[Broker]) -> list[Broker]:
    """Return brokers by their worst status, then by id."""
    return sorted(brokers, key=lambda broker: (worst_rank(broker), broker.broker))


def worst_rank(broker: Broker) -> int:
    """Return the rank of the worst status of a broker and its directories, 0 for the worst of all."""
    return _rank(worst(broker))


def worst(broker: Broker, *, is_past: bool = False) -> str:
    """Return the worst status of a broker and its directories, the last one that was known if that is past."""
    return min((shown(one, is_past=is_past) for one in (broker, *(broker.log_dirs or ()))), key=_rank)


def shown(one: Broker | LogDir, *, is_past: bool) -> str:
    """Return the status whose colour something has: without news of a whole cluster the last one, hatched."""
    return one.last_status if is_past and one.last_status else one.status


def _rank(status: str) -> int:
    return _RANKS.get(status, len(_RANKS))


def racks(brokers: Iterable[Broker]) -> list[Rack]:
    """Return brokers by rack, r2 before r10, those without one last."""
    by_rack: dict[str | None, list[Broker]] = {}
    for broker in brokers:
        by_rack.setdefault(broker.rack, []).append(broker)
    return [Rack(name, by_rack[name]) for name in sorted(by_rack, key=lambda name: (name is None, natural(name or "")))]


def counts(alerts: Sequence[AlertRecord] | None, clusters: Iterable[ClusterStatus]) -> list[Count]:
    """Return the counts of what is bad, the worst first."""
    severities = Counter(alert.severity for alert in alerts or ())
    brokers = [broker for cluster in clusters for broker in cluster.brokers or ()]
    by_status = Counter(log_dir.status for broker in brokers for log_dir in broker.log_dirs or ())
    away = Counter(broker.status for broker in brokers)
    return [
        *(
            Count(counted(severities[severity], *words), severity, f"severity:{severity}")
            for severity, words in _SEVERITIES.items()
            if severities[severity]
        ),
        *(
            Count(f"{counted(away[status], 'broker')} {status}", status, f"status:{status}")
            for status in (BrokerStatus.OFFLINE, BrokerStatus.UNKNOWN)
            if away[status]
        ),
        *(
            Count(f"{counted(by_status[status], 'directory', 'directories')} {status}", status, f"status:{status}")
            for status in WORST_FIRST
            if by_status[status]
        ),
    ]


class Vital(NamedTuple):
    """One of them: ``at_ms`` is the time whose age is shown, None if ``text`` is complete."""

    name: str
    text: str
    is_bad: bool
    at_ms: int | None = None


def vitals(clusters: Sequence[ClusterStatus]) -> list[Vital]:
    """Return them for the cluster in the worst state; one if no cluster is known: no data is no good news."""
    if not clusters:
        return [Vital("data", "none", True)]
    return [_worst(map(_heartbeat, clusters)), _worst(map(_data, clusters)), _lag(clusters)]


def _worst(found: Iterable[Vital]) -> Vital:
    return min(found, key=lambda vital: (not vital.is_bad, vital.at_ms is not None, vital.at_ms or 0))


def _heartbeat(cluster: ClusterStatus) -> Vital:
    if cluster.heartbeats is None:
        return Vital("heartbeat", "not readable", True)
    if not cluster.heartbeats:
        return Vital("heartbeat", "none yet", True)
    newest = cluster.heartbeats[0]
    if newest.age_ms is None:
        return Vital("heartbeat", "from a clock ahead", True)
    return Vital("heartbeat", f"{human_age(newest.age_ms)} ago", newest.is_stale, newest.at_ms)


def _data(cluster: ClusterStatus) -> Vital:
    if cluster.data_age_ms is None:
        return Vital("data", "of unknown age", True)
    return Vital("data", f"{human_age(cluster.data_age_ms)} old", cluster.is_stale, cluster.data_at_ms)


def _lag(clusters: Iterable[ClusterStatus]) -> Vital:
    """Return the highest lag in an open alert about the pipeline; unknown without alerts or heartbeats."""
    known = list(clusters)
    if any(cluster.pipeline_alerts is None or not cluster.heartbeats for cluster in known):
        return Vital("lag", "unknown", True)
    lags = [alert.lag_ms for cluster in known for alert in cluster.pipeline_alerts or () if alert.lag_ms is not None]
    return Vital("lag", human_ms(max(lags)), True) if lags else Vital("lag", "none", False)


COLUMNS = 200
FEWEST_COLUMNS = 40
NO_DIRECTORIES = "none"
SHADES = 4


@dataclass(frozen=True)
class Heatmap:
    """The variables of the template, in units of a square; ``paths`` by the name of their colour.

    ``brokers`` are the ids in the order of the columns, nothing between two racks; ``stride`` is the height of a row of
    brokers with its gap, and ``racks`` are their names in order.
    """

    width: int
    height: int
    stride: int
    columns: int
    paths: dict[str, str]
    brokers: str
    racks: str


def heatmap(brokers: Sequence[Broker], *, is_past: bool = False) -> Heatmap:
    """Return the drawing of brokers by rack and id, with the last colours that were known if it ``is_past``."""
    by_rack = racks(sorted(brokers, key=lambda broker: broker.broker))
    ordered = [broker for rack in by_rack for broker in (*rack.brokers, None)][:-1]
    stride = max(2, 1 + max((len(broker.log_dirs or ()) for broker in brokers), default=0))
    columns = min(COLUMNS, max(FEWEST_COLUMNS, len(ordered)))
    strokes: dict[str, list[str]] = defaultdict(list)
    for number, broker in enumerate(ordered):
        row, column = divmod(number, columns)
        for colour, top, length in () if broker is None else _runs(broker.log_dirs, is_past):
            strokes[colour].append(f"M{column} {row * stride + top}v{length}")
    rows = -(-len(ordered) // columns)
    ids = " ".join("" if broker is None else str(broker.broker) for broker in ordered)
    paths = {colour: "".join(drawn) for colour, drawn in strokes.items()}
    names = ", ".join(rack.name or "without a rack" for rack in by_rack)
    return Heatmap(columns, rows * stride, stride, columns, paths, ids, names)


def _runs(log_dirs: Iterable[LogDir] | None, is_past: bool) -> Iterable[tuple[str, int, int]]:
    """Yield each run of directories of one colour, as colour, first and number."""
    top = 0
    for colour, run in groupby([NO_DIRECTORIES] if log_dirs is None else [_colour(one, is_past) for one in log_dirs]):
        length = len(list(run))
        yield colour, top, length
        top += length


def _colour(log_dir: LogDir, is_past: bool) -> str:
    status = shown(log_dir, is_past=is_past)
    if status != LogDirStatus.ONLINE or log_dir.used_ratio is None:
        return status
    return f"used{min(SHADES - 1, int(log_dir.used_ratio * SHADES))}"
