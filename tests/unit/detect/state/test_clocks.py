"""A wrong clock hides nothing: what is told when the clock of a writer, of a leader or of the stream's host is set."""

import functools
from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logdirwatch.collect.rounds.rising_clock import RisingClock
from logdirwatch.detect import machine
from logdirwatch.detect.state import clocks
from logdirwatch.model.records import EventRecord
from tests.support.properties import examples
from tests.unit.detect.builders import POLL_MS, T0, TOTAL, Driver, host_dir, host_view, log_dir, maintenance, metrics

MINUTE_MS = 60_000
HOUR_MS = 60 * MINUTE_MS
STEP = 8
"""The minute in which a clock is set."""
DELAY_MS = 15_000
"""How much later than with right clocks anything may be told: three polls."""


@dataclass(frozen=True)
class Clock:
    """A clock that is set: from which minute on, and by how much."""

    steps: tuple[tuple[float, int], ...] = ()

    def at(self, true_ms):
        return true_ms + sum(by_ms for minute, by_ms in self.steps if true_ms - T0 >= minute * MINUTE_MS)


RIGHT = Clock()


def creeping(clock):
    """The times of 0.2.0: after a set-back they rise by a millisecond a record until the clock has caught up."""
    last = [0]

    def stamp(true_ms):
        last[0] = max(clock.at(true_ms), last[0] + 1)
        return last[0]

    return stamp


def rising(clock):
    """The times of this release."""
    now = [0]
    record_clock = RisingClock(lambda: clock.at(now[0]))

    def stamp(true_ms):
        now[0] = true_ms
        return record_clock()

    return stamp


@dataclass
class Story:
    """A broker, polled each 5 s; a directory fills, and fails in minute ``fails_at``; ``collectors`` poll in turn.

    ``leader`` is the clock of Kafka's times with LogAppendTime; without one these are the producers'.
    """

    collectors: dict[str, Clock] = field(default_factory=lambda: {"c1": RIGHT})
    leader: Clock | None = None
    stream: Clock = RIGHT
    mb_per_s: int = 5
    fails_at: float | None = None
    recovers_at: float | None = None
    minutes: int = 30
    stamp: object = rising

    def run(self):
        stamps = {name: self.stamp(clock) for name, clock in self.collectors.items()}
        driver, self.told, self.statuses = Driver(), [], {}
        offset_ms = POLL_MS // len(stamps)
        for poll in range(self.minutes * MINUTE_MS // POLL_MS):
            for number, name in enumerate(stamps):
                true_ms = T0 + (poll + 1) * POLL_MS + number * offset_ms
                self._show(driver, stamps[name](true_ms), name, true_ms)
        self.driver = driver
        return self

    def _show(self, driver, written_ms, name, true_ms):
        minute = (true_ms - T0) / MINUTE_MS
        fails, back = self.fails_at, self.recovers_at
        is_dead = fails is not None and minute >= fails and (back is None or minute < back)
        used = min(0.999, 0.4 + (true_ms - T0) / 1_000 * self.mb_per_s * 1e6 / TOTAL)
        dirs = [log_dir("/d1", error_code=56) if is_dead else log_dir("/d1", used), log_dir("/d2", 0.5)]
        kafka_ms = self.collectors[name].at(true_ms) if self.leader is None else self.leader.at(true_ms)
        driver.at_ms = self.stream.at(true_ms)
        before = len(driver.alerts)
        driver.show(metrics(written_ms, *dirs, collector=name), kafka_ms=kafka_ms)
        due_ms = machine.next_deadline_ms(driver.memory, driver.settings)
        if due_ms is not None and due_ms <= driver.at_ms:
            driver.wait(0)
        self.told += [
            (true_ms, str(a.rule), a.log_dir, str(a.status), str(a.severity), a.reason) for a in driver.alerts[before:]
        ]
        self.statuses[true_ms] = driver.status() if "/d1" in driver.memory.log_dirs else None


def lines(story):
    return [line[1:] for line in story.told]


def assert_told_in_time(story, steady):
    assert lines(story) == lines(steady)
    for (at_ms, *_), (right_ms, *what) in zip(story.told, steady.told, strict=True):
        assert abs(at_ms - right_ms) <= DELAY_MS, what


CLOCKS = {
    "back an hour": Clock(((STEP, -HOUR_MS),)),
    "forward an hour": Clock(((STEP, HOUR_MS),)),
    "back less than a minute": Clock(((STEP, -30_000),)),
    "back less than a poll": Clock(((STEP, -3_000),)),
    "forward less than a minute": Clock(((STEP, 40_000),)),
    "to the epoch": Clock(((STEP, -(T0 - HOUR_MS)),)),
    "back, and forward again": Clock(((STEP, -HOUR_MS), (STEP + 6, HOUR_MS))),
    "forward, and back again": Clock(((STEP, HOUR_MS), (STEP + 6, -HOUR_MS))),
    "ahead from the start, then right": Clock(((0, HOUR_MS), (STEP, -HOUR_MS))),
    "behind from the start, then right": Clock(((0, -HOUR_MS), (STEP, HOUR_MS))),
    "seven seconds back each minute": Clock(tuple((minute, -7_000) for minute in range(1, 30))),
    "a drift of two percent": Clock(tuple((n / 10, 120) for n in range(1, 300))),
}
EVENTS = {
    "fills": {"mb_per_s": 350},
    "fails when the clock is set": {"fails_at": STEP, "recovers_at": STEP + 9},
    "failed before": {"fails_at": STEP - 5, "recovers_at": STEP + 2},
}


def turns(ways):
    """Each clock with each event; the ways take turns, so that each of them meets every clock and every event."""
    pairs = [(clock, event) for clock in range(len(CLOCKS)) for event in range(len(EVENTS))]
    return [
        pytest.param(
            list(CLOCKS.values())[clock],
            list(EVENTS)[event],
            *list(ways.values())[(clock + event) % len(ways)],
            id=f"{list(CLOCKS)[clock]}, {list(EVENTS)[event]}, {list(ways)[(clock + event) % len(ways)]}",
        )
        for clock, event in pairs
    ]


@functools.cache
def steady(happens, collectors=("c1",), leader=None):
    """What is told with right clocks."""
    return Story(dict.fromkeys(collectors, RIGHT), leader=leader, **EVENTS[happens]).run()


STAMPS = {"CreateTime": (rising, None), "LogAppendTime": (rising, RIGHT), "0.2.0": (creeping, None)}


@pytest.mark.parametrize(("clock", "happens", "stamp", "leader"), turns(STAMPS))
def test_a_collectors_clock_that_is_set_changes_nothing_that_is_told(clock, happens, stamp, leader):
    story = Story({"c1": clock}, leader=leader, stamp=stamp, **EVENTS[happens]).run()
    assert_told_in_time(story, steady(happens))


ORDERS = {"right first": (("right", "wrong"), None), "wrong first, LogAppendTime": (("wrong", "right"), RIGHT)}


@pytest.mark.parametrize(("clock", "happens", "order", "leader"), turns(ORDERS))
def test_a_second_collector_with_a_right_clock_covers_the_first(clock, happens, order, leader):
    both = {name: RIGHT if name == "right" else clock for name in order}
    story = Story(both, leader=leader, **EVENTS[happens]).run()
    assert_told_in_time(story, steady(happens, order, leader))


@pytest.mark.parametrize(("clock", "happens", "of"), turns({of: (of,) for of in ("leader", "stream", "all")}))
def test_the_clock_of_a_leader_or_of_the_streams_host_changes_nothing_that_is_told(clock, happens, of):
    story = Story(
        {"c1": clock if of == "all" else RIGHT},
        leader=RIGHT if of == "stream" else clock,
        stream=RIGHT if of == "leader" else clock,
        **EVENTS[happens],
    ).run()
    assert_told_in_time(story, steady(happens, leader=RIGHT))


MINUTES = st.integers(1, 27)
STEPS_MS = st.one_of(st.integers(-3 * HOUR_MS, 3 * HOUR_MS), st.integers(-90_000, 90_000))
SET = st.lists(st.tuples(MINUTES, STEPS_MS), max_size=4).map(lambda steps: Clock(tuple(sorted(steps))))


@given(SET, SET, st.sampled_from(list(EVENTS)), st.booleans())
@examples(10)
def test_any_steps_of_two_collectors_change_nothing_that_is_told(first, second, happens, has_leader):
    leader = RIGHT if has_leader else None
    story = Story({"c1": first, "c2": second}, leader=leader, **EVENTS[happens]).run()
    assert_told_in_time(story, steady(happens, ("c1", "c2")))


@given(SET, SET, st.one_of(st.none(), SET), st.integers(1, 25))
@examples(20)
def test_while_a_directory_is_reported_offline_no_clocks_make_it_healthy(collector, stream, leader, fails_at):
    """Whatever the clocks of all say: it is told within three polls, and never that it ended."""
    story = Story({"c1": collector}, leader=leader, stream=stream, fails_at=fails_at).run()
    told_ms, *told = story.told[0]
    assert told[:3] == ["log_dir_offline", "/d1", "firing"]
    assert told_ms <= T0 + fails_at * MINUTE_MS + DELAY_MS
    assert {status for _, _, _, status, *_ in story.told} == {"firing"}
    assert {status for at_ms, status in story.statuses.items() if at_ms >= told_ms} == {"offline"}


@pytest.mark.parametrize("by_ms", [-HOUR_MS, HOUR_MS])
@pytest.mark.parametrize("collector", ["c1", None])
def test_an_event_from_a_wrong_clock_is_told_and_ends_with_the_next_good_sample(by_ms, collector):
    driver = Driver().polls(*[0.5] * 5)
    for polls in (2, 0):
        driver.at_ms += POLL_MS
        written_ms = driver.at_ms + by_ms
        failure = EventRecord(
            version=1,
            cluster="prod",
            broker=7,
            event="LogDirFailure",
            log_dir="/d1",
            timestamp_ms=written_ms,
            collector=collector,
        )
        driver.show(failure, kafka_ms=written_ms)
        assert driver.status() == "offline"
        assert driver.said()[-1][:2] == ("log_dir_offline", "firing")
        for _ in range(polls):
            driver.poll(log_dir("/d1"))
            assert driver.status() == "online"


def test_what_a_log_said_long_ago_explains_nothing_of_now():
    driver = Driver().polls(*[0.5] * 60)
    driver.event("BrokerFailure", after_ms=-4 * MINUTE_MS, reason="stopped", detail="it was asked to stop")
    assert driver.memory.word is None


@pytest.mark.parametrize("by_ms", [-HOUR_MS, HOUR_MS])
def test_a_hosts_clock_that_is_set_hides_none_of_its_observations(by_ms):
    driver = Driver().polls(0.5)
    for looks in range(10):
        driver.at_ms += MINUTE_MS
        at_ms = driver.at_ms + POLL_MS + 1_000 + (by_ms if looks >= 3 else 0)
        driver.poll(log_dir("/d1")).wait(1_000)
        driver.show(host_view(at_ms, host_dir("/d1", is_read_only=looks >= 6)), kafka_ms=at_ms)
    assert [alert.rule for alert in driver.open_alerts()] == ["log_dir_suspect"]
    assert driver.memory.log_dirs["/d1"].host_ms <= driver.at_ms


def test_records_that_were_sent_twice_are_no_wrong_clock():
    driver = Driver().polls(*[0.5] * 5)
    sent = [metrics(driver.at_ms + n * POLL_MS, log_dir("/d1", 0.5)) for n in (1, 2, 3, 4)]
    failed = metrics(driver.at_ms + 5 * POLL_MS, log_dir("/d1", error_code=56))
    for record in [*sent, failed, *sent, failed]:
        driver.at_ms = max(driver.at_ms, record.timestamp_ms)
        driver.show(record, kafka_ms=record.timestamp_ms)
    assert driver.status() == "offline"
    assert [status for _, status, _ in driver.said()] == ["firing"]
    driver.poll(log_dir("/d1", error_code=56))
    assert driver.memory.clocks == {}


def test_what_a_collector_kept_for_ten_minutes_overrules_no_newer_evidence():
    driver = Driver()
    for _ in range(120):
        driver.poll(log_dir("/d1", error_code=56), collector="c2")
    kept = [metrics(T0 + n * POLL_MS, log_dir("/d1", 0.5), collector="c1") for n in range(1, 120)]
    for record in kept:
        driver.show(record, kafka_ms=driver.at_ms)
    assert driver.status() == "offline"
    for _ in range(4):
        driver.poll(log_dir("/d1", 0.5), collector="c1")
    assert driver.status() == "online"


def test_samples_whose_time_stands_still_are_told_as_silence_with_its_reason():
    driver = Driver().polls(0.5, 0.5)
    frozen_ms = driver.at_ms
    for _ in range(7):
        driver.at_ms += POLL_MS
        driver.show(metrics(frozen_ms, log_dir("/d1", 0.5)), kafka_ms=driver.at_ms)
        driver.wait(0)
    assert driver.memory.status == "unknown"
    assert driver.memory.reason.startswith("silent: samples of c1 arrive, but their time does not advance")
    driver.poll(log_dir("/d1", 0.5))
    assert driver.memory.status == "online"
    assert clocks.stalled(driver.memory) == []


def test_evidence_that_is_ahead_of_all_clocks_falls_back_without_a_step():
    driver = Driver()
    wrong = Clock(((0, HOUR_MS), (5, -HOUR_MS)))
    times_ms = []
    for poll in range(9 * 720):
        true_ms = T0 + (poll + 1) * POLL_MS
        driver.at_ms = wrong.at(true_ms)
        driver.show(metrics(driver.at_ms, log_dir("/d1", 0.5)), kafka_ms=driver.at_ms)
        times_ms.append(driver.memory.newest_ms)
    assert times_ms == sorted(times_ms)
    assert times_ms[-1] - (T0 + 9 * HOUR_MS) <= driver.settings.clock_skew_ms + POLL_MS


def test_a_fleet_of_wrong_clocks_leaves_little_behind():
    driver = Driver().polls(0.5)
    for number in range(100):
        driver.show(metrics(driver.at_ms - HOUR_MS, log_dir("/d1"), collector=f"c{number}"), kafka_ms=driver.at_ms)
    assert len(driver.memory.clocks) <= clocks.MOST_CLOCKS


def test_a_decision_from_a_clock_behind_counts_from_its_arrival():
    driver = Driver().polls(0.5)
    driver.show(maintenance(driver.at_ms - HOUR_MS, 10 * MINUTE_MS), kafka_ms=driver.at_ms)
    assert driver.memory.maintenance is not None
