"""Offline replicas and partitions at risk, counted by an inventory or newer alerts, with their age. Pure."""

from logdirwatch.report.status.cluster import ClusterStatus, OfflineReplicas, Risk
from logdirwatch.text.units import human_age

RISK_WORDS = {
    "leaderless": "leaderless",
    "under_min_isr": "under min ISR",
    "at_min_isr": "at min ISR",
    "sole_replica": "sole replica",
}


def topics(status: ClusterStatus) -> list[OfflineReplicas]:
    """Return the topics with offline replicas, the last known ones if the present ones are unknown."""
    return (status.last_offline_replicas if status.offline_replicas is None else status.offline_replicas) or []


def risks(status: ClusterStatus) -> dict[str, Risk]:
    """Return the risks of partitions, the last known ones if the present ones are unknown."""
    known = status.last_partitions_at_risk if status.partitions_at_risk is None else status.partitions_at_risk
    return {name: risk for name, risk in (known or {}).items() if risk.count}


def replicas_title(status: ClusterStatus) -> str:
    """Return a title with the present or last known number of offline replicas."""
    count = sum(topic.directory + topic.broker + topic.unknown for topic in topics(status))
    is_known = status.offline_replicas is not None or status.last_offline_replicas is not None
    return _title(
        "offline replicas", f"{count}" if is_known else None, status, is_now=status.offline_replicas is not None
    )


def partitions_title(status: ClusterStatus) -> str:
    """Return a title with the present or last known number of partitions at risk, and its source."""
    if status.is_risk_by_alerts:
        return "partitions at risk, at least, by open alerts that are newer than the inventory"
    is_now = status.partitions_at_risk is not None
    is_known = is_now or status.last_partitions_at_risk is not None
    count = sum(risk.count for risk in risks(status).values())
    return _title("partitions at risk", f"{count}" if is_known else None, status, is_now=is_now)


def _title(what: str, count: str | None, status: ClusterStatus, *, is_now: bool) -> str:
    if count is None:
        return f"{what}: unknown"
    told, ago = "none" if count == "0" else count, _ago(status.inventory_age_ms)
    return f"{what}: {told}, as of {ago}" if is_now else f"{what}: unknown since {ago}; then: {told}"


def _ago(age_ms: int | None) -> str:
    return "an unknown time" if age_ms is None else f"{human_age(age_ms)} ago"


def one_liners(status: ClusterStatus) -> list[tuple[str, bool]]:
    """Return both counts as one line each, and whether they are current."""
    found = ", ".join(f"{RISK_WORDS[name]} {risk.count}" for name, risk in risks(status).items())
    title = partitions_title(status)
    return [
        (replicas_title(status), status.offline_replicas is not None),
        (f"{title} ({found})" if found else title, status.partitions_at_risk is not None),
    ]
