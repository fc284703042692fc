"""The number of replicas of each broker by status: counted once, then updated by every merge.

No table is read again for it. Copies in progress are excluded, as in all counts of replicas.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the field's name for it

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

    def start_again(self) -> None:
        """Forget the counts: the next batch counts all rows."""
        self._counts = None

    def note(self, totals: Callable[[], Iterable[Numbers]], differences: Iterable[Numbers]) -> None:
        """Apply the changes of a batch to the counts; the first time they are the ``totals``."""
        if self._counts is None:
            self._counts = {}
            differences = totals()
        for row in differences:
            counts = self._counts.setdefault((row["cluster"], row["broker"]), Counter())
            for status in STATUSES:
                counts[status] += row[status.value]
        self._counts = {broker: counts for broker, counts in self._counts.items() if any(counts.values())}
        self._tell({broker: dict(counts) for broker, counts in self._counts.items()})


def totals(stored: DataFrame) -> list[Numbers]:
    """Return each broker's numbers, one row per broker."""
    return _collected(stored, *_totals(_status_of("status")))


def differences(changed: DataFrame) -> list[Numbers]:
    """Return by how much the rows of ``replicas.changes`` change each broker's numbers, one row per broker."""
    before, now = _status_of("old_status"), F.when(~F.col("is_gone"), _status_of("status"))
    return _collected(
        changed, *(F.sum(_is(now, status) - _is(before, status)).alias(status.value) for status in STATUSES)
    )


def _collected(rows: DataFrame, *numbers: Column) -> list[Numbers]:
    return [row.asDict() for row in rows.groupBy("cluster", "broker").agg(*numbers).collect()]


def plain_totals(stored: Iterable[Mapping[str, Any]]) -> list[Numbers]:
    """Return each broker's numbers in rows of ``replica_state``, as ``totals`` does."""
    return plain_differences((), stored)


def plain_differences(before: Iterable[Mapping[str, Any]], now: Iterable[Mapping[str, Any]]) -> list[Numbers]:
    """Return by how much the numbers of brokers differ between rows of ``replica_state``, one row per broker."""
    found: defaultdict[tuple[str, int], Counter[str]] = defaultdict(Counter)
    for rows, number in ((before, -1), (now, 1)):
        for row in rows:
            found[row["cluster"], row["broker"]][row["status"]] += 0 if row["is_future"] else number
    return [
        {"cluster": cluster, "broker": broker, **{status.value: counts[status.value] for status in STATUSES}}
        for (cluster, broker), counts in found.items()
    ]


def _status_of(name: str) -> Column:
    return F.when(~F.col("is_future"), F.col(name))


def _totals(column: Column) -> list[Column]:
    return [F.sum(_is(column, status)).alias(status.value) for status in STATUSES]


def _is(column: Column, status: ReplicaStatus) -> Column:
    return F.coalesce(column == status.value, F.lit(False)).cast("int")
