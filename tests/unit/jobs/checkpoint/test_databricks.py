"""On Databricks only Spark's commands reach a checkpoint; others fail as reported there."""

import inspect
from types import SimpleNamespace

import pytest
import structlog
from py4j.protocol import Py4JError
from pyspark.errors import AnalysisException

from logdirwatch.errors import UserError
from logdirwatch.jobs import application, streams
from logdirwatch.jobs.checkpoint import folder, unusable
from logdirwatch.jobs.queries import start_state
from logdirwatch.jobs.supervision.supervised import Supervised
from logdirwatch.settings import Settings

SETTINGS = Settings(checkpoints={"path": "s3://bucket/checkpoints"})
STATE = "[CANNOT_LOAD_STATE_STORE.UNCATEGORIZED] An error occurred during loading state.  SQLSTATE: 58030"
OFFSETS = "s3://bucket/checkpoints/detect/offsets"


class Refusing:
    """A session whose JVM has no credentials; ``files`` are what Spark's own command lists, by folder."""

    def __init__(self, files=()):
        self._files = dict(files)
        self.read = self

    @property
    def _jvm(self):
        raise Py4JError("org.apache.spark.SparkException: Missing Credential Scope. Current env: Driver")

    _jsparkSession = _jvm  # noqa: N815 - PySpark's name

    def format(self, name):
        assert name == "binaryFile"
        return self

    def load(self, path):
        if path not in self._files:
            raise AnalysisException("[PATH_NOT_FOUND] Path does not exist")
        return SimpleNamespace(
            select=lambda _: SimpleNamespace(collect=lambda: [{"ms": ms} for ms in self._files[path]])
        )


@pytest.fixture(autouse=True)
def databricks(monkeypatch):
    monkeypatch.setenv("DATABRICKS_RUNTIME_VERSION", "19.0")
    monkeypatch.setattr(folder, "F", SimpleNamespace(unix_millis=lambda _: SimpleNamespace(alias=lambda _: None)))


@pytest.mark.parametrize("files", [{}, {OFFSETS: [1, 2]}])
def test_a_query_starts_where_the_jvm_reaches_no_file(files):
    spark, started = Refusing(files), []
    with pytest.raises(Py4JError):
        folder.Folder(spark, OFFSETS)
    application._sound("detect", lambda session, settings: started.append((session, settings)))(spark, SETTINGS)
    assert started == [(spark, SETTINGS)]
    unusable.set_aside(spark, "s3://bucket/checkpoints/detect", ("memories",), 1)
    assert start_state.has_checkpoint(spark, SETTINGS, "detect") == bool(files)


def test_when_a_batch_ended_last_is_listed_by_spark():
    commits = {f"s3://bucket/checkpoints/{name}/commits": [at_ms, 5] for name, at_ms in (("store", 3), ("fleet", 9))}
    assert streams.last_commit_ms(Refusing(commits), SETTINGS, ["detect", "fleet", "store"]) == 9
    assert streams.last_commit_ms(Refusing(), SETTINGS, ["detect"]) is None


def test_a_checkpoint_that_cannot_be_used_is_one_line_that_says_what_to_delete():
    supervised = Supervised("detect", None, failures=unusable.FAILURES)
    with structlog.testing.capture_logs() as logged:
        application._set_aside_damaged(Refusing(), SETTINGS, supervised, UserError(STATE))
    (line,) = logged
    assert (line["event"], line["checkpoint"]) == ("checkpoint.unusable", "s3://bucket/checkpoints/detect")
    assert line["reason"] == "its state cannot be read"
    # Counted from zero, so that the line does not come with every start of the query.
    assert supervised.failures == 0


def test_nothing_else_looks_at_checkpoints_by_hand():
    """Another use of ``Folder`` at the start of a query would fail on Databricks."""
    used = {module for module in (application, streams) if "Folder" in vars(module)}
    assert not used
    assert inspect.getsource(start_state).count("Folder(") == 1, "that of a table by path"
