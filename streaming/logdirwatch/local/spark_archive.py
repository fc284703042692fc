"""The archive of Spark's loaded classes (JEP 350): the first stream on a machine writes it, later ones use it."""

import hashlib
import shutil
from pathlib import Path

from logdirwatch import spark_version
from logdirwatch.local.jvm import find_java

_QUIET = "-Xlog:cds=off -Xlog:cds+dynamic=off"
_NAME = "spark-classes-{}.jsa"


def java_options(jars_home: Path, folder: Path) -> str:
    """Return the options of a driver that uses the archive or, if there is none yet, writes it to ``folder``.

    There are none where Spark is not installed: brokers need none.
    """
    if not spark_version.is_installed():
        return ""
    spark = spark_version.installed()
    _, version = find_java()
    key = "\n".join((version, spark, *spark_version.release(spark).connectors))
    name = _NAME.format(hashlib.sha256(key.encode()).hexdigest()[:12])
    kept = (jars_home / "jars").resolve() / name
    if kept.exists():
        return f"-XX:SharedArchiveFile={kept} {_QUIET}"
    return f"-XX:ArchiveClassesAtExit={folder / name} {_QUIET}"


def keep(folder: Path, jars_home: Path) -> None:
    """Keep the archive that a driver left in ``folder``; another driver may have been faster."""
    for written in folder.glob(_NAME.format("*")):
        kept = (jars_home / "jars").resolve() / written.name
        if kept.parent.is_dir() and not kept.exists():
            part = kept.with_suffix(f".{folder.parent.name}.part")
            shutil.copyfile(written, part)
            part.replace(kept)
