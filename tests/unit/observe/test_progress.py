"""Each loop states its longest silence; a watchdog tells when it is exceeded, and ends the process when it lasts."""

import socket
import threading

import pytest
import structlog

from logdirwatch.observe import watchdog as watchdog_module
from logdirwatch.observe.progress import ENDS_AFTER, ILL_AFTER, Beat, declared_s, silence, stuck
from logdirwatch.observe.watchdog import LOOK_S, PAUSED_S, Watchdog, notify_systemd, watching
from tests.support.clocks import Clock
from tests.support.waiting import DEADLINE_S, wait_until


class World:
    """Loops under a watchdog that looks as often as it does in the service."""

    def __init__(self, *beats):
        self.clock, self.ended = Clock(), []
        self.beats = [Beat(name, self.clock, **fields) for name, fields in beats]
        self.dog = Watchdog(lambda: self.beats, lambda: self.ended.append(self.clock.now_s), self.clock)

    def passes(self, for_s, *beating):
        """Let time pass while some of the loops beat; return what is logged."""
        ends_s = self.clock.now_s + for_s
        with structlog.testing.capture_logs() as logged:
            while self.clock.now_s < ends_s and not self.ended:
                self.clock.now_s += LOOK_S
                for number in beating:
                    self.beats[number].beat()
                self.dog.look()
        return [(line["event"], line.get("loop", line.get("reason"))) for line in logged]


@pytest.fixture
def world():
    return World(("notify", {}), ("poll:prod", {"more_s": 10.0}))


def test_loops_that_make_progress_are_left_alone(world):
    assert world.passes(3_600, 0, 1) == []
    assert (world.ended, silence(world.beats), stuck(world.beats)) == ([], None, None)


def test_a_silence_is_told_once_at_its_begin_and_once_at_its_end(world):
    assert world.passes(45, 0) == [("watchdog.loop_silent", "poll:prod")]
    assert silence(world.beats) == "no progress: poll:prod for 45 s"
    assert world.passes(30, 0, 1) == [("watchdog.loop_recovered", "poll:prod")]
    assert world.passes(45, 0) == [("watchdog.loop_silent", "poll:prod")]


def test_a_loop_that_stays_silent_ends_its_process(world):
    longest_s = declared_s("poll") + 10.0
    told = world.passes(3_600, 0)
    assert told[-1][0] == "watchdog.process_ends"
    (at_s,) = world.ended
    assert 0 < at_s - Clock.now_s - ENDS_AFTER * longest_s <= LOOK_S
    assert told[-1][1].startswith("no progress: poll:prod for 1 min 4")


def test_health_fails_before_the_process_ends_and_after_readiness(world):
    beat = world.beats[0]
    expected = {1: (False, False, False), ILL_AFTER: (True, False, False), ENDS_AFTER: (True, True, False)}
    for times, found in expected.items():
        world.clock.now_s = Clock.now_s + times * beat.longest_s
        assert (beat.is_silent, beat.is_stuck, beat.is_hopeless) == found
        world.clock.now_s += 1
    assert beat.is_hopeless


def test_a_loop_for_which_a_new_process_is_no_help_ends_none():
    world = World(("logs", {"ends_process": False}))
    assert world.passes(36_000) == [("watchdog.loop_silent", "logs")]
    assert (world.ended, stuck(world.beats)) == ([], None)


def test_a_process_that_was_suspended_is_not_ended_for_it(world):
    world.passes(60, 0, 1)
    world.clock.now_s += 36_000
    assert world.passes(10) == []
    assert world.passes(300, 0, 1) == []
    assert world.ended == []


def test_a_look_that_is_a_little_late_excuses_nothing(world):
    world.clock.now_s += PAUSED_S
    world.dog.look()
    assert world.beats[0].silent_s == PAUSED_S


def test_a_loop_that_is_not_declared_has_the_most_patience():
    assert Beat("new").longest_s == max(declared_s(name) for name in ("store", "notify", "poll"))
    assert declared_s("poll:a:b") == declared_s("poll")


def test_the_watchdog_runs_beside_the_loops_and_ends_with_them(monkeypatch):
    monkeypatch.setattr(watchdog_module, "LOOK_S", 0.001)
    looks = []

    def beats():
        looks.append(threading.current_thread())
        return []

    with watching(beats):
        wait_until(lambda: len(looks) > 1, DEADLINE_S, "two looks")
    assert not looks[0].is_alive()


@pytest.mark.parametrize("prefix", ["", "@"], ids=["a file", "an abstract address"])
def test_systemd_is_told_of_each_look_without_a_hopeless_loop(world, monkeypatch, tmp_path, prefix):
    address = f"{prefix}{tmp_path}/notify"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as supervisor:
        supervisor.bind(f"\0{address[1:]}" if prefix else address)
        supervisor.settimeout(DEADLINE_S)
        monkeypatch.setenv("NOTIFY_SOCKET", address)
        world.passes(LOOK_S, 0, 1)
        assert supervisor.recv(100) == b"WATCHDOG=1"
        supervisor.setblocking(False)
        world.clock.now_s += PAUSED_S - 1
        world.beats[1].last_s = -36_000.0
        world.dog.look()
        with pytest.raises(BlockingIOError):
            supervisor.recv(100)


def test_without_systemd_or_with_one_that_is_gone_nothing_happens(monkeypatch, tmp_path):
    monkeypatch.delenv("NOTIFY_SOCKET", raising=False)
    notify_systemd("WATCHDOG=1")
    monkeypatch.setenv("NOTIFY_SOCKET", str(tmp_path / "gone"))
    notify_systemd("WATCHDOG=1")
