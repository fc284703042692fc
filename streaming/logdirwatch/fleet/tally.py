"""The sums over a cluster's brokers, updated record by record, without a pass over all brokers."""

from typing import NamedTuple

from logdirwatch.detect.alerts.urgency import NIGHT_MS
from logdirwatch.detect.settings import DetectSettings, Thresholds
from logdirwatch.fleet.disks import Disk, disks
from logdirwatch.fleet.memory import BrokerDigest, FleetMemory
from logdirwatch.model.records import PartitionHealth


class Sums(NamedTuple):
    """The sums of one broker or a whole cluster: counts of brokers and partitions, sizes in bytes.

    Partitions under or at their minimum of in-sync replicas count at each broker that has a replica of them, so their
    sums are too high; leaderless ones and sole replicas count once. ``slow_flushes`` are brokers whose flushes take so
    long that they may stand out; ``untold_brokers`` are not seen to answer, and ``detect`` has no alert about that;
    ``urgent_brokers`` have a filling disk that is critical or will be full before the morning.
    ``away_brokers`` are not seen to answer, with or without an alert.
    """

    brokers: int = 0
    silent_brokers: int = 0
    filling_brokers: int = 0
    above_bytes: int = 0
    room_bytes: int = 0
    leaderless: int = 0
    under_min_isr: int = 0
    at_min_isr: int = 0
    sole_replica: int = 0
    internal_leaderless: int = 0
    slow_flushes: int = 0
    untold_brokers: int = 0
    urgent_brokers: int = 0
    away_brokers: int = 0


NOTHING = Sums()


def _is_urgent(disk: Disk, at_ms: int) -> bool:
    is_soon = disk.full_at_ms is not None and disk.full_at_ms - at_ms < NIGHT_MS
    return disk.is_filling and (disk.is_urgent or is_soon)


class Tally:
    """The sums of one cluster and the share of each broker in them."""

    def __init__(self, memory: FleetMemory, detect: DetectSettings) -> None:
        self._cluster, self._detect = memory.cluster, detect
        self._thresholds: dict[str, Thresholds] = {}
        self._shares: dict[int, Sums] = {}
        self.sums = NOTHING
        for broker, digest in memory.brokers.items():
            self.put(broker, digest)

    def put(self, broker: int, digest: BrokerDigest) -> None:
        """Add a broker to the sums."""
        self._replace(broker, self._share(broker, digest))

    def drop(self, broker: int) -> None:
        """Remove a broker from the sums."""
        self._replace(broker, NOTHING)
        del self._shares[broker]

    def disks_of(self, broker: int, digest: BrokerDigest) -> list[Disk]:
        """Return a broker's disks, judged by the cluster's thresholds."""
        return disks(broker, digest, self._thresholds_of)

    def _replace(self, broker: int, share: Sums) -> None:
        before = self._shares.get(broker, NOTHING)
        self._shares[broker] = share
        self.sums = Sums(*(total - old + new for total, old, new in zip(self.sums, before, share, strict=True)))

    def _share(self, broker: int, digest: BrokerDigest) -> Sums:
        known = self.disks_of(broker, digest)
        health = digest.partitions or PartitionHealth()
        return Sums(
            brokers=1,
            silent_brokers=int(digest.is_silent),
            filling_brokers=int(any(disk.is_filling for disk in known)),
            above_bytes=sum(disk.above_bytes for disk in known),
            room_bytes=sum(disk.room_bytes for disk in known),
            leaderless=health.leaderless,
            under_min_isr=health.under_min_isr,
            at_min_isr=health.at_min_isr,
            sole_replica=health.sole_replica,
            internal_leaderless=health.internal_leaderless,
            slow_flushes=int((digest.flush_ms or 0.0) >= self._detect.slow_min_ms),
            untold_brokers=int(digest.is_untold),
            urgent_brokers=int(any(_is_urgent(disk, digest.at_ms) for disk in known)),
            away_brokers=int(digest.is_silent or not digest.is_answering),
        )

    def _thresholds_of(self, path: str) -> Thresholds:
        if path not in self._thresholds:
            self._thresholds[path] = self._detect.thresholds_for(self._cluster, path)
        return self._thresholds[path]
