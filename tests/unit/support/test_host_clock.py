"""The clock that tests set is that of the processes under it, and of no other."""

import subprocess
import sys
import time

import pytest

from tests.support.host_clock import HostClock

TELL = "import sys, time\nfor _ in sys.stdin: print(time.time(), time.monotonic(), flush=True)"


@pytest.fixture
def host(tmp_path):
    clock = HostClock(tmp_path)
    with subprocess.Popen(
        [*clock.under, sys.executable, "-c", TELL], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:

        def read():
            """How far the process's wall clock and monotonic clock are ahead of ours."""
            process.stdin.write("\n")
            process.stdin.flush()
            wall_s, monotonic_s = map(float, process.stdout.readline().split())
            return wall_s - time.time(), monotonic_s - time.monotonic()

        yield clock, read
        process.stdin.close()


@pytest.mark.parametrize("seconds", [3_600, -3_600, 0])
def test_a_step_moves_the_wall_clock_and_not_the_monotonic_clock(host, seconds):
    clock, read = host
    before_s, _ = read()
    clock.set_ahead(seconds)
    wall_s, monotonic_s = read()
    assert before_s == pytest.approx(0, abs=60)
    assert wall_s == pytest.approx(seconds, abs=60)
    assert monotonic_s == pytest.approx(0, abs=60)
