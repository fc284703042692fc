"""What directories become with the replicas that a plan moves there: none fills by them that would not fill without.

A replica brings its bytes, and its growth until retention ends it.
"""

from dataclasses import replace

from logdirwatch.config.section import DAY_MS
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
        self._lasts_ms = policy.limits.fleet_cuts_last_ms
        self._with: dict[LogDirId, LogDir] = {}

    def veto(self, place: LogDirId, replica: Replica, size_bytes: int) -> Veto | None:
        """Veto a directory that the replica makes full before there is time to add room.

        One that is full by then without the replica must not be full before the source is without the move.
        """
        left_ms = time_to_full_ms(self._after(place, replica, size_bytes))
        if left_ms is None or left_ms >= self._horizon_ms(place):
            return None
        directory = self._snapshot.directories[place]
        where = directory.path + ("" if directory.broker == self._source.broker else f" on broker {directory.broker}")
        return Veto("destination_full_sooner", f"{where} would be full {human_in(left_ms)} with {replica.topic}")

    def take(self, place: LogDirId, replica: Replica, size_bytes: int) -> None:
        """Move a replica to a directory."""
        self._with[place] = self._after(place, replica, size_bytes)

    def _horizon_ms(self, place: LogDirId) -> int:
        alone_ms, source_left_ms = time_to_full_ms(self._alone(place)), time_to_full_ms(self._source)
        before_source_ms = DAY_MS if source_left_ms is None else source_left_ms
        is_full_anyway = alone_ms is not None and alone_ms <= self._lasts_ms
        return before_source_ms if is_full_anyway else max(before_source_ms, self._lasts_ms)

    def _alone(self, place: LogDirId) -> LogDir:
        return with_plateau(self._snapshot.directories[place], self._snapshot)

    def _after(self, place: LogDirId, replica: Replica, size_bytes: int) -> LogDir:
        """Return a directory with one more replica."""
        if place not in self._with:
            self._with[place] = self._alone(place)
        directory = self._with[place]
        coming = replace(directory, incoming_bytes=(directory.incoming_bytes or 0) + size_bytes)
        rate, ramp = self._snapshot.growth_of_partitions.get(replica.key, 0.0), ramp_of(replica, self._snapshot)
        if rate <= 0:
            return coming
        ramps = () if ramp is None else (replace(ramp, bytes_per_s=rate),)
        growth = (directory.outlook_bytes_per_s or 0.0) + rate
        return with_growth(replace(coming, ramps=(*directory.ramps, *ramps)), growth)
