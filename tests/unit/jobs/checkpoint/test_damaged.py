"""Which failures of a query mean that the state in its checkpoint cannot be read."""

from types import SimpleNamespace

import pytest
import structlog

from logdirwatch.errors import UserError
from logdirwatch.jobs import application
from logdirwatch.jobs.checkpoint import unusable
from logdirwatch.jobs.supervision.supervised import Supervised
from logdirwatch.settings import Settings

LOADING = "[CANNOT_LOAD_STATE_STORE.UNCATEGORIZED] An error occurred during loading state.  SQLSTATE: 58030"
GONE = (
    "[CANNOT_LOAD_STATE_STORE.CANNOT_READ_STREAMING_STATE_FILE] An error occurred during loading state. Error reading "
    "streaming state file of file:/data/checkpoints/detect/state/0/1/6.changelog does not exist. If the stream job is"
)


OUT_OF_RANGE = (
    "Job aborted due to stage failure: Task 2 in stage 0.0 failed 4 times, most recent failure: Lost task 2.3 in stage "
    "0.0 (TID 9) (192.0.2.2 executor driver): org.apache.kafka.clients.consumer.OffsetOutOfRangeException: Fetch"
)


def caused_by(text, cause, stack=""):
    error = UserError(text)
    error._cause = UserError(cause)
    error._cause._stackTrace = stack
    return error


@pytest.mark.parametrize(
    ("error", "found"),
    [
        (UserError(LOADING), "its state cannot be read"),
        (caused_by("[STREAM_FAILED] Query terminated with exception", LOADING), "its state cannot be read"),
        (UserError(GONE), "its state cannot be read, of file:/data/checkpoints/detect/state/0/1/6.changelog"),
        (
            caused_by("[STREAM_FAILED] Query terminated", "java.io.EOFException", "at x.StateSchemaChecker"),
            "its state cannot be read",
        ),
        (UserError("Kafka cannot be reached"), None),
        (caused_by("[STREAM_FAILED] Query terminated", "java.io.EOFException", "at java.net.Socket"), None),
        (None, None),
    ],
)
def test_what_spark_says_of_state_that_it_cannot_read(error, found):
    assert unusable.reason(error) == found


@pytest.mark.parametrize(
    ("name", "failures", "error", "is_set_aside"),
    [
        ("detect", unusable.FAILURES, GONE, True),
        ("fleet", unusable.FAILURES + 1, LOADING, True),
        ("detect", unusable.FAILURES - 1, GONE, False),
        ("store", unusable.FAILURES, GONE, False),
        ("detect", unusable.FAILURES, "Kafka cannot be reached", False),
        ("fast_lane", unusable.FAILURES, OUT_OF_RANGE, True),
        ("fast_lane", unusable.FAILURES - 1, OUT_OF_RANGE, False),
        ("fast_lane", unusable.FAILURES, GONE, False),
        ("fast_lane", unusable.FAILURES, "Kafka cannot be reached", False),
        ("detect", unusable.FAILURES, OUT_OF_RANGE, False),
        ("store", unusable.FAILURES, OUT_OF_RANGE, False),
    ],
)
def test_a_checkpoint_is_set_aside_when_its_query_fails_with_it_again_and_again(
    monkeypatch, name, failures, error, is_set_aside
):
    renamed = []
    monkeypatch.setattr(
        unusable, "Folder", lambda spark, path: SimpleNamespace(rename=lambda to: renamed.append((path, to)))
    )
    supervised = Supervised(name, None, failures=failures)
    with structlog.testing.capture_logs() as logged:
        application._set_aside_damaged(None, Settings(checkpoints={"path": "/data"}), supervised, UserError(error))
    assert bool(renamed) == is_set_aside
    assert supervised.failures == (0 if is_set_aside else failures)
    if is_set_aside:
        assert renamed[0][0] == f"/data/{name}"
        assert logged[0]["event"] == "checkpoint.set_aside"
        assert logged[0]["reason"].startswith(("its state cannot be read", "the topics no longer have its offsets"))
