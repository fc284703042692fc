"""A checkpoint in another folder than it was written in: restored from a backup, or on a new volume.

For each state store Spark records the absolute path of its state schema, and reads it there. Everything else in a
checkpoint is found relative to the checkpoint.
"""

import structlog
from pyspark.sql import SparkSession

from logdirwatch.jobs.checkpoint.folder import Folder, content, notes

log = structlog.get_logger(__name__)


def follow(spark: SparkSession, checkpoint: str) -> None:
    """Update the paths in a query's state metadata to the present folder of its checkpoint."""
    here = Folder(spark, checkpoint).uri
    for operator in Folder(spark, f"{checkpoint}/state").names():
        folder, names = notes(spark, checkpoint, operator)
        for name in names:
            text = folder.read(name)
            if (corrected := told_of(text, here)) != text:
                folder.write(name, corrected)
                log.warning("checkpoint.moved", checkpoint=checkpoint, meaning="its state is read from the new place")


def told_of(text: str, here: str) -> str:
    """Return the metadata of a state operator with the paths of a checkpoint at ``here``."""
    stores = content(text)["stateStoreInfo"]
    written = {path.rpartition("/state/")[0] for store in stores for path in store.get("stateSchemaFilePaths", ())}
    for there in written:
        text = text.replace(f'"{there}/state/', f'"{here}/state/')
    return text
