"""What directories become with the replicas that a plan moves there: none fills by them that would not fill without.

A replica brings its bytes, and its growth until retention ends it.
"""

from dataclasses import replace

from logdirwatch.plan.capacity.timing import time_to_full_ms, with_growth
from logdirwatch.plan.cluster.layout import LogDirId, Replica
from logdirwatch.plan.cluster.snapshot import ClusterSnapshot, LogDir
from logdirwatch.plan.proposal import Policy, Veto
from logdirwatch.plan.retention.plateau import ramp_of, with_plateau
from logdirwatch.text.units import human_in


class Arrivals:
    """The directories that replicas of ``source`` move to, as they will grow; each replica counts for the next one."""

    def __init__(self, source: LogDir, snapshot: ClusterSnapshot, policy: Policy) -> None:
        self._source, self._snapshot = source, snapshot
        self._lasts_ms, left_ms = policy.limits.fleet_cuts_last_ms, time_to_full_ms(source)
        self._before_source_ms = self._lasts_ms if left_ms is None else left_ms
        self._with: dict[LogDirId, LogDir] = {}
        self._horizon_ms: dict[LogDirId, int] = {}

    def veto(self, place: LogDirId, replica: Replica, size_bytes: int) -> Veto | None:
        """Veto a directory that the replica makes full before there is time to add room.

        One that is full by then without the replica must not be full before the source is without the move.
        """
        left_ms = time_to_full_ms(self._after(place, replica, size_bytes))
        if left_ms is None or left_ms >= self._horizon_ms[place]:
            return None
        directory = self._snapshot.directories[place]
        where = directory.path + ("" if directory.broker == self._source.broker else f" on broker {directory.broker}")
        return Veto("destination_full_sooner", f"{where} would be full {human_in(left_ms)} with {replica.topic}")

    def take(self, place: LogDirId, replica: Replica, size_bytes: int) -> None:
        """Move a replica to a directory."""
        self._with[place] = self._after(place, replica, size_bytes)

    def _now(self, place: LogDirId) -> LogDir:
        """Return a directory with what it got so far; alone it is looked at once, because that reads its replicas."""
        if place not in self._with:
            alone = self._with[place] = with_plateau(self._snapshot.directories[place], self._snapshot)
            left_ms, before_ms = time_to_full_ms(alone), self._before_source_ms
            is_full_anyway = left_ms is not None and left_ms <= self._lasts_ms
            self._horizon_ms[place] = before_ms if is_full_anyway else max(before_ms, self._lasts_ms)
        return self._with[place]

    def _after(self, place: LogDirId, replica: Replica, size_bytes: int) -> LogDir:
        """Return a directory with one more replica."""
        directory = self._now(place)
        coming = replace(directory, incoming_bytes=(directory.incoming_bytes or 0) + size_bytes)
        rate = self._snapshot.growth_of_partitions.get(replica.key, 0.0)
        if rate <= 0:
            return coming
        ramp = ramp_of(replica, self._snapshot)
        ramps = () if ramp is None else (replace(ramp, bytes_per_s=rate),)
        growth = (directory.outlook_bytes_per_s or 0.0) + rate
        return with_growth(replace(coming, ramps=(*directory.ramps, *ramps)), growth)
