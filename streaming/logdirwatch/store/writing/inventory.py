"""The writer of ``store_inventory``, which remembers from batch to batch what it need not read or derive again."""

from collections.abc import Iterator

import structlog
from pyspark.sql import DataFrame

from logdirwatch.model import topics
from logdirwatch.store.direct.newest import RowsChangedError
from logdirwatch.store.rows.judgements import Judged
from logdirwatch.store.rows.thin import Placed
from logdirwatch.store.schema.definitions import (
    BROKER_STATE,
    LOG_DIR_INVENTORY,
    REJECTED_RECORDS,
    REPLICA_STATE,
    TOPIC_STATE,
)
from logdirwatch.store.tables import Tables
from logdirwatch.store.writing.engine import Engine
from logdirwatch.store.writing.intake import Belief
from logdirwatch.store.writing.inventory_batch import still_recognized, write_batch
from logdirwatch.store.writing.recognition import MOST_TABLE_BYTES, Trust, recognized, trust
from logdirwatch.store.writing.small_batch import Note, SmallBatch, batches, forget
from logdirwatch.store.writing.tally import Tally, totals

log = structlog.get_logger(__name__)

ATTEMPTS = 3
WRITTEN = (REPLICA_STATE, TOPIC_STATE, LOG_DIR_INVENTORY, REJECTED_RECORDS)
READ = (BROKER_STATE,)

_COUNTED = ("cluster", "broker", "is_future", "status")


class InventoryWriter:
    """Writes batches of inventory and state, and keeps incomplete scans and unstored states for the next batch.

    ``store`` writes states independently: until it has, they are kept here, or replicas would revert to an older
    status. Kept data is lost with the process; then the next scan, and ``store``, provide it again. The judgements from
    which replicas were last derived are kept too: a batch without a scan only handles brokers whose judgement changed.
    ``tally`` counts the replicas by status.
    """

    def __init__(self, believed: Belief, note: Note = forget, tally: Tally | None = None) -> None:
        self._believed, self._note, self._tally = believed, note, tally
        self._kept: list[Placed] = []
        self._told: Judged | None = None
        self._trust: Trust | None = None

    def write(self, records: DataFrame, tables: Tables) -> None:
        """Write one batch of Kafka rows."""
        for attempt in range(ATTEMPTS):
            # The last one depends on nothing that was read before.
            trusted = None if attempt == ATTEMPTS - 1 else self._trust or trust(tables)
            told, kept, self._trust = self._told, self._kept, None
            try:
                self._write(records, tables, trusted, is_first=attempt == 0)
            except RowsChangedError as reason:
                log.info("store.rows_changed", reason=str(reason))
                self._told, self._kept = told, kept
            else:
                self._trust = trusted
                return

    def _write(self, records: DataFrame, tables: Tables, trusted: Trust | None, *, is_first: bool) -> None:
        change = Engine(tables, MOST_TABLE_BYTES)
        for batch in self._batches(records, tables, trusted):
            written = write_batch(batch, self._told, trusted, change)
            self._told, self._kept = written.judged, written.kept
            self._note(batch.rejected(topics.INVENTORY))
            if self._tally is not None:
                # An earlier attempt may have written replicas.
                changes = written.differences if is_first else None
                self._tally.note(lambda: totals(change(REPLICA_STATE, lambda target: target.read(_COUNTED))), changes)

    def _batches(self, records: DataFrame, tables: Tables, trusted: Trust | None) -> Iterator[SmallBatch]:
        """Yield the batch, in parts if it is large, each with the rows kept for it."""
        if trusted is not None:
            known = trusted.known(tables)
            found = recognized(records, self._believed, known)
            if found is not None:
                trusted.remember(found.records)
                yield found.batch.joined(still_recognized(self._kept, known))
                return
        for batch in batches(records, self._believed):
            yield batch.joined(still_recognized(self._kept, None))
