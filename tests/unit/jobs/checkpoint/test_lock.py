"""One process for each query of a checkpoint, however the last one ended."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from logdirwatch.errors import UserError
from logdirwatch.jobs.checkpoint import lock
from logdirwatch.jobs.checkpoint.lock import locked
from tests.support.waiting import DEADLINE_S

HOLD = """
import sys, time
from logdirwatch.jobs.checkpoint.lock import locked
with locked(sys.argv[1], ["detect"]):
    print("held", flush=True)
    time.sleep(3_600)
"""


def test_a_second_stream_is_refused_until_the_first_is_killed(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", HOLD, str(tmp_path)], stdout=subprocess.PIPE) as first:
        try:
            assert first.stdout is not None
            assert first.stdout.readline() == b"held\n"
            with pytest.raises(UserError, match=f"process {first.pid} of .* runs the query detect"):
                _hold(f"file:{tmp_path}", "fleet", "detect")
            with pytest.raises(UserError, match=f"process {first.pid} of .* runs the query detect"):
                _hold(f"file://{tmp_path}", "detect")
            _hold(str(tmp_path), "store")
        finally:
            first.send_signal(signal.SIGKILL)
    _hold(str(tmp_path), "detect", wait_s=30)


def test_a_stream_that_is_stopped_is_waited_for(tmp_path, monkeypatch):
    with subprocess.Popen([sys.executable, "-c", HOLD, str(tmp_path)], stdout=subprocess.PIPE) as first:
        assert first.stdout is not None
        assert first.stdout.readline() == b"held\n"
        monkeypatch.setattr(lock.time, "sleep", lambda _: (first.kill(), first.wait()))
        _hold(str(tmp_path), "detect", wait_s=DEADLINE_S)


def test_a_folder_that_cannot_be_locked_stops_no_stream(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    _hold(str(tmp_path / "file"), "detect")
    _hold("s3a://bucket/checkpoints", "detect")


def _hold(checkpoints: str, *names: str, wait_s: float = 0) -> None:
    with locked(checkpoints, names, wait_s):
        pass
