"""The number of replicas of each broker by status: counted once, then updated by every merge.

No table is read again for it. Copies in progress are excluded, as in all counts of replicas.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from logdirwatch.model.vocabulary import ReplicaStatus

STATUSES = tuple(status for status in ReplicaStatus if status is not ReplicaStatus.MOVING)
"""Only copies are moving."""

Replicas = Mapping[tuple[str, int], Mapping[ReplicaStatus, int]]
"""Numbers of replicas by cluster and broker, and by status."""

Numbers: TypeAlias = Mapping[str, Any]
"""``cluster``, ``broker``, and a number for each of ``STATUSES``."""


class Tally:
    """Numbers of replicas; ``tell`` gets them after each batch."""

    def __init__(self, tell: Callable[[Replicas], None]) -> None:
        self._tell = tell
        self._counts: dict[tuple[str, int], Counter[ReplicaStatus]] | None = None

    def note(self, totals: Callable[[], Iterable[Numbers]], differences: Iterable[Numbers] | None) -> None:
        """Apply the changes of a batch to the counts; the first time, or without ``differences``, take the totals."""
        if self._counts is None or differences is None:
            self._counts = {}
            differences = totals()
        for row in differences:
            counts = self._counts.setdefault((row["cluster"], row["broker"]), Counter())
            for status in STATUSES:
                counts[status] += row[status.value]
        self._counts = {broker: counts for broker, counts in self._counts.items() if any(counts.values())}
        self._tell({broker: dict(counts) for broker, counts in self._counts.items()})


def totals(stored: pa.Table) -> list[Numbers]:
    """Return each broker's numbers in rows of ``replica_state``, one row per broker."""
    rows = stored.filter(pc.invert(stored.column("is_future"))).group_by(["cluster", "broker", "status"])
    found: defaultdict[tuple[str, int], Counter[str]] = defaultdict(Counter)
    for row in rows.aggregate([([], "count_all")]).to_pylist():
        found[row["cluster"], row["broker"]][row["status"]] = row["count_all"]
    return _numbers(found)


def differences(before: Iterable[Mapping[str, Any]], now: Iterable[Mapping[str, Any]]) -> list[Numbers]:
    """Return by how much the numbers of brokers differ between rows of ``replica_state``, one row per broker."""
    found: defaultdict[tuple[str, int], Counter[str]] = defaultdict(Counter)
    for rows, number in ((before, -1), (now, 1)):
        for row in rows:
            found[row["cluster"], row["broker"]][row["status"]] += 0 if row["is_future"] else number
    return _numbers(found)


def _numbers(found: Mapping[tuple[str, int], Counter[str]]) -> list[Numbers]:
    return [
        {"cluster": cluster, "broker": broker, **{status.value: counts[status.value] for status in STATUSES}}
        for (cluster, broker), counts in found.items()
    ]
