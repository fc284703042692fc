"""The jar with Delta's log store: compiled from the source beside it, the same bytes every time (make log-store)."""

import os
import subprocess
import tempfile
import zipfile
from pathlib import Path

import pyspark

from logdirwatch.jars import spark_jars
from logdirwatch.store import log_store

SOURCE = log_store.JAR.with_name("PutIfAbsentLogStore.java")
HOME = Path(os.environ.get("LOGDIRWATCH_HOME", Path(__file__).parents[2] / ".logdirwatch"))
BEGIN = (1980, 1, 1, 0, 0, 0)


def build(jar):
    """Compile the source for Java 17, the oldest that Spark runs on, and write the jar."""
    shipped = (Path(pyspark.__file__).parent / "jars").glob("*.jar")
    path = os.pathsep.join(map(str, (*shipped, *spark_jars(HOME))))
    with tempfile.TemporaryDirectory() as folder:
        options = ("--release", "17", "-g:none", "-proc:none", "-Werror", "-Xlint:all,-path", "-d", folder)
        subprocess.run(["javac", *options, "-cp", path, SOURCE], check=True)
        with zipfile.ZipFile(jar, "w", zipfile.ZIP_DEFLATED) as archive:
            for found in sorted(Path(folder).rglob("*.class")):
                archive.writestr(zipfile.ZipInfo(str(found.relative_to(folder)), BEGIN), found.read_bytes())
    return jar


if __name__ == "__main__":
    build(log_store.JAR)
