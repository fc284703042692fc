"""``add-disks=3:2x8TB``: a broker gets empty log directories."""

import re
from dataclasses import dataclass, replace

from logdirwatch.model.vocabulary import LogDirStatus
from logdirwatch.plan.cluster.layout import LogDirId
from logdirwatch.plan.cluster.snapshot import LogDir
from logdirwatch.plan.proposal import Policy
from logdirwatch.plan.what_if.scenario import Scenario, refused
from logdirwatch.text.units import written_bytes
from logdirwatch.text.words import number_ranges

EXAMPLE = "add-disks=3:2x8TB"
MOST_DISKS = 100
_VALUE = re.compile(r"(\d{1,9}):(?:(\d{1,3})x)?(.+)")


@dataclass(frozen=True)
class AddDisks:
    """A broker gets ``count`` more directories of ``size_bytes`` each."""

    written: str
    broker: int
    count: int
    size_bytes: int

    def apply(self, scenario: Scenario, policy: Policy) -> Scenario:
        """Return the cluster with the empty directories; moves into them are planned for all changes together."""
        del policy
        snapshot = scenario.snapshot
        if self.broker not in snapshot.brokers:
            known = number_ranges(snapshot.brokers)
            raise refused(self.written, f"no broker {self.broker} in {snapshot.cluster}; its brokers: {known}")
        taken = sum(broker == self.broker for broker, _ in scenario.new)
        added = [self._directory(scenario, taken + number) for number in range(1, self.count + 1)]
        places: frozenset[LogDirId] = frozenset(directory.place for directory in added)
        return replace(
            scenario,
            snapshot=replace(snapshot, directories={**snapshot.directories, **{d.place: d for d in added}}),
            other_growth={**scenario.other_growth, **dict.fromkeys(places, 0.0)},
            new=scenario.new | places,
        )

    def _directory(self, scenario: Scenario, number: int) -> LogDir:
        at_ms, name = scenario.snapshot.state_at_ms, f"new-{number}"
        return LogDir(
            self.broker,
            name,
            LogDirStatus.ONLINE,
            total_bytes=self.size_bytes,
            usable_bytes=self.size_bytes,
            growth_bytes_per_s=0.0,
            replica_count=0,
            incoming_bytes=0,
            is_cordoned=False,
            sample_at_ms=at_ms,
            state_at_ms=at_ms,
            volume=f"what-if {name}",
        )


def parse(value: str, written: str) -> AddDisks:
    """Read ``BROKER:SIZE`` or ``BROKER:COUNTxSIZE``."""
    found = _VALUE.fullmatch(value)
    size_bytes = written_bytes(found[3]) if found else None
    if found is None or not size_bytes:
        raise refused(written, f"write a broker, how many disks and their size (GB, TB, TiB), such as {EXAMPLE}")
    count = int(found[2] or 1)
    if not 1 <= count <= MOST_DISKS:
        raise refused(written, f"{count} disks are not from 1 to {MOST_DISKS}")
    return AddDisks(written, int(found[1]), count, size_bytes)
