"""Delta's own store of log entries, through the JVM of a Spark session."""

from collections.abc import Sequence
from typing import Any

from py4j.java_gateway import JavaClass
from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

_ALREADY_EXISTS = "FileAlreadyExistsException"


def is_open_source(spark: SparkSession) -> bool:
    """Tell whether Delta is the open source one; that of Databricks has other classes."""
    jvm: Any = spark._jvm  # noqa: SLF001 - PySpark has no other access to Delta's log
    return isinstance(jvm.org.apache.spark.sql.delta.DeltaLog, JavaClass)


def write(spark: SparkSession, path: str, version: int, lines: Sequence[str]) -> bool:
    """Write the log entry of a version of a table unless there is one, and return whether it was written.

    Delta's store of the file system writes it, with the guarantees of any commit: one of several writers succeeds.
    """
    jvm: Any = spark._jvm  # noqa: SLF001
    delta, hadoop = jvm.org.apache.spark.sql.delta, jvm.org.apache.hadoop.fs
    # Delta keeps one log object per table, with which writers of one process exclude each other.
    log = delta.DeltaLog.forTable(spark._jsparkSession, path)  # noqa: SLF001
    conf, folder = log.newDeltaHadoopConf(), log.logPath()
    folder.getFileSystem(conf).mkdirs(folder)
    entry = jvm.java.util.ArrayList()
    for line in lines:
        entry.add(line)
    store = delta.storage.LogStoreInverseAdaptor(log.store(), conf)
    try:
        store.write(hadoop.Path(folder, file_name(version)), entry.iterator(), False, conf)
    except Py4JJavaError as error:
        if error.java_exception.getClass().getSimpleName() != _ALREADY_EXISTS:
            raise
        return False
    return True


def file_name(version: int) -> str:
    """Return the name of the file that has the log entry of a version.

    >>> file_name(7)
    '00000000000000000007.json'
    """
    return f"{version:020}.json"
