"""Reads what the checkpoint of ``detect`` or ``fleet`` remembers, by Spark's state data source.

Nothing is changed, and the stream may run meanwhile: what the last batch committed is read.
"""

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import NamedTuple

import msgspec
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import Row, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the field's name for it

from logdirwatch.detect import state_view
from logdirwatch.detect.spark.shard import MEMORIES, remembered
from logdirwatch.errors import UserError
from logdirwatch.fleet import memory
from logdirwatch.fleet.judge import CLUSTER
from logdirwatch.jobs.checkpoint import unusable
from logdirwatch.jobs.maintain import java_speaks_to_stderr
from logdirwatch.jobs.queries.start_state import has_checkpoint
from logdirwatch.jobs.session import build_session, end_session
from logdirwatch.jobs.streams import checkpoint
from logdirwatch.settings import Settings


class _Kept(NamedTuple):
    """The state variable of a query, and what makes JSON lines of its values."""

    variable: str
    lines: Callable[[Row, Settings, int | None], Iterator[bytes]]


def _of_shard(value: Row, settings: Settings, broker: int | None) -> Iterator[bytes]:
    for known in remembered(tuple(value), settings.detect):
        if broker in (None, known.broker):
            known.sequence -= 1  # the next number is for the record that the stream writes next
            yield msgspec.json.encode(state_view.state_record(known, []))


def _of_cluster(value: Row, settings: Settings, broker: int | None) -> Iterator[bytes]:
    del settings, broker
    yield memory.CODEC.encode(memory.CODEC.decode(*value)).encode()


KEPT: Mapping[str, _Kept] = MappingProxyType(
    {"detect": _Kept(MEMORIES, _of_shard), "fleet": _Kept(CLUSTER, _of_cluster)}
)
"""The queries that keep state."""


def run(settings: Settings, query: str, cluster: str | None, broker: int | None) -> Iterator[bytes]:
    """Yield the JSON lines of a query's memory, in a Spark session of its own.

    Raises UserError when there is no checkpoint, or one that this release cannot read.
    """
    with java_speaks_to_stderr():
        spark = build_session(settings, "logdirwatch-checkpoint")
    try:
        # Spark starts the coordinator of state stores, which tasks need to read state, with the manager of queries.
        _ = spark.streams
        yield from lines(spark, settings, query, cluster, broker)
    finally:
        end_session(spark)


def lines(
    spark: SparkSession, settings: Settings, query: str, cluster: str | None, broker: int | None
) -> Iterator[bytes]:
    """Yield the JSON lines of a query's memory: state records of ``detect``, the memories of clusters of ``fleet``."""
    path = checkpoint(settings, query)
    if not has_checkpoint(spark, settings, query):
        raise UserError(f"checkpoint: {path} holds no checkpoint: start logdirwatch stream, or set checkpoints.path")
    kept = KEPT[query]
    try:
        found = spark.read.format("statestore").options(path=path, stateVarName=kept.variable).load()
        rows = found if cluster is None else found.where(F.col("key.cluster") == cluster)
        for row in rows.orderBy("key").select("value").toLocalIterator():
            yield from kept.lines(row["value"], settings, broker)
    except (PySparkException, Py4JJavaError) as error:
        if (reason := unusable.reason(error)) is None:
            raise
        raise UserError(f"checkpoint: {path}: {reason}; the stream sets it aside and goes on without it") from None
