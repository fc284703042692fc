"""The number of replicas of each broker by status: counted once, then updated by every merge.

No table is read again for it. Copies in progress are excluded, as in all counts of replicas.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence

from pyspark.sql import Column, DataFrame, Row
from pyspark.sql import functions as F  # noqa: N812 - the field's name for it

from logdirwatch.model.vocabulary import ReplicaStatus

STATUSES = tuple(status for status in ReplicaStatus if status is not ReplicaStatus.MOVING)
"""Only copies are moving."""

Replicas = Mapping[tuple[str, int], Mapping[ReplicaStatus, int]]
"""Numbers of replicas by cluster and broker, and by status."""


class Tally:
    """Numbers of replicas; ``tell`` gets them after each batch."""

    def __init__(self, tell: Callable[[Replicas], None]) -> None:
        self._tell = tell
        self._counts: dict[tuple[str, int], Counter[ReplicaStatus]] | None = None

    def note(self, stored: DataFrame, differences: Iterable[Row]) -> None:
        """Apply the changes of a batch to the counts; the first time the ``stored`` rows are counted."""
        if self._counts is None:
            self._counts = {}
            differences = stored.groupBy("cluster", "broker").agg(*_totals(_status_of("status"))).collect()
        for row in differences:
            counts = self._counts.setdefault((row["cluster"], row["broker"]), Counter())
            for status in STATUSES:
                counts[status] += row[status.value]
        self._counts = {broker: counts for broker, counts in self._counts.items() if any(counts.values())}
        self._tell({broker: dict(counts) for broker, counts in self._counts.items()})


def differences(changed: DataFrame) -> Sequence[Row]:
    """Return by how much the rows of ``replicas.changes`` change each broker's numbers, one row per broker."""
    before, now = _status_of("old_status"), F.when(~F.col("is_gone"), _status_of("status"))
    totals = [F.sum(_is(now, status) - _is(before, status)).alias(status.value) for status in STATUSES]
    return changed.groupBy("cluster", "broker").agg(*totals).collect()


def _status_of(name: str) -> Column:
    return F.when(~F.col("is_future"), F.col(name))


def _totals(column: Column) -> list[Column]:
    return [F.sum(_is(column, status)).alias(status.value) for status in STATUSES]


def _is(column: Column, status: ReplicaStatus) -> Column:
    return F.coalesce(column == status.value, F.lit(False)).cast("int")
