"""Processes of ours are found, stopped and killed; a stranger's never."""

import os
import signal
import sys

import pytest

from logdirwatch.errors import UserError
from logdirwatch_lab import processes
from logdirwatch_lab.state import Process
from tests.support.waiting import wait_until


@pytest.fixture
def spawned(tmp_path):
    started = []

    def spawn(*command):
        started.append(processes.spawn(list(command), tmp_path / "output"))
        return started[-1]

    yield spawn
    processes.kill(started)


def test_a_process_lives_in_a_session_of_its_own_until_it_is_killed(spawned):
    process = spawned("sleep", "60")
    assert processes.find(process).pid == process.pid
    assert os.getsid(process.pid) == process.pid
    processes.kill([process, None])
    assert processes.find(process) is None
    processes.kill([process])


def test_a_process_that_ended_by_itself_is_not_found(spawned):
    process = spawned("true")
    wait_until(lambda: processes.find(process) is None, 10, "the process to end")


def test_a_stranger_with_the_same_pid_is_left_alone():
    stranger = Process(os.getpid(), 1.0)
    assert processes.find(stranger) is None
    processes.kill([stranger])
    assert processes.stop(stranger, 1.0)


def test_a_process_that_ignores_the_polite_signal_is_killed(spawned, tmp_path):
    stubborn = "import signal, time; signal.signal(15, signal.SIG_IGN); print('ready', flush=True); time.sleep(60)"
    process = spawned(sys.executable, "-c", stubborn)
    wait_until(lambda: processes.tail(tmp_path / "output") == "ready", 10, "the process to be ready")
    assert processes.stop(process, 0.3) is False
    assert processes.find(process) is None


def test_a_paused_process_can_be_stopped_politely(spawned):
    process = spawned("sleep", "60")
    processes.send(process, signal.SIGSTOP)
    wait_until(lambda: processes.is_paused(process), 10, "the process to be paused")
    assert processes.find(process)
    assert processes.stop(process, 10) is True
    assert not processes.is_paused(process)


def test_a_program_that_is_missing_is_named(tmp_path):
    with pytest.raises(UserError, match="no-such-program is not installed"):
        processes.spawn(["no-such-program"], tmp_path / "output")


def test_the_tail_of_a_file_is_its_last_lines(tmp_path):
    path = tmp_path / "log"
    path.write_bytes(b"one\ntwo\n\xff\n")
    assert processes.tail(path, 2) == "two\n\ufffd"
    assert processes.tail(tmp_path / "none") == ""
