"""Spark's metadata of the stateful operators in a query's checkpoint: a line with a version, then JSON."""

import json
from typing import Any

from pyspark.sql import SparkSession

from logdirwatch.jobs.checkpoint.folder import Folder


def notes(spark: SparkSession, checkpoint: str, operator: str) -> tuple[Folder, list[str]]:
    """Return the folder of an operator's metadata and the names of its files, the oldest first."""
    folder = Folder(spark, f"{checkpoint}/state/{operator}/_metadata/v2")
    return folder, sorted(filter(str.isdecimal, folder.names()), key=int)


def content(note: str) -> Any:
    """Return the content of a metadata file."""
    return json.loads(note.split("\n", 1)[1])
