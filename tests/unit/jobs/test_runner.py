"""Queries are started again whatever they failed with, also when that was the start itself."""

import pytest
import structlog
from kafka.errors import KafkaTimeoutError
from pyspark.errors import AnalysisException

from logdirwatch.errors import UserError
from logdirwatch.jobs.runner import Runner
from logdirwatch.settings import Settings


class Query:
    """Stands where a running query is, which is between two batches."""

    isActive = True  # noqa: N815 - Spark's name
    status = {"isTriggerActive": False}  # noqa: RUF012
    is_stopped = False

    def stop(self):
        self.is_stopped = True


@pytest.mark.parametrize(
    "error",
    [AnalysisException("no table"), UserError("Kafka cannot be reached"), KafkaTimeoutError("no answer")],
    ids=lambda error: type(error).__name__,
)
def test_a_query_that_cannot_start_is_started_again_and_the_others_run(error):
    well, mended, asked = Query(), Query(), []

    def start(spark, settings):
        asked.append("start")
        if len(asked) == 1:
            raise error
        runner.stop_requested.set()
        return mended

    runner = Runner(None, Settings(), {"well": lambda spark, settings: well, "ill": start})
    with structlog.testing.capture_logs() as logged:
        runner.run()
    assert len(asked) == 2
    assert well.is_stopped
    assert mended.is_stopped
    (failed,) = (line for line in logged if line["event"] == "query.failed")
    assert (failed["query"], failed["error"]) == ("ill", str(error).splitlines()[0])
