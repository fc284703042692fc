"""Every place for a lost replica, the best first.

A large cluster has thousands and needs one for each of hundreds of replicas, so they are kept in arrays.
"""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from logdirwatch.plan.capacity.copy_rates import slowed_by_others
from logdirwatch.plan.capacity.projected_use import Space
from logdirwatch.plan.cluster.layout import LogDirId
from logdirwatch.plan.cluster.snapshot import ClusterSnapshot, LogDir
from logdirwatch.plan.proposal import Veto
from logdirwatch.plan.vetoes import replica_vetoes


@dataclass(frozen=True)
class Destination:
    """A place for one replica: a broker and one of its directories, or ``any`` if a path would be refused.

    ``ratio`` is its fill ratio with the replica; a directory of unknown space counts as full.
    """

    broker: int
    path: str | None
    ratio: float


class Destinations:
    """The places on live brokers; each place taken counts for the next replica.

    Healthy brokers come first, then those that receive at ``rate`` bytes per second and not under a lower throttle of
    somebody else, then the replica's previous rack, then the emptiest directory; within a rack a directory with the
    metadata log comes last, because its broker halts when it fills. ``refused`` says by broker why directories of live
    brokers take nothing.
    """

    def __init__(self, snapshot: ClusterSnapshot, space: Space, lost_rack: str | None, rate: int | None = None) -> None:
        self.refused: dict[int, list[Veto]] = defaultdict(list)
        self._snapshot = snapshot
        self._slow = frozenset[int]() if rate is None else slowed_by_others(rate, snapshot)
        self._degraded: dict[int, list[int]] = defaultdict(list)
        self._directories = [d for number in sorted(snapshot.brokers) for d in self._usable(number)]
        self._index = {directory.place: row for row, directory in enumerate(self._directories)}
        for row, directory in enumerate(self._directories):
            if not snapshot.all_serving(directory.broker):
                self._degraded[directory.broker].append(row)
        used = [space.used_bytes(directory.place) for directory in self._directories]
        self._used = np.array([0 if size is None else size for size in used], dtype=np.float64)
        self._total = np.array([directory.total_bytes or 0 for directory in self._directories], dtype=np.float64)
        self._unknown = np.array([size is None for size in used], dtype=bool) | (self._total == 0)
        self._rank = np.array([self._class(directory, lost_rack) for directory in self._directories], dtype=np.int64)

    def ordered(self, size_bytes: int) -> Iterator[Destination]:
        """Yield the places for a replica of ``size_bytes``, the best first."""
        ratios = self._ratios(size_bytes)
        for row in np.lexsort((ratios, self._rank)):
            directory = self._directories[row]
            if directory.broker not in self._degraded:
                yield Destination(directory.broker, directory.path, float(ratios[row]))
        fullest = {broker: float(max(ratios[rows])) for broker, rows in self._degraded.items()}
        for broker in sorted(fullest, key=lambda broker: (self._rank[self._degraded[broker][0]] // 2, fullest[broker])):
            yield Destination(broker, None, fullest[broker])

    def take(self, place: LogDirId, size_bytes: int) -> None:
        """Add a replica to a directory."""
        self._used[self._index[place]] += size_bytes

    def _usable(self, broker: int) -> Iterator[LogDir]:
        """Yield the directories of a broker that may take a replica; the others are recorded in ``refused``."""
        if replica_vetoes.broker_not_alive(self._snapshot, broker) is not None:
            return
        # Only "any" works on a broker with a directory that is offline: Kafka chooses.
        by_kafka = not self._snapshot.all_serving(broker)
        chosen_by_kafka = replica_vetoes.marked_may_be_chosen(self._snapshot, broker) if by_kafka else None
        for directory in sorted(self._snapshot.directories_of.get(broker, ()), key=lambda found: found.path):
            veto = replica_vetoes.first(
                [
                    replica_vetoes.destination_not_serving(directory),
                    replica_vetoes.destination_closed(directory),
                    chosen_by_kafka,
                ]
            )
            if veto is None:
                yield directory
            else:
                self.refused[broker].append(veto)

    def _class(self, directory: LogDir, lost_rack: str | None) -> int:
        is_other_rack = self._snapshot.brokers[directory.broker].rack != lost_rack
        return 4 * (directory.broker in self._slow) + 2 * is_other_rack + (directory.is_metadata_dir is True)

    def _ratios(self, size_bytes: int) -> npt.NDArray[np.float64]:
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(self._unknown, 1.0, (self._used + size_bytes) / self._total)
