"""A machine on which Python starts too late for Spark, or imports PySpark too late."""

import os
import sys
import threading

import pytest
from structlog.testing import capture_logs

from logdirwatch.jobs import runner, worker_python
from logdirwatch.jobs.runner import Runner
from tests.spark.test_fleet import Feed, state
from tests.support.waiting import DEADLINE_S, wait_until

# Spark waits ten seconds for the process that it asks what state a query has.
LATE_S = 12
LATE_ONCE = """\
#!/bin/sh
case "$*" in
  *transform_with_state_driver_worker*)
    if [ ! -e "{mark}" ]; then
      touch "{mark}"
      sleep {late_s}
    fi ;;
esac
exec {python} "$@"
"""
# Python imports this module when it starts.
SLOW_IMPORT = """\
import sys
import time
from pathlib import Path

class Slow:
    def find_spec(self, name, path=None, target=None):
        if name == "pyspark":
            sys.meta_path.remove(self)
            time.sleep({late_s})
            Path("{mark}").touch()

sys.meta_path.insert(0, Slow())
"""
WITH_SLOW_IMPORT = """\
#!/bin/sh
case "$*" in
  *transform_with_state_driver_worker*) export PYTHONPATH="{folder}{separator}$PYTHONPATH" ;;
esac
exec {python} "$@"
"""


@pytest.fixture
def errors_of_fleet(spark, tmp_path, monkeypatch):
    """A function that runs ``fleet`` with a script for Python until it raises an alert, and returns its errors."""

    def run(script):
        python = tmp_path / "python"
        python.write_text(script)
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
        return [line["error"] for line in logged if line["event"] == "query.failed"]

    return run


@pytest.mark.long
def test_a_query_whose_python_starts_too_late_is_started_again_and_one_line_says_why(errors_of_fleet, tmp_path):
    mark = tmp_path / "was-late"
    assert errors_of_fleet(LATE_ONCE.format(mark=mark, late_s=LATE_S, python=sys.executable)) == [runner.line()]
    assert mark.exists()


@pytest.mark.long
def test_a_query_starts_at_the_first_try_however_long_the_import_of_pyspark_takes(errors_of_fleet, tmp_path):
    mark, folder, command = tmp_path / "was-late", tmp_path / "slow", tmp_path / "command"
    folder.mkdir()
    command.mkdir()
    (folder / "sitecustomize.py").write_text(SLOW_IMPORT.format(mark=mark, late_s=LATE_S))
    python = worker_python.written(command)
    assert python != sys.executable
    assert errors_of_fleet(WITH_SLOW_IMPORT.format(folder=folder, separator=os.pathsep, python=python)) == []
    assert mark.exists()
