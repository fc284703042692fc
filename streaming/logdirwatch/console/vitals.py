"""The age of the pages' data, for the header: heartbeat, data, and lag of the pipeline. Pure."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from logdirwatch.report.status.cluster import ClusterStatus
from logdirwatch.text.units import human_age, human_ms


class Vital(NamedTuple):
    """One of them: ``at_ms`` is the time whose age is shown, None if ``text`` is complete."""

    name: str
    text: str
    is_bad: bool
    at_ms: int | None = None


def vitals(clusters: Sequence[ClusterStatus]) -> list[Vital]:
    """Return them for the cluster in the worst state; empty if no cluster is known."""
    if not clusters:
        return []
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
