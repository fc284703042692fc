"""What a checkpoint needs before its query can start: files that a power failure left incomplete, and paths.

Spark syncs neither its offsets nor its commits. It reads the newest commit and the two newest offsets first, since a
batch begins where the one before ended: with an incomplete file a query fails at every start. A batch that runs again
writes the same bytes, and state is kept by version; so the last batches are rolled back, and nothing is lost. If none
is left, Spark reads where the first one was to begin (``sources``), which is then resolved again if it is torn.

The file ``metadata`` of a checkpoint has only the id of the query, which nothing of ours uses, but Spark starts no
query without it: a torn one is replaced.

Each run writes the metadata of its state with its first batch. An older file has the same content, so a torn one is
removed. If it was the only one, Spark cannot read the state, and the query starts as without a checkpoint.

A file that cannot be read, because access is denied or the disk fails, is not torn: nothing is removed.

A checkpoint may be in another folder than it was written in: restored from a backup, or on a new volume. For each state
store Spark records the absolute path of its state schema, and reads it there. Everything else in a checkpoint is found
relative to the checkpoint.
"""

import json
import uuid

import structlog
from pyspark.sql import SparkSession

from logdirwatch.jobs.checkpoint import unusable
from logdirwatch.jobs.checkpoint.folder import Folder, TornError, content, notes

log = structlog.get_logger(__name__)

_EMPTY = "-"
"""Spark's text for a source without an offset."""

LINES = {"offsets": 2, "commits": 1, "notes": 1, "sources": 1}
"""The minimum number of JSON lines of a file: batch metadata and an offset per source; the others have one."""


_ID = "metadata"


def is_whole(kind: str, text: str) -> bool:
    """Tell whether a file of ``kind`` is complete: a version, then lines of JSON; that of the id is one object."""
    if kind == "id":
        return _is_object(text)
    # Spark's Kafka source begins its file with a null byte (KafkaSourceInitialOffsetWriter).
    version, *lines = text.lstrip("\0").splitlines() or [""]
    is_known = version[:1] == "v" and version[1:].isdecimal()
    return is_known and len(lines) >= LINES[kind] and all(map(_is_json, lines))


def _is_json(line: str) -> bool:
    try:
        json.loads(line)
    except ValueError:
        return line == _EMPTY
    return True


def _is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except ValueError:
        return False


def take_back(spark: SparkSession, checkpoint: str, now_ms: int) -> None:
    """Remove torn files of a query's checkpoint, or set the checkpoint aside if they cannot be replaced.

    Raises Py4JJavaError if a file cannot be read, and UserError if one cannot be removed.
    """
    _take_back_id(spark, checkpoint)
    _take_back_batch(spark, checkpoint)
    for operator in Folder(spark, f"{checkpoint}/state").names():
        folder, names = notes(spark, checkpoint, operator)
        torn = [name for name in names if not _reads_whole("notes", folder, name)]
        if torn and torn == names:
            unusable.rename(spark, checkpoint, now_ms, "its only state metadata file is torn")
            return
        for name in torn:
            folder.remove(name)
            log.warning("checkpoint.torn", checkpoint=checkpoint, batch=name, meaning="an older offset file is used")


def _take_back_id(spark: SparkSession, checkpoint: str) -> None:
    folder = Folder(spark, checkpoint)
    if _ID in folder.names() and not _reads_whole("id", folder, _ID):
        folder.write(_ID, json.dumps({"id": str(uuid.uuid4())}))
        log.warning("checkpoint.torn", checkpoint=checkpoint, file=_ID, meaning="the query gets another id")


def _take_back_batch(spark: SparkSession, checkpoint: str) -> None:
    """Remove the offsets and commits of the two newest batches from a torn one on, so that these batches run again."""
    offsets, commits = (Folder(spark, f"{checkpoint}/{kind}") for kind in ("offsets", "commits"))
    newest = _newest(2, offsets)
    torn = [name for name in newest if not _reads_whole("offsets", offsets, name)]
    for planned in newest[: newest.index(torn[-1]) + 1] if torn else ():
        commits.remove(planned)
        offsets.remove(planned)
        log.warning("checkpoint.torn", checkpoint=checkpoint, batch=planned, meaning="the batch is planned again")
    for ended in _newest(1, commits):
        if not _reads_whole("commits", commits, ended):
            commits.remove(ended)
            log.warning("checkpoint.torn", checkpoint=checkpoint, batch=ended, meaning="its commit is written again")
    if not _newest(1, offsets):
        _take_back_begin(spark, checkpoint)


def _take_back_begin(spark: SparkSession, checkpoint: str) -> None:
    """Remove where the first batch was to begin if that cannot be read."""
    for source in Folder(spark, f"{checkpoint}/sources").names():
        begin = Folder(spark, f"{checkpoint}/sources/{source}")
        for name in _newest(1, begin):
            if not _reads_whole("sources", begin, name):
                begin.remove(name)
                meaning = "where the query begins is resolved again"
                log.warning("checkpoint.torn", checkpoint=checkpoint, source=source, meaning=meaning)


def _newest(count: int, files: Folder) -> list[str]:
    """Return the names of the newest batches of a folder, the newest first."""
    return sorted(filter(str.isdecimal, files.names()), key=int, reverse=True)[:count]


def _reads_whole(kind: str, files: Folder, name: str) -> bool:
    try:
        return is_whole(kind, files.read(name))
    except TornError:
        return False


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
