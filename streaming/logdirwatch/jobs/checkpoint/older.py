"""A checkpoint with a state format that this release does not read.

Spark opens it anyway: it silently drops unknown state variables, the others begin empty, and everything that fires
would be alerted again with another id. Such a folder is set aside, and the query starts as without a checkpoint.
"""

import json
from collections.abc import Collection

import structlog
from pyspark.sql import SparkSession

from logdirwatch.jobs.checkpoint.folder import Folder, content, notes

log = structlog.get_logger(__name__)

OWN = "$"
"""The prefix of Spark's own variables."""


def set_aside(spark: SparkSession, checkpoint: str, variables: Collection[str], now_ms: int) -> None:
    """Rename a query's checkpoint if its state has other variables than ``variables``."""
    folder, names = notes(spark, checkpoint, "0")
    if not names or variables_of(folder.read(names[-1])) <= set(variables):
        return
    rename(spark, checkpoint, now_ms, "the state format of an older release")


def rename(spark: SparkSession, checkpoint: str, now_ms: int, reason: str) -> None:
    """Set a checkpoint aside, so that its query starts as without one."""
    aside = f"{checkpoint}.{now_ms}"
    Folder(spark, checkpoint).rename(aside)
    log.warning("checkpoint.set_aside", checkpoint=checkpoint, now=aside, reason=reason)


def variables_of(metadata: str) -> set[str]:
    """Return the names of the state variables in a state operator's metadata."""
    properties = json.loads(content(metadata)["operatorPropertiesJson"])
    return {name for one in properties["stateVariables"] if not (name := one["stateName"]).startswith(OWN)}
