"""How Spark's own commits exclude those of other processes: by the class of Delta's that writes its log entries.

``PutIfAbsentLogStore.java`` is the source of the jar beside it (``make log-store``). Delta's own classes exclude other
processes only on Azure Data Lake Storage, Google Cloud Storage and HDFS, and in S3 with a table of DynamoDB.
"""

from pathlib import Path
from typing import Any

from py4j.java_gateway import JavaClass
from py4j.protocol import Py4JError
from pyspark.sql import SparkSession

from logdirwatch.errors import UserError
from logdirwatch.store.storage.folder import scheme_of
from logdirwatch.store.storage.options import AZURE_SCHEMES, GOOGLE_SCHEMES, S3_SCHEMES

JAR = Path(__file__).with_name("put-if-absent-log-store.jar")
CLASS = "logdirwatch.PutIfAbsentLogStore"
CONF = {f"spark.delta.logStore.{scheme}.impl": CLASS for scheme in ("file", *sorted(S3_SCHEMES))}

OF_ALL = "spark.delta.logStore.class"
_DYNAMODB = "io.delta.storage.S3DynamoDBLogStore"


def is_open_source(spark: SparkSession) -> bool:
    """Tell whether Delta is the open source one; that of Databricks has other classes."""
    jvm: Any = spark._jvm  # noqa: SLF001 - PySpark has no other access to Delta's log
    return isinstance(jvm.org.apache.spark.sql.delta.DeltaLog, JavaClass)


def add_to_driver(jvm: Any) -> bool:
    """Add the jar to a driver that spark-submit has started, and return whether that was possible."""
    loader = jvm.java.lang.Thread.currentThread().getContextClassLoader()
    try:
        loader.addURL(jvm.java.io.File(str(JAR)).toURI().toURL())
    except Py4JError:
        return False
    return True


def shares_with_this_process(spark: SparkSession, url: str | None) -> bool:
    """Tell whether an entry that this process creates in a log is never replaced by one of Spark's.

    Without a URL: whether that is so anywhere.
    """
    if url is None or not is_open_source(spark):
        return is_open_source(spark)
    scheme = scheme_of(url)
    known = _class_of(spark, scheme)
    return known == CLASS or (known is None and scheme in AZURE_SCHEMES | GOOGLE_SCHEMES)


def require(spark: SparkSession, url: str) -> None:
    """Raise UserError if other processes may lose commits to tables there, and nobody would notice."""
    scheme = scheme_of(url)
    if f"spark.delta.logStore.{scheme}.impl" not in CONF or not is_open_source(spark):
        return
    if _class_of(spark, scheme) not in (CLASS, _DYNAMODB):
        raise UserError(
            f"the Spark application loses commits to tables at {scheme}: when another process writes them too; start "
            f"it with: --driver-class-path {JAR} --conf spark.delta.logStore.{scheme}.impl={CLASS} "
            "(docs/reliability.md#two-writers-of-one-table)"
        )


def _class_of(spark: SparkSession, scheme: str) -> str | None:
    """Return the configured class; None for Delta's default of the scheme."""
    conf = spark.sparkContext.getConf()
    known = conf.get(f"spark.delta.logStore.{scheme}.impl")
    return known if known is not None else conf.get(OF_ALL)
