"""Checkpoints from which no query can go on: they are set aside, and the query starts as without one.

Spark opens one with a state format that this release does not read: it silently drops unknown state variables, the
others begin empty, and everything that fires would be alerted again with another id.

With other checkpoints a query fails again and again: state that Spark cannot read, and offsets that are gone.

Only ``detect`` and ``fleet`` keep state, and both start without a checkpoint from what they wrote on the topics. So a
checkpoint whose state cannot be read is set aside after a few failures in succession: nothing is lost, and nothing that
fires is told twice. One failure may have another reason, such as a store that does not answer.

``fast_lane`` keeps offsets only. Spark's real-time mode does not pass over offsets that the topics no longer have, as
micro-batches do with ``failOnDataLoss=false``: the query fails with each start until its checkpoint is set aside.
"""

import json
import re
from collections.abc import Collection

import structlog
from pyspark.sql import SparkSession

from logdirwatch.jobs.checkpoint.folder import Folder, content, notes
from logdirwatch.spark_version import opens_files

log = structlog.get_logger(__name__)

OWN = "$"
"""The prefix of Spark's own variables."""


def set_aside(spark: SparkSession, checkpoint: str, variables: Collection[str], now_ms: int) -> None:
    """Rename a query's checkpoint, where its files can be opened, if its state has other variables."""
    if not opens_files():
        return
    folder, names = notes(spark, checkpoint, "0")
    if not names or variables_of(folder.read(names[-1])) <= set(variables):
        return
    rename(spark, checkpoint, now_ms, "the state format of an older release")


def rename(spark: SparkSession, checkpoint: str, now_ms: int, reason: str) -> None:
    """Set a checkpoint aside, so that its query starts as without one; where no file can be opened, a person has to."""
    if not opens_files():
        meaning = "delete this folder: the query then starts as without a checkpoint"
        log.error("checkpoint.unusable", checkpoint=checkpoint, reason=reason, meaning=meaning)
        return
    aside = f"{checkpoint}.{now_ms}"
    Folder(spark, checkpoint).rename(aside)
    log.warning("checkpoint.set_aside", checkpoint=checkpoint, now=aside, reason=reason)


def variables_of(metadata: str) -> set[str]:
    """Return the names of the state variables in a state operator's metadata."""
    properties = json.loads(content(metadata)["operatorPropertiesJson"])
    return {name for one in properties["stateVariables"] if not (name := one["stateName"]).startswith(OWN)}


FAILURES = 3
"""After so many failures in succession a checkpoint is set aside."""
_SIGNS = re.compile("CANNOT_LOAD_STATE_STORE|CANNOT_READ_STREAMING_STATE|StateSchema|OperatorStateMetadata")
"""Spark's error classes, and the classes that read the metadata of state, whose errors have none."""
_FILE = re.compile(r"(?:file:)?/[^\s'\"(),\]]*/state/[^\s'\"(),\]]+")


def reason(error: BaseException | None) -> str | None:
    """Return what cannot be read if a query failed because of its state, None if it failed for another reason."""
    text = "\n".join(_texts(error))
    if _SIGNS.search(text) is None:
        return None
    file = _FILE.search(text)
    return f"its state cannot be read{'' if file is None else f', of {file.group()}'}"


def gone(error: BaseException | None) -> str | None:
    """Return what is gone if a query failed because the topics no longer have its offsets, None otherwise."""
    is_gone = any("OffsetOutOfRangeException" in text for text in _texts(error))
    return "the topics no longer have its offsets" if is_gone else None


def _texts(error: BaseException | None) -> list[str]:
    found = []
    while error is not None:
        found += [str(error), str(getattr(error, "_stackTrace", ""))]
        error = getattr(error, "_cause", None)
    return found
