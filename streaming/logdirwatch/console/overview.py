"""The fleet at a glance: counts of what is bad, bad brokers worst first, healthy ones by rack. Pure."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from logdirwatch.model.records import AlertRecord
from logdirwatch.model.vocabulary import BrokerStatus, LogDirStatus, Severity
from logdirwatch.report.status.cluster import Broker, ClusterStatus
from logdirwatch.text.words import counted

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
    found = [broker.status, *(log_dir.status for log_dir in broker.log_dirs or ())]
    return min(_RANKS.get(status, len(_RANKS)) for status in found)


def racks(brokers: Iterable[Broker]) -> list[Rack]:
    """Return brokers by rack, those without one last."""
    by_rack: dict[str | None, list[Broker]] = {}
    for broker in brokers:
        by_rack.setdefault(broker.rack, []).append(broker)
    return [Rack(name, by_rack[name]) for name in sorted(by_rack, key=lambda name: (name is None, name or ""))]


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
