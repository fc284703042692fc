"""A checkpoint that lies in another folder than it was written in: restored from a backup, or on a new volume.

Of each state store Spark notes as a whole path where the schema of its state lies, and reads it there. All else in a
checkpoint is found by where the checkpoint lies.
"""

import structlog
from pyspark.sql import SparkSession

from logdirwatch.jobs.checkpoint.folder import Folder
from logdirwatch.jobs.checkpoint.state_notes import content, notes

log = structlog.get_logger(__name__)


def follow(spark: SparkSession, checkpoint: str) -> None:
    """Let the state of a query tell of the folder that its checkpoint lies in now."""
    here = Folder(spark, checkpoint).uri
    for operator in Folder(spark, f"{checkpoint}/state").names():
        folder, names = notes(spark, checkpoint, operator)
        for name in names:
            text = folder.read(name)
            if (mended := told_of(text, here)) != text:
                folder.write(name, mended)
                log.warning("checkpoint.moved", checkpoint=checkpoint, meaning="its state is read where it lies now")


def told_of(text: str, here: str) -> str:
    """Return the metadata of a state operator with the paths of a checkpoint that lies ``here``."""
    stores = content(text)["stateStoreInfo"]
    written = {path.rpartition("/state/")[0] for store in stores for path in store.get("stateSchemaFilePaths", ())}
    for there in written:
        text = text.replace(f'"{there}/state/', f'"{here}/state/')
    return text
