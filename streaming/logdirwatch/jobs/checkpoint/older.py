"""A checkpoint whose state has a form that this release does not read.

Spark opens it all the same: state variables that it does not know are dropped without a word, the others begin empty,
and everything that fires would be told again under another identity. Such a folder is set aside, and the query starts
as without a checkpoint.
"""

import json
from collections.abc import Collection

import structlog
from pyspark.sql import SparkSession

from logdirwatch.jobs.checkpoint.folder import Folder
from logdirwatch.jobs.checkpoint.state_notes import content, notes

log = structlog.get_logger(__name__)

OWN = "$"
"""What the names of Spark's own variables begin with."""


def set_aside(spark: SparkSession, checkpoint: str, variables: Collection[str], now_ms: int) -> None:
    """Rename a query's checkpoint when its state has other variables than ``variables``."""
    folder, names = notes(spark, checkpoint, "0")
    if not names or variables_of(folder.read(names[-1])) <= set(variables):
        return
    rename(spark, checkpoint, now_ms, "an older release's form of state")


def rename(spark: SparkSession, checkpoint: str, now_ms: int, reason: str) -> None:
    """Put a checkpoint out of the way, so that its query starts as without one."""
    aside = f"{checkpoint}.{now_ms}"
    Folder(spark, checkpoint).rename(aside)
    log.warning("checkpoint.set_aside", checkpoint=checkpoint, now=aside, reason=reason)


def variables_of(metadata: str) -> set[str]:
    """Return the names of the state variables that a state operator's metadata tells of."""
    properties = json.loads(content(metadata)["operatorPropertiesJson"])
    return {name for one in properties["stateVariables"] if not (name := one["stateName"]).startswith(OWN)}
