"""Files of a checkpoint that a power cut left half written.

Spark syncs neither its offsets nor its commits, and reads the newest of each before it does anything else: with half a
file a query fails at every start. Whatever a batch wrote is written again byte for byte when it is done anew, and state
is kept by version; so the last batch is taken back, and nothing is lost.
"""

import json
from typing import Any

import structlog
from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

log = structlog.get_logger(__name__)

_EMPTY = "-"
"""What Spark writes for a source without an offset."""

LINES = {"offsets": 2, "commits": 1}
"""The lines of JSON that a file has at least: what holds for the batch, and an offset for every source."""


def is_whole(kind: str, text: str) -> bool:
    """Tell whether a file of ``kind`` is complete: a version, then lines of JSON."""
    version, *lines = text.splitlines() or [""]
    is_known = version[:1] == "v" and version[1:].isdecimal()
    return is_known and len(lines) >= LINES[kind] and all(map(_is_json, lines))


def _is_json(line: str) -> bool:
    try:
        json.loads(line)
    except ValueError:
        return line == _EMPTY
    return True


def take_back(spark: SparkSession, checkpoint: str) -> None:
    """Remove the newest offsets or commits of a query when they cannot be read, so that its last batch is done anew."""
    offsets, commits = (_Folder(spark, checkpoint, kind) for kind in ("offsets", "commits"))
    planned = offsets.newest()
    if planned is not None and not offsets.is_whole(planned):
        offsets.remove(planned)
        commits.remove(planned)
        log.warning("checkpoint.torn", checkpoint=checkpoint, batch=planned, meaning="the batch is planned anew")
    ended = commits.newest()
    if ended is not None and not commits.is_whole(ended):
        commits.remove(ended)
        log.warning("checkpoint.torn", checkpoint=checkpoint, batch=ended, meaning="its end is written anew")


class _Folder:
    """The batches of one folder, on whatever file system it lies."""

    def __init__(self, spark: SparkSession, checkpoint: str, kind: str) -> None:
        jvm = spark._jvm  # noqa: SLF001 - PySpark has no other way to a file system that is not local
        assert jvm is not None
        self._jvm, self._kind = jvm, kind
        self._path = jvm.org.apache.hadoop.fs.Path(f"{checkpoint}/{kind}")
        self._files = self._path.getFileSystem(spark._jsparkSession.sessionState().newHadoopConf())  # noqa: SLF001

    def newest(self) -> int | None:
        """Return the number of the newest batch, None when there is none."""
        if not self._files.exists(self._path):
            return None
        names = [file.getPath().getName() for file in self._files.listStatus(self._path)]
        return max((int(name) for name in names if name.isdecimal()), default=None)

    def is_whole(self, batch: int) -> bool:
        """Tell whether the file of a batch can be read."""
        try:
            stream = self._files.open(self._of(batch))
            try:
                return is_whole(self._kind, self._jvm.org.apache.commons.io.IOUtils.toString(stream, "UTF-8"))
            finally:
                stream.close()
        except Py4JJavaError:
            # Its checksum says so.
            return False

    def remove(self, batch: int) -> None:
        """Remove the file of a batch, if there is one."""
        self._files.delete(self._of(batch), False)

    def _of(self, batch: int) -> Any:
        return self._jvm.org.apache.hadoop.fs.Path(self._path, str(batch))
