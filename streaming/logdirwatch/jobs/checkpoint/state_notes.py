"""What Spark notes of the stateful operators of a query in its checkpoint: a line with a version, then JSON."""

import json
from typing import Any

from pyspark.sql import SparkSession

from logdirwatch.jobs.checkpoint.folder import Folder


def notes(spark: SparkSession, checkpoint: str, operator: str) -> tuple[Folder, list[str]]:
    """Return the folder of an operator's notes and the names of those in it, the oldest first."""
    folder = Folder(spark, f"{checkpoint}/state/{operator}/_metadata/v2")
    return folder, sorted(filter(str.isdecimal, folder.names()), key=int)


def content(note: str) -> Any:
    """Return what stands in a note."""
    return json.loads(note.split("\n", 1)[1])
