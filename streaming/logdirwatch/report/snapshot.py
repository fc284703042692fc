"""The rows and alerts that a status is made of, and the status of every cluster in them."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from logdirwatch.errors import UserError
from logdirwatch.model.records import AlertRecord
from logdirwatch.report import cluster as view
from logdirwatch.report.cluster import ClusterStatus
from logdirwatch.report.handling import Handling, handled
from logdirwatch.settings import Settings

Row = Mapping[str, Any]
_INTERVAL = re.compile(r"(\d+)\s*(millisecond|second|minute|hour)")
_UNIT_MS = {"millisecond": 1, "second": 1_000, "minute": 60_000, "hour": 3_600_000}
ROUNDS_MISSED = 3


@dataclass(frozen=True)
class Snapshot:
    """What was read; ``alerts`` is None when the telemetry cluster could not be asked.

    ``scans`` are the newest inventories, one row a cluster for its topics and one for its directories. ``handling`` is
    what people said of alerts and brokers, None when that could not be asked either.
    """

    brokers: list[Row]
    log_dirs: list[Row]
    scans: list[Row]
    replicas: list[Row]
    partitions: list[Row]
    alerts: list[AlertRecord] | None
    handling: Handling | None = None


@dataclass(frozen=True)
class Patience:
    """The ages from which state, inventory and the fast lane's last proof are stale: some rounds were missed.

    ``skew_ms`` is how far a collector's clock may be ahead.
    """

    state_ms: int
    inventory_ms: int
    proof_ms: int
    skew_ms: int

    @classmethod
    def of(cls, settings: Settings) -> "Patience":
        """Return what the configured rhythm allows."""
        stream = settings.stream
        state_ms = settings.detect.state_refresh_ms + interval_ms(stream.store_trigger)
        inventory_ms = settings.collect.inventory_interval_ms + interval_ms(stream.store_inventory_trigger)
        return cls(
            state_ms=ROUNDS_MISSED * state_ms,
            inventory_ms=ROUNDS_MISSED * inventory_ms,
            proof_ms=ROUNDS_MISSED * settings.collect.canary_interval_ms,
            skew_ms=settings.detect.clock_skew_ms,
        )


def interval_ms(text: str) -> int:
    """Return a Spark interval such as ``30 seconds`` in milliseconds."""
    return sum(int(count) * _UNIT_MS[unit] for count, unit in _INTERVAL.findall(text))


def statuses(snapshot: Snapshot, now_ms: int, patience: Patience, only: str | None = None) -> list[ClusterStatus]:
    """Return the status of every cluster, or of the one named ``only``.

    Raises UserError when no cluster is known by that name.
    """
    names = sorted({row["cluster"] for row in snapshot.brokers})
    if only is not None:
        if only not in names:
            raise UserError(f"no cluster {only} in the tables; there are {', '.join(names) or 'none yet'}")
        names = [only]
    return [_status(snapshot, name, now_ms, patience) for name in names]


def _status(snapshot: Snapshot, name: str, now_ms: int, patience: Patience) -> ClusterStatus:
    brokers = view.brokers(_of(snapshot.brokers, name), _of(snapshot.log_dirs, name))
    alerts = None if snapshot.alerts is None else [a for a in snapshot.alerts if a.cluster == name]
    handling = snapshot.handling
    scans = {row["is_of_topics"]: row["at_ms"] for row in _of(snapshot.scans, name)}
    proof_ms = None if alerts is None else view.fast_lane_proof_ms(alerts, now_ms + patience.skew_ms)
    data_at_ms = max((broker.at_ms for broker in brokers), default=None)
    inventory_at_ms = max(scans.values(), default=None)
    return ClusterStatus(
        cluster=name,
        data_at_ms=data_at_ms,
        data_age_ms=age(data_at_ms, now_ms),
        is_stale=is_stale(data_at_ms, now_ms, patience.state_ms),
        inventory_at_ms=inventory_at_ms,
        inventory_age_ms=age(inventory_at_ms, now_ms),
        is_inventory_stale=is_stale(inventory_at_ms, now_ms, patience.inventory_ms),
        heartbeats=None if alerts is None else view.heartbeats(alerts, now_ms, patience.skew_ms),
        fast_lane_proof_ms=proof_ms,
        is_fast_lane_stale=alerts is not None and is_stale(proof_ms, now_ms, patience.proof_ms),
        open_alerts=None if alerts is None else view.open_alerts(alerts),
        pipeline_alerts=None if snapshot.alerts is None else view.pipeline_alerts(snapshot.alerts),
        handled_alerts=None if alerts is None or handling is None else handled(alerts, handling, now_ms),
        maintenance=None if handling is None else handling.planned(now_ms, name),
        brokers=brokers,
        offline_replicas=view.offline_replicas(_of(snapshot.replicas, name)) if False in scans else None,
        partitions_at_risk=view.partitions_at_risk(_of(snapshot.partitions, name)) if True in scans else None,
    )


def age(at_ms: int | None, now_ms: int) -> int | None:
    """Return how long ago ``at_ms`` was, None when nobody knows."""
    return None if at_ms is None else max(0, now_ms - at_ms)


def is_stale(at_ms: int | None, now_ms: int, patience_ms: int) -> bool:
    """Return whether ``at_ms`` is longer ago than patience lasts, or not known."""
    return at_ms is None or now_ms - at_ms > patience_ms


def _of(rows: Iterable[Row], name: str) -> list[Row]:
    return [row for row in rows if row["cluster"] == name]
