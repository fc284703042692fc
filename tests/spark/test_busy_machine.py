"""A machine on which Python starts too late for Spark: the query is started again until it is in time."""

import sys
import threading

import pytest
from structlog.testing import capture_logs

from logdirwatch.jobs import busy
from logdirwatch.jobs.runner import Runner
from tests.spark.test_fleet import Feed, state
from tests.support.waiting import DEADLINE_S, wait_until

# Spark waits ten seconds for the process that it asks what state a query has.
PYTHON = """#!/bin/sh
case "$*" in
  *transform_with_state_driver_worker*)
    if [ ! -e "{mark}" ]; then
      touch "{mark}"
      sleep 12
    fi ;;
esac
exec {python} "$@"
"""


@pytest.mark.long
def test_a_query_whose_python_starts_too_late_is_started_again_and_one_line_says_why(spark, tmp_path, monkeypatch):
    mark, python = tmp_path / "was-late", tmp_path / "python"
    python.write_text(PYTHON.format(mark=mark, python=sys.executable))
    python.chmod(0o755)
    monkeypatch.setattr(spark.sparkContext, "pythonExec", str(python))
    feed = Feed(spark, tmp_path)

    def start(*_):
        feed.start()
        return feed.query

    feed.send(state(1, leaderless=1), state(2))
    runner = Runner(spark, feed.settings, {"fleet": start})
    with capture_logs() as logged:
        thread = threading.Thread(target=runner.run)
        thread.start()
        wait_until(lambda: feed.written, DEADLINE_S, lambda: f"an alert; it said {logged}")
        runner.stop_requested.set()
        thread.join(DEADLINE_S)
    assert mark.exists()
    assert [line["error"] for line in logged if line["event"] == "query.failed"] == [busy.line()]
