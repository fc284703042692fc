"""The context of every judgement of a cluster."""

from logdirwatch.detect.settings import DetectSettings
from logdirwatch.fleet.alerts import ClusterAlerts
from logdirwatch.fleet.disks import Disk
from logdirwatch.fleet.memory import FleetMemory
from logdirwatch.fleet.settings import FleetSettings
from logdirwatch.fleet.tally import Tally
from logdirwatch.model.records import PartitionHealth


class ClusterContext:
    """One cluster's memory, the settings, the sums over its brokers, and the records written during a batch."""

    def __init__(self, memory: FleetMemory, settings: FleetSettings, detect: DetectSettings) -> None:
        self.memory = memory
        self.settings = settings
        self.detect = detect
        self.tally = Tally(memory, detect)
        self.alerts = ClusterAlerts(memory, settings.update_interval_ms, detect)

    @property
    def healths(self) -> list[PartitionHealth]:
        """The partition health of each broker that reported it."""
        return [digest.partitions for digest in self.memory.brokers.values() if digest.partitions is not None]

    def disks(self) -> list[Disk]:
        """Return the disks of all brokers, in the order of their ids."""
        return [
            disk
            for broker, digest in sorted(self.memory.brokers.items())
            for disk in self.tally.disks_of(broker, digest)
        ]
