"""How ``store`` writes a batch: without Spark if it is small and the tables allow it, otherwise by merges of Spark."""

import structlog
from pyspark.sql import DataFrame

from logdirwatch.errors import UserError
from logdirwatch.model.evidence.stream import RejectedRows
from logdirwatch.store.direct.table import NotDirectError
from logdirwatch.store.tables import Tables, short
from logdirwatch.store.writing.batch import taken_in
from logdirwatch.store.writing.direct import write_small
from logdirwatch.store.writing.history import write_batch
from logdirwatch.store.writing.intake import Belief
from logdirwatch.store.writing.rejects import rejected_rows
from logdirwatch.store.writing.small_batch import SmallBatch, collected

log = structlog.get_logger(__name__)


def write_records(records: DataFrame, believed: Belief, tables: Tables) -> list[RejectedRows]:
    """Write Kafka rows, and return what was rejected."""
    if tables.folder() is not None:
        small = collected(records, believed)
        if small is not None and _is_written(small, tables):
            return small.rejected()
    with taken_in(records, believed) as batch:
        write_batch(batch, tables)
        return rejected_rows(batch)


def _is_written(batch: SmallBatch, tables: Tables) -> bool:
    """Write a small batch; False if Spark has to. What is written of it then, Spark finds and does not repeat."""
    try:
        write_small(batch, tables.direct)
    except NotDirectError as reason:
        log.debug("store.by_spark", reason=str(reason))
        return False
    except UserError:
        raise
    except Exception as error:
        log.warning("store.by_spark", error=f"{type(error).__name__}: {short(error)}", exc_info=True)
        return False
    return True
