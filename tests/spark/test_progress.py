"""The runner with a real Spark: a clock that is set back, an executor that is gone, a driver that is killed."""

import os
import signal
import subprocess
import sys
from contextlib import contextmanager

import psutil
import pytest
import yaml

from logdirwatch.observe.watchdog import EXIT_CODE
from tests.kafka.conftest import JARS_HOME
from tests.support.host_clock import HostClock
from tests.support.waiting import DEADLINE_S, wait_until

STREAM = """
import sys
import threading
from pathlib import Path
from types import MappingProxyType
from logdirwatch.jobs import runner as runner_module
from logdirwatch.jobs.runner import Runner
from logdirwatch.jobs.session import build_session, end_session
from logdirwatch.jobs.streams import every, start_query
from logdirwatch.observe import progress
from logdirwatch.settings import load

folder, longest_s = Path(sys.argv[1]), float(sys.argv[2])
progress.LONGEST_SILENCE_S = MappingProxyType({**progress.LONGEST_SILENCE_S, "detect": longest_s})
runner_module.JUDGE_S = 1.0

def handed_on(frames):
    yield from frames

def kept(rows, batch_id):
    for row in rows.mapInPandas(handed_on, "value string").collect():
        folder.joinpath("out", row.value).touch()

def start(spark, settings):
    rows = spark.readStream.text(str(folder / "in"))
    return start_query(rows.writeStream.foreachBatch(kept), settings, "detect", every("500 milliseconds"))

def lose_executor():
    sys.stdin.readline()
    # Only now: before it, the first batch may take long on a busy machine.
    runner.supervised[0].silence.longest_s = 3.0
    spark._jsc.sc().schedulerBackend().stop()

settings = load(folder / "logdirwatch.yaml")
spark = build_session(settings)
runner = Runner(spark, settings, {"detect": start}, frozenset({"detect"}))
runner.stop_on_signals()
threading.Thread(target=lose_executor, daemon=True).start()
runner.run()
end_session(spark)
"""


class Stream:
    """A process with a query that marks each line of its input as seen."""

    def __init__(self, folder):
        self.folder, self.fed = folder, 0
        for name in ("in", "out"):
            (folder / name).mkdir()
        content = {
            "telemetry": {"bootstrap_servers": "127.0.0.1:1"},
            "stream": {"master": "local[2]", "driver_memory": "1g", "stop_timeout_ms": 100},
            "checkpoints": {"path": str(folder / "checkpoints")},
            "tables": {"path": str(folder / "tables")},
            "home": str(JARS_HOME),
        }
        (folder / "logdirwatch.yaml").write_text(yaml.safe_dump(content))

    @contextmanager
    def running(self, *, under=()):
        with (self.folder / "log").open("ab") as log:
            command = [*under, sys.executable, "-c", STREAM, str(self.folder), str(DEADLINE_S)]
            self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=log, stderr=log)
        try:
            yield self
        finally:
            self.process.kill()
            self.process.communicate()

    def log(self):
        return (self.folder / "log").read_text()

    def feed(self):
        """Give it a line, and return once that was seen."""
        self.add()
        last = str(self.fed)
        wait_until((self.folder / "out" / last).exists, DEADLINE_S, lambda: f"line {last}; {self.log()}")

    def add(self):
        self.fed += 1
        written = self.folder / f"{self.fed}.txt"
        written.write_text(str(self.fed))
        written.rename(self.folder / "in" / written.name)


@pytest.fixture
def stream(tmp_path):
    return Stream(tmp_path)


def test_batches_go_on_when_the_clock_of_the_host_is_set_back_and_forward(stream, tmp_path):
    clock = HostClock(tmp_path / "clock")
    with stream.running(under=clock.under):
        stream.feed()
        stream.feed()
        clock.set_ahead(-3_600)
        stream.feed()
        stream.feed()
        assert stream.log().count("stream.clock_set_back") == 1
        # Forward and right again, maybe before anybody looks at the clock.
        clock.set_ahead(7_200)
        stream.feed()
        clock.set_ahead(0)
        stream.feed()
        stream.process.send_signal(signal.SIGTERM)
        assert stream.process.wait(DEADLINE_S) == 0
    assert len(list((stream.folder / "out").iterdir())) == stream.fed


def test_the_process_ends_when_no_task_runs_any_more_and_the_next_one_goes_on(stream):
    with stream.running():
        stream.feed()
        stream.process.stdin.write(b"\n")
        stream.process.stdin.flush()
        wait_until(lambda: stream.add() or stream.process.poll() is not None, DEADLINE_S, stream.log, pause_s=1.0)
        assert stream.process.returncode == EXIT_CODE
        assert "stream.process_ends" in stream.log()
    with stream.running():
        stream.feed()
        assert len(list((stream.folder / "out").iterdir())) == stream.fed
        # Nothing that it started outlives a driver that is killed.
        children = psutil.Process(stream.process.pid).children(recursive=True)
        assert {"java", "python"} <= {child.name().rstrip("0123456789.") for child in children}
        os.kill(stream.process.pid, signal.SIGKILL)
        stream.process.wait(DEADLINE_S)
        _, alive = psutil.wait_procs(children, timeout=DEADLINE_S / 10)
        for child in alive:
            child.kill()
        assert alive == []
