"""A folder on any file system, through Spark's JVM: checkpoints and tables need not be local.

On Databricks the JVM has credentials for an external location within Spark's commands alone; others fail with "Missing
Credential Scope". Spark Connect has nothing but these commands. So there only :func:`modified_ms` looks at checkpoints,
by such a command, and nothing changes them: what :mod:`repair` is for does not happen in an object store, which writes
a file as a whole or not at all.
"""

import json
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the field's name for it

from logdirwatch.errors import UserError
from logdirwatch.spark_version import opens_files

_TORN = frozenset({"org.apache.hadoop.fs.ChecksumException", "java.io.EOFException"})


class TornError(Exception):
    """A file ends early, or its checksum does not match."""


class Folder:
    """The files of one folder; a missing folder has none."""

    def __init__(self, spark: SparkSession, path: str) -> None:
        jvm = spark._jvm  # noqa: SLF001 - PySpark has no other access to a remote file system
        assert jvm is not None
        self._jvm = jvm
        self._path = jvm.org.apache.hadoop.fs.Path(path)
        self._files = self._path.getFileSystem(spark._jsparkSession.sessionState().newHadoopConf())  # noqa: SLF001

    @property
    def uri(self) -> str:
        """Its path as Spark writes it."""
        return str(self._files.makeQualified(self._path).toString())

    def names(self) -> list[str]:
        """Return the names of all files."""
        return [file.getPath().getName() for file in self.listed()]

    def read(self, name: str) -> str:
        """Return the text of a file; raises TornError, and Py4JJavaError if it cannot be read."""
        try:
            return self._read(name)
        except Py4JJavaError as error:
            if error.java_exception.getClass().getName() in _TORN:
                raise TornError(name) from error
            raise

    def _read(self, name: str) -> str:
        stream = self._files.open(self._of(name))
        try:
            return str(self._jvm.org.apache.commons.io.IOUtils.toString(stream, "UTF-8"))
        finally:
            stream.close()

    def write(self, name: str, text: str) -> None:
        """Write a file, replacing an existing one."""
        stream = self._files.create(self._of(name), True)
        try:
            self._jvm.org.apache.commons.io.IOUtils.write(text, stream, "UTF-8")
        finally:
            stream.close()

    def remove(self, name: str) -> None:
        """Remove a file, if there is one; raises UserError if it stays."""
        if not self._files.delete(self._of(name), False) and self._files.exists(self._of(name)):
            raise UserError(
                f"{self.uri}/{name} is damaged and cannot be removed: check the permissions of its folder and whether "
                "its disk is read-only, then start again"
            )

    def rename(self, path: str) -> None:
        """Rename the folder itself."""
        if not self._files.rename(self._path, self._jvm.org.apache.hadoop.fs.Path(path)):
            raise UserError(f"{self.uri} cannot be renamed to {path}: check its permissions")

    def listed(self) -> list[Any]:
        """Return the status of each file."""
        return list(self._files.listStatus(self._path)) if self._files.exists(self._path) else []

    def _of(self, name: str) -> Any:
        return self._jvm.org.apache.hadoop.fs.Path(self._path, name)


def modified_ms(spark: SparkSession, path: str) -> list[int]:
    """Return when each file of a folder was last written; a missing folder has none."""
    if opens_files():
        return [file.getModificationTime() for file in Folder(spark, path).listed()]
    try:
        files = spark.read.format("binaryFile").load(path)
        return [row["ms"] for row in files.select(F.unix_millis("modificationTime").alias("ms")).collect()]
    except AnalysisException:  # there is no such folder
        return []


def notes(spark: SparkSession, checkpoint: str, operator: str) -> tuple[Folder, list[str]]:
    """Return the folder of an operator's metadata and the names of its files, the oldest first."""
    folder = Folder(spark, f"{checkpoint}/state/{operator}/_metadata/v2")
    return folder, sorted(filter(str.isdecimal, folder.names()), key=int)


def content(note: str) -> Any:
    """Return the content of a metadata file."""
    return json.loads(note.split("\n", 1)[1])
