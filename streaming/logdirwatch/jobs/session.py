"""The Spark session: one that this process starts, or one beside a session that is given."""

import atexit
import os
import socket
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pyspark
import structlog
from py4j.protocol import Py4JError, Py4JJavaError
from pyspark import SparkConf, SparkContext, java_gateway
from pyspark.errors import PySparkException, PySparkRuntimeError
from pyspark.sql import SparkSession

from logdirwatch import spark_version
from logdirwatch.errors import UserError
from logdirwatch.jars import spark_jars
from logdirwatch.jobs import class_archive, native_memory, small_fleet, worker_python
from logdirwatch.observe.children import dying_with_parent
from logdirwatch.settings import Settings
from logdirwatch.store import log_store
from logdirwatch.text.printable import MASKED_NAMES

log = structlog.get_logger(__name__)

_ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
_LOG4J2 = Path(__file__).parent.parent / "conf" / "log4j2.properties"
# With only the C1 compiler Java reserves 48 MiB for compiled code; six queries fill it, and then all is interpreted.
_CODE_CACHE = "-XX:ReservedCodeCacheSize=256m"
# Spark loads this much metaspace; with less, Java runs several full collections during startup.
_METASPACE = "-XX:MetaspaceSize=256m"
# Spark generates one method per stage; some of the wide tables' methods exceed the size that Java compiles by default.
_LONG_METHODS = "-XX:-DontCompileHugeMethods"
# The heap starts small and grows with what it keeps, up to ``driver_memory``: a small fleet keeps 110 MiB. By default
# Java starts with a part of the machine's memory, and leaves 40 % of what it has free.
_HEAP = "-Xms160m -XX:NewSize=40m -XX:MinHeapFreeRatio=20 -XX:MaxHeapFreeRatio=40"
_JAVA_OPTIONS = (
    f"-Dlog4j2.configurationFile={_LOG4J2}",
    *("-XX:+UseSerialGC", _HEAP, _CODE_CACHE, _METASPACE, _LONG_METHODS),
)
# The C library reserves memory for many threads each, in Java and in Python, and returns little of it.
_FEW_ARENAS = {"MALLOC_ARENA_MAX": "2"}

# By default Spark renames through Hadoop's FileContext, which starts a process (readlink) for every file of a local
# folder: with several state files per batch that is a third of all the work. A local rename is atomic without it.
_CHECKPOINT_MANAGER = "spark.sql.streaming.checkpointFileManagerClass"

# Without its native library, which PySpark does not ship, Hadoop starts a process (chmod) for every file and folder it
# creates on a local disk; this implementation uses Java instead.
_LOCAL_FILES = {"spark.hadoop.fs.file.impl": "com.globalmentor.apache.hadoop.fs.BareLocalFileSystem"}

# Spark remembers its last thousand jobs and plans for pages of its own. They are off.
_SHORT_MEMORY = {
    "spark.sql.ui.retainedExecutions": "10",
    "spark.ui.retainedJobs": "100",
    "spark.ui.retainedStages": "100",
    "spark.ui.retainedTasks": "1000",
    "spark.ui.retainedDeadExecutors": "1",
}

# What the queries need of their own session, whoever started Spark. None of it is static: it is set on a session that
# nothing else uses.
SESSION_CONF = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.streaming.stateStore.providerClass": _ROCKSDB,
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    # Avro allows new fields in state; the format cannot be changed once a checkpoint exists.
    "spark.sql.streaming.stateStore.encodingFormat": "avro",
    "spark.sql.streaming.minBatchesToRetain": "20",
    # Kafka limits the compressed size of a batch; uncompressed it may be a thousand times as large.
    "spark.sql.execution.arrow.maxBytesPerBatch": "64m",
    "spark.sql.codegen.useIdInClassName": "false",
    # It finds that a repeated task wrote other rows; those of the queries depend on their input alone.
    "spark.sql.shuffle.orderIndependentChecksum.enabled": "false",
    # Spark describes the plan of every job, and takes a stack trace for every column: in many short batches that is a
    # large part of the time, for texts that are not used.
    "spark.sql.ui.explainMode": "simple",
    "spark.sql.maxPlanStringLength": "2000",
    "spark.sql.debug.maxToStringFields": "5",
    "spark.sql.dataFrameQueryContext.enabled": "false",
    "spark.databricks.delta.schema.autoMerge.enabled": "false",
}

DELTA_CONF = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
}
"""What Delta Lake needs of an application. A platform may have classes of its own there, which must stay."""

# Redaction of plans, pages and event logs. Spark's default lacks Kafka's keys and those of some object stores.
_REDACTION = {"spark.redaction.regex": MASKED_NAMES}

# What else an application has that this process starts with its own configuration.
_APPLICATION_CONF = {
    **DELTA_CONF,
    **log_store.CONF,
    **_REDACTION,
    # Spark caches 100 generated classes; one batch of the tables needs more, and had all of them generated, compiled
    # and warmed up again. A class is cached by its source, which therefore must not contain the number of its stage.
    "spark.sql.codegen.cache.maxEntries": "5000",
    "spark.python.sql.dataFrameDebugging.enabled": "false",
}

# Its ports are open to every user of the machine, and Spark deserializes what arrives there. With a local master it
# makes a secret of its own for each application; with another one spark-submit or the cluster has it.
_LOCAL_TRUST = {"spark.authenticate": "true", "spark.network.crypto.enabled": "true"}

END_LIMIT_S = 30.0
"""How long Spark and its JVM may take to end: less than supervisors wait."""
RECORDING_LIMIT_S = 150.0
"""The same for the first stream, which writes the archive of its classes as it ends.

One that is killed then leaves no archive, and the next stream would write it, and be killed, again.
"""

CONNECT_PORT = 15002
CONNECT_WITHIN_S = 10.0

_started: set[str] = set()
"""The ids of the applications that this process started: no other may be stopped."""

_connected: list[SparkSession] = []
"""The sessions that this process began on a server of Spark Connect, the last one first."""

_given: dict[SparkSession, SparkSession] = {}
"""The session that was active before one of ours was built beside it, by ours; a job may build one beside another."""


def build_session(
    settings: Settings,
    name: str = "logdirwatch",
    *,
    is_small: bool = False,
    records_classes: bool = False,
    over_connect: bool = False,
) -> SparkSession:
    """Return a session that nothing else uses.

    If this process has a Spark application already, as on Databricks, it is a new session of that application, which
    stays as it is. Otherwise it is a local one with its own jars if ``stream.master`` is set, or that of spark-submit.
    A local one takes little if the fleet is small (``small_fleet``), unless the configuration says otherwise, and may
    record the archive of classes that later ones start with.

    With Spark Connect it is a session of the server, for what works there alone (``over_connect``).

    Raises UserError if there is none, or if the given one has no Delta Lake.
    """
    if spark_version.by_connect():
        return _connect(settings, name, over_connect=over_connect)
    given = SparkSession.getActiveSession()
    if given is not None or SparkContext._active_spark_context is not None:  # noqa: SLF001 - PySpark has no public one
        return _beside(given or SparkSession.Builder().getOrCreate(), settings)
    session = _start(settings, name, is_small=is_small, records_classes=records_classes)
    _started.add(session.sparkContext.applicationId)
    if _is_local(settings.stream.master):
        _write_no_checksum_files(session)
    if settings.stream.master is None:
        check_delta(session)
    return session


def _connect(settings: Settings, name: str, *, over_connect: bool) -> SparkSession:
    """Return a session of a Spark Connect server: that of the active one, or of ``SPARK_REMOTE``."""
    if not over_connect:
        raise UserError(
            "the Spark session is one of Spark Connect, as on serverless compute or in standard access mode. "
            "There only the queries that raise alerts run: stream --query fast_lane --query detect --query fleet. The "
            "others, and what works on tables, need a cluster in dedicated access mode (docs/databricks.md)"
        )
    if settings.stream.master is not None:
        raise UserError("stream.master is set, and Spark is reached by Spark Connect: set stream.master to null")
    given = SparkSession.getActiveSession()
    if given is None:
        _check_answers(os.environ["SPARK_REMOTE"])
    try:
        session = spark_version.clone(given) if given else SparkSession.Builder().appName(name).getOrCreate()
        _note_connected(session)
        _configure(session, {**_session_conf(settings), **settings.stream.extra})
    except (PySparkException, ImportError) as error:
        told = str(error).strip().splitlines()[0]
        raise UserError(f"Spark Connect started no session: {told}; check SPARK_REMOTE and its server") from None
    return session


def _note_connected(session: Any) -> None:
    """Close a session's client before the interpreter ends, when it would wait for threads that are gone."""
    _connected.insert(0, session)
    atexit.register(session.client.close)


def _check_answers(remote: str) -> None:
    """Raise UserError if nothing listens at ``sc://host:port/``: Spark's own client tries again for many minutes."""
    where = urlsplit(remote).netloc
    try:
        address = urlsplit(remote).hostname or "", urlsplit(remote).port or CONNECT_PORT
        with socket.create_connection(address, CONNECT_WITHIN_S):
            pass
    except (OSError, ValueError) as error:
        raise UserError(f"Spark Connect does not answer at {where}, of SPARK_REMOTE: {error}") from None


def _beside(given: SparkSession, settings: Settings) -> SparkSession:
    """Return a session of the same application as a given one, with what the queries need."""
    session = given.newSession()
    check_delta(session)
    refused = _configure(session, {**_session_conf(settings), **settings.stream.extra})
    if ignored := sorted(refused & settings.stream.extra.keys()):
        log.warning("session.extra_ignored", keys=ignored, meaning="only the configuration of the cluster can set them")
    _given[session] = given
    return session


def _start(settings: Settings, name: str, *, is_small: bool, records_classes: bool) -> SparkSession:
    """Start an application; what spark-submit configured stays, except what the queries need of their session."""
    stream = settings.stream
    builder = SparkSession.Builder().appName(name)
    if stream.master is not None:
        os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
        os.environ.update({key: value for key, value in _FEW_ARENAS.items() if key not in os.environ})
        is_local = _is_local(stream.master)
        os.environ["PYSPARK_PYTHON"] = worker_python.command(settings.home_path) if is_local else sys.executable
        builder = builder.master(stream.master)
    try:
        own = {} if stream.master is None else _local_conf(settings, is_small=is_small, records_classes=records_classes)
        whole = {**_APPLICATION_CONF, **own} if own else _submitted_conf()
        whole = {**whole, **stream.extra}
        if log_store.OF_ALL in whole:
            whole = {key: value for key, value in whole.items() if log_store.CONF.get(key) != value}
        for key, value in {**_session_conf(settings), **whole}.items():
            builder = builder.config(key, value)
        with _java_that_ends_with_this_process():
            return builder.getOrCreate()
    except (Py4JJavaError, PySparkRuntimeError) as error:
        told = error.java_exception.getMessage() if isinstance(error, Py4JJavaError) else str(error)
        raise UserError(
            f"Spark started no session: {str(told).splitlines()[0]} Its log lines above say why; check the section "
            "stream of the configuration, or the arguments of spark-submit"
        ) from None


@contextmanager
def _java_that_ends_with_this_process() -> Iterator[None]:
    """Let the kernel end the JVM that is started in this block when this process is killed.

    By itself the JVM ends when its standard input closes, but only after its shutdown hooks, which may hang with a
    batch; a second stream would meanwhile work on the same checkpoints. PySpark overwrites ``preexec_fn`` and offers no
    other way to change how it starts Java. The JVM ends with the thread that started it, hence the main thread only.
    """
    start: Any = vars(java_gateway)["Popen"]
    prefix = dying_with_parent() if threading.current_thread() is threading.main_thread() else []
    vars(java_gateway)["Popen"] = lambda command, **kwargs: start([*prefix, *command], **kwargs)
    try:
        yield
    finally:
        vars(java_gateway)["Popen"] = start


def _submitted_conf() -> dict[str, str]:
    """Return the settings that spark-submit did not get, but that secrets and other writers of the tables require."""
    SparkContext._ensure_initialized()  # noqa: SLF001 - what spark-submit was told is in its JVM
    told, needed = SparkConf(), dict(_REDACTION)
    if not told.contains(log_store.OF_ALL) and log_store.add_to_driver(SparkContext._jvm):  # noqa: SLF001
        needed |= log_store.CONF
    return {key: value for key, value in needed.items() if not told.contains(key)}


def check_delta(session: SparkSession) -> None:
    """Raise UserError if a given session lacks Delta Lake: its data source, or what it needs of the application."""
    lacking = [] if _has_source(session, "delta") else ["its jars"]
    if not lacking and not spark_version.on_databricks():
        lacking = [key for key in DELTA_CONF if session.conf.get(key, "builtin") in ("", "builtin")]
    if lacking:
        raise UserError(
            f"the Spark session that was given lacks Delta Lake ({', '.join(lacking)}); start its application with: "
            + spark_version.submit_arguments(session.version, DELTA_CONF)
        )


def _has_source(session: SparkSession, name: str) -> bool:
    jvm = session._jvm  # noqa: SLF001 - PySpark has no list of data sources
    assert jvm is not None
    conf = session._jsparkSession.sessionState().conf()  # noqa: SLF001
    try:
        jvm.org.apache.spark.sql.execution.datasources.DataSource.lookupDataSource(name, conf)
    except (Py4JJavaError, PySparkException):
        return False
    return True


def without_empty_batches(spark: SparkSession, settings: Settings) -> SparkSession:
    """Return a session of the same application in which a stateful query runs no batch without input.

    By default a query with timers in processing time runs a batch at every trigger. Here its timers fire with the next
    input, which ``pipeline.tell`` provides when there is no other; without the pipeline's checks nothing would.
    """
    if not settings.stream.pipeline_interval_ms:
        return spark
    if spark_version.by_connect():
        session: SparkSession = spark_version.clone(spark)
        _note_connected(session)
    else:
        session = spark.newSession()
    conf = {**_session_conf(settings), "spark.sql.streaming.noDataMicroBatches.enabled": "false"}
    _configure(session, {**conf, **settings.stream.extra})
    return session


def _configure(session: SparkSession, conf: Mapping[str, str]) -> set[str]:
    """Set what may be set on a session, and return the keys that only the application's configuration may have."""
    return {key for key, value in conf.items() if not _is_set(session, key, value)}


def _is_set(session: SparkSession, key: str, value: str) -> bool:
    try:
        session.conf.set(key, value)
    except PySparkException:
        return False
    return True


def _session_conf(settings: Settings) -> dict[str, str]:
    return {**SESSION_CONF, "spark.sql.shuffle.partitions": str(settings.stream.shuffle_partitions)}


def _local_conf(settings: Settings, *, is_small: bool, records_classes: bool) -> dict[str, str]:
    """Return the configuration of a session that this process starts itself."""
    release = spark_version.release(pyspark.__version__)
    jars = [*spark_jars(settings.home_path), log_store.JAR]
    archive = class_archive.java_options(jars, records=records_classes)
    options = (
        *_JAVA_OPTIONS,
        native_memory.java_options(),
        archive,
        small_fleet.JAVA_OPTIONS if is_small else "",
        settings.stream.driver_java_options,
    )
    return {
        "spark.driver.extraClassPath": os.pathsep.join(map(str, jars)),
        "spark.driver.memory": settings.stream.driver_memory,
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.extraJavaOptions": " ".join(options),
        # By default a Python worker has 15 s to answer its JVM, which is too little when all start at once on a busy
        # machine.
        "spark.python.authenticate.socketTimeout": "60s",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        # Nothing is stored in it, but Spark creates it: next to the tables it does no harm.
        "spark.sql.warehouse.dir": f"{settings.tables_path.rstrip('/')}/.warehouse",
        **_LOCAL_FILES,
        **_SHORT_MEMORY,
        **(_LOCAL_TRUST if _is_local(settings.stream.master) else {}),
        **worker_conf(settings.stream.master),
        **(small_fleet.FEW_WORKERS if is_small else {}),
        **({} if "://" in settings.checkpoints.path else {_CHECKPOINT_MANAGER: release.checkpoint_manager}),
    }


def worker_conf(master: str | None) -> dict[str, str]:
    """Return what lets the Python workers of this process share their modules.

    Executors on other machines may receive this package only with their first task, when their daemon already runs.
    """
    if not _is_local(master):
        return {}
    return {
        "spark.python.daemon.module": "logdirwatch.jobs.worker_daemon",
        # Spark starts another daemon for workers with another environment, and this setting is in the environment of
        # all workers but those of queries with state.
        "spark.sql.execution.pyspark.udf.simplifiedTraceback.enabled": "false",
    }


def _is_local(master: str | None) -> bool:
    """Tell whether the executors are in the driver's own JVM."""
    return master is not None and master.startswith("local")


def _write_no_checksum_files(session: SparkSession) -> None:
    """Stop Hadoop from writing a file with the checksum beside each file on a local disk, half of a stream's files.

    State has checksums of its own, and ``checkpoint.repair`` looks for incomplete files. Checksum files that are there
    are still compared.
    """
    jvm, context = session._jvm, session.sparkContext._jsc  # noqa: SLF001 - PySpark has no access to Hadoop
    assert jvm is not None
    jvm.org.apache.hadoop.fs.FileSystem.getLocal(context.hadoopConfiguration()).setWriteChecksum(False)


def end_session(spark: SparkSession) -> None:
    """Stop the application that this process started, and wait for the end of its JVM, so that nothing keeps running.

    A JVM that takes longer than its limit is killed. An application that was there before is never stopped; the
    session that was active in it is active again.
    """
    if spark_version.by_connect():
        while _connected:
            _connected.pop(0).stop()
        return
    if (given := _given.pop(spark, None)) is not None:
        given.createDataFrame([], "nothing int")  # PySpark makes a session active with it, and has no other way
    if spark.sparkContext.applicationId not in _started:
        return
    silence(spark)
    jvm = _own_jvm()
    if jvm is None:
        spark.stop()
        return
    limit_s = RECORDING_LIMIT_S if class_archive.is_recording() else END_LIMIT_S
    overdue = threading.Timer(limit_s, jvm.kill)
    overdue.start()
    with suppress(Py4JError, ConnectionError):  # the JVM is gone already
        spark.stop()
    jvm.stdin.close()
    code = jvm.wait()
    overdue.cancel()
    if code:
        meaning = "Spark's JVM was killed; no query ran in it any more"
        log.warning("session.end_overdue", limit_s=limit_s, meaning=meaning)
    class_archive.keep(is_whole=code == 0)


def silence(spark: SparkSession) -> None:
    """Stop the logging of a JVM that this process started: Spark logs errors about work interrupted by the shutdown."""
    if not spark_version.by_connect() and spark.sparkContext.applicationId in _started and _own_jvm() is not None:
        spark.sparkContext.setLogLevel("OFF")


def _own_jvm() -> Any:
    return getattr(SparkContext._gateway, "proc", None)  # noqa: SLF001 - PySpark has no public method for it
