"""The Spark session, the Kafka source and the one way a query is started."""

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark import SparkContext
from pyspark.errors import PySparkRuntimeError
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the field's name for it
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

from logdirwatch.errors import UserError
from logdirwatch.jars import spark_jars
from logdirwatch.jobs.checkpoint.folder import Folder
from logdirwatch.kafka.clients import spark_options
from logdirwatch.settings import Settings
from logdirwatch.text.masking import MASKED_NAMES

_ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
_LOG4J2 = Path(__file__).parent.parent / "conf" / "log4j2.properties"
# With the first compiler alone Java keeps 48 MiB for compiled code; six queries fill it, and then all is interpreted.
_CODE_CACHE = "-XX:ReservedCodeCacheSize=256m"
# Spark loads this much; with less at hand Java collects everything several times while it starts.
_METASPACE = "-XX:MetaspaceSize=256m"
# Spark writes a method a stage; of the wide tables' ones some are longer than what Java compiles unless told to.
_LONG_METHODS = "-XX:-DontCompileHugeMethods"
_JAVA_OPTIONS = (f"-Dlog4j2.configurationFile={_LOG4J2}", "-XX:+UseSerialGC", _CODE_CACHE, _METASPACE, _LONG_METHODS)

# By default Spark renames through Hadoop's FileContext, which starts a process (readlink) for every file of a local
# folder: with several state files a batch that is a third of all the work. A local rename is atomic without it.
_LOCAL_CHECKPOINTS = {
    "spark.sql.streaming.checkpointFileManagerClass": (
        "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
    )
}

# Without its native library, which PySpark does not ship, Hadoop starts a process (chmod) for every file and folder it
# makes on a local disk; this one asks Java to.
_LOCAL_FILES = {"spark.hadoop.fs.file.impl": "com.globalmentor.apache.hadoop.fs.BareLocalFileSystem"}

# After the records that a batch wants, Spark's consumer asks for the next ones, and then, on the same connection, where
# the partition ends: the broker answers in order, and holds the first answer back for half a second while there is
# nothing new. That is half a second for each partition in each batch.
SHORT_FETCHES = {"kafka.fetch.max.wait.ms": "10"}

Trigger = Callable[[DataStreamWriter], DataStreamWriter]

# What the queries need wherever they run; a cluster's own configuration adds to it.
SESSION_CONF = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    "spark.sql.streaming.stateStore.providerClass": _ROCKSDB,
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    # Avro lets state gain fields; it cannot be changed once a checkpoint exists.
    "spark.sql.streaming.stateStore.encodingFormat": "avro",
    "spark.sql.streaming.minBatchesToRetain": "20",
    # Kafka bounds a batch as it was compressed; what comes out of it may be a thousand times as large.
    "spark.sql.execution.arrow.maxBytesPerBatch": "64m",
    # Spark keeps 100 generated classes; one batch of the tables needs more, and had every one of them written, compiled
    # and warmed up anew. A class is known by its text, which must not name the number of its stage then.
    "spark.sql.codegen.cache.maxEntries": "5000",
    "spark.sql.codegen.useIdInClassName": "false",
    # Spark describes the plan of every job it runs, and asks for a stack trace with every column: in many short batches
    # that is a good part of the time, for texts that nobody reads.
    "spark.sql.ui.explainMode": "simple",
    "spark.sql.maxPlanStringLength": "2000",
    "spark.sql.debug.maxToStringFields": "5",
    "spark.sql.dataFrameQueryContext.enabled": "false",
    "spark.python.sql.dataFrameDebugging.enabled": "false",
    "spark.databricks.delta.schema.autoMerge.enabled": "false",
    # Of plans, pages and event logs. Spark's own does not know the names of Kafka's and of some object stores' keys.
    "spark.redaction.regex": MASKED_NAMES,
}


def build_session(settings: Settings, name: str = "logdirwatch") -> SparkSession:
    """Return the session: a local one with its own jars when ``stream.master`` is set, else the one Spark gives.

    Raises UserError when it gives none.
    """
    stream = settings.stream
    builder = SparkSession.Builder().appName(name)
    if stream.master is not None:
        os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
        builder = builder.master(stream.master)
    local = {} if stream.master is None else _local_conf(settings)
    sizes = {"spark.sql.shuffle.partitions": str(stream.shuffle_partitions)}
    for key, value in {**SESSION_CONF, **sizes, **local, **stream.extra}.items():
        builder = builder.config(key, value)
    try:
        return builder.getOrCreate()
    except (Py4JJavaError, PySparkRuntimeError) as error:
        told = error.java_exception.getMessage() if isinstance(error, Py4JJavaError) else str(error)
        raise UserError(
            f"Spark gives no session: {str(told).splitlines()[0]} Its own lines above say why; look at the section "
            "stream of the configuration, or at what spark-submit was given"
        ) from None


def _local_conf(settings: Settings) -> dict[str, str]:
    """Return what a session needs that this process starts itself."""
    return {
        "spark.driver.extraClassPath": os.pathsep.join(map(str, spark_jars(settings.home_path))),
        "spark.driver.memory": settings.stream.driver_memory,
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.extraJavaOptions": " ".join((*_JAVA_OPTIONS, settings.stream.driver_java_options)),
        # A Python worker gets 15 s to answer its JVM; on a machine that is short of time all of them start at once.
        "spark.python.authenticate.socketTimeout": "60s",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        # Nothing is kept in it, but Spark makes it: beside the tables it goes where they go.
        "spark.sql.warehouse.dir": f"{settings.tables_path.rstrip('/')}/.warehouse",
        **_LOCAL_FILES,
        **({} if "://" in settings.checkpoints.path else _LOCAL_CHECKPOINTS),
    }


def end_session(spark: SparkSession) -> None:
    """Stop the session and wait for the end of a JVM that this process started: nothing runs on when it ends."""
    silence(spark)
    jvm = _own_jvm()
    spark.stop()
    if jvm is not None:
        jvm.stdin.close()
        jvm.wait()


def silence(spark: SparkSession) -> None:
    """Let a JVM that this process started log nothing more: Spark takes for an error what is cut by the end."""
    if _own_jvm() is not None:
        spark.sparkContext.setLogLevel("OFF")


def _own_jvm() -> Any:
    return getattr(SparkContext._gateway, "proc", None)  # noqa: SLF001 - PySpark offers no other way to it


def unpacked(column: Column, schema: str) -> Column:
    """Return the fields of a column of JSON as columns; all null where it is none.

    It makes a row, not a struct: Spark would parse the JSON anew for each use of a field of that.
    """
    return F.inline(F.array(F.from_json(column, schema)))


def kafka_stream(
    spark: SparkSession,
    settings: Settings,
    topics: Sequence[str],
    starting_offsets: str | None = None,
    max_records: int | None = None,
    fetches: Mapping[str, str] = SHORT_FETCHES,
) -> DataFrame:
    """Return the telemetry topics as a stream of key, value, topic, partition, offset, timestamp.

    A batch reads all that is there, or ``max_records`` of it: what judges by time must not see half of the past.
    """
    limits = {} if max_records is None else {"maxOffsetsPerTrigger": str(max_records)}
    return (
        spark.readStream.format("kafka")
        .options(**fetches)
        .options(**spark_options(settings.telemetry))
        .option("subscribe", ",".join(topics))
        .option("startingOffsets", starting_offsets or settings.stream.starting_offsets)
        # A watcher must go on when retention ran past its offsets; it may not die at night for that.
        .option("failOnDataLoss", "false")
        .options(**limits)
        .load()
        .select("key", "value", "topic", "partition", "offset", "timestamp")
    )


def few_tasks(records: DataFrame, settings: Settings) -> DataFrame:
    """Read the many partitions of a stream in as many tasks as its shuffles have.

    A batch holds few records of each: a task for each, each in a Python worker, would cost more than the work.
    """
    return records.coalesce(settings.stream.shuffle_partitions)


KAFKA_ROWS = "topic string, key string, value string"
"""What a query writes that serves several topics with one sink."""


def to_kafka(frame: DataFrame, settings: Settings) -> DataStreamWriter:
    """Write columns topic, key and value to the telemetry cluster."""
    return frame.writeStream.format("kafka").options(**spark_options(settings.telemetry)).outputMode("update")


def checkpoint(settings: Settings, name: str) -> str:
    """Return the checkpoint folder of a query."""
    return f"{settings.checkpoints.path.rstrip('/')}/{name}"


def last_commit_ms(spark: SparkSession, settings: Settings, names: Sequence[str]) -> int | None:
    """Return when any of the queries last ended a batch, wherever the checkpoints lie; None when none ever did."""
    times = [at_ms for name in names for at_ms in Folder(spark, f"{checkpoint(settings, name)}/commits").modified_ms()]
    return max(times, default=None)


def start_query(
    writer: DataStreamWriter,
    settings: Settings,
    name: str,
    trigger: Trigger,
) -> StreamingQuery:
    """Start a query with its name, its own checkpoint and its trigger."""
    return trigger(writer.queryName(name).option("checkpointLocation", checkpoint(settings, name))).start()


def every(interval: str) -> Trigger:
    """Trigger a micro-batch each ``interval``."""
    return lambda writer: writer.trigger(processingTime=interval)


def real_time(batch: str) -> Trigger:
    """Run in Spark's real-time mode, with offsets committed each ``batch``."""
    # PySpark 4.2.0 takes the argument, its overloads do not list it.
    return lambda writer: writer.trigger(realTime=batch)  # type: ignore[call-overload]
