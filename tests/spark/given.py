"""A Spark application that is not the product's own, whose session catalog is of a class that is not Delta's."""

import os
import subprocess
from pathlib import Path

import pyspark
from pyspark.sql import SparkSession

from logdirwatch.jars import spark_jars
from logdirwatch.jobs.session import DELTA_CONF
from logdirwatch.store import log_store
from logdirwatch_lab.config import INTERPRETED

CATALOG = "ForeignCatalog"
# A platform's class stands in for Delta's and does more; this one does the same under another name.
SOURCE = f"public class {CATALOG} extends org.apache.spark.sql.delta.catalog.DeltaCatalog {{}}"
OPTIONS = {
    **INTERPRETED,
    "spark.ui.enabled": "false",
    "spark.driver.memory": "1g",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.hadoop.fs.file.impl": "com.globalmentor.apache.hadoop.fs.BareLocalFileSystem",
    **log_store.CONF,
    "spark.sql.extensions": DELTA_CONF["spark.sql.extensions"],
    "spark.sql.catalog.spark_catalog": CATALOG,
    # What somebody chose for work of their own.
    "spark.sql.shuffle.partitions": "7",
    "spark.sql.session.timeZone": "Asia/Tokyo",
}


def foreign_session(home, folder, **options):
    """Start the application; its one session is active, as that of a notebook or a job is."""
    jars = spark_jars(Path(home))
    path = os.pathsep.join(map(str, (*jars, log_store.JAR, _compiled(jars, folder))))
    builder = SparkSession.builder.master("local[2]").appName("theirs").config("spark.driver.extraClassPath", path)
    for key, value in {**OPTIONS, "spark.sql.warehouse.dir": str(folder / "warehouse"), **options}.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


def snapshot(spark):
    """Return what a session and its application are configured with."""
    of_session = {row["key"]: row["value"] for row in spark.sql("SET").collect()}
    return of_session, dict(spark.sparkContext.getConf().getAll()), spark.sparkContext.applicationId


def catalog_class(spark):
    manager = spark._jsparkSession.sessionState().catalogManager()
    return manager.v2SessionCatalog().getClass().getName()


def _compiled(jars, folder):
    """Compile the catalog with the Java compiler that Spark brings; a Java runtime may have none."""
    (folder / f"{CATALOG}.java").write_text(SOURCE)
    shipped = Path(pyspark.__file__).parent / "jars" / "*"
    path = os.pathsep.join(map(str, (shipped, *jars)))
    compiler = "org.codehaus.commons.compiler.samples.CompilerDemo"
    # Compiler and compiled code have the same class path; it names each jar of Spark's by its own.
    every = os.pathsep.join(map(str, (*shipped.parent.glob("*.jar"), *jars)))
    command = ["java", "-cp", path, compiler, "-d", folder, "-classpath", every, folder / f"{CATALOG}.java"]
    subprocess.run(command, check=True)
    return folder
