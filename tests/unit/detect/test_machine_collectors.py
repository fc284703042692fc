"""Several collectors of one broker: their clocks differ, they disagree, and those that are gone are forgotten."""

import pytest

from logdirwatch.detect.state.broker_state import encode
from tests.unit.detect.builders import POLL_MS, T0, Driver, log_dir, metrics, offline

SLOW_MS = 60_000
SKEW_MS = 20_000
HOUR_MS = 3_600_000


class Two(Driver):
    """Two collectors that poll in turn, the second one ``SKEW_MS`` behind; their records come as they are sent."""

    def both(self, ahead, behind, **fields):
        self.at_ms += POLL_MS // 2
        self.show(metrics(self.at_ms, *ahead[0], collector="ahead", **ahead[1]))
        self.at_ms += POLL_MS // 2
        return self.show(metrics(self.at_ms - SKEW_MS, *behind[0], collector="behind", **behind[1] | fields))

    def statuses(self, count, ahead, behind, what):
        found = set()
        for _ in range(count):
            self.both(ahead, behind)
            found.add(what())
        return found


def said(*dirs, **fields):
    return dirs, fields


def test_offline_wins_for_as_long_as_who_says_so_speaks():
    driver = Driver().polls(0.5)
    for _ in range(5):
        driver.show(metrics(driver.at_ms + 1, offline(), collector="slow", interval_ms=SLOW_MS))
        for _ in range(SLOW_MS // POLL_MS):
            driver.poll(log_dir())
            assert driver.status() == "offline"
    assert [item[1] for item in driver.said("log_dir_offline")] == ["firing"]
    driver.at_ms += 3 * SLOW_MS
    driver.poll(log_dir())
    assert driver.status() == "online", "who said so is away for long"


def test_offline_wins_whoever_is_ahead():
    for ahead, behind in [(said(log_dir()), said(offline())), (said(offline()), said(log_dir()))]:
        driver = Two().both(said(log_dir()), said(log_dir()))
        driver.both(ahead, behind)
        assert driver.statuses(10, ahead, behind, driver.status) == {"offline"}


def test_an_answer_outranks_a_timeout_whoever_is_ahead():
    for ahead, behind in [
        (said(log_dir()), said(status="timeout")),
        (said(status="timeout"), said(log_dir())),
    ]:
        driver = Two().both(said(log_dir()), said(log_dir()))
        assert driver.statuses(10, ahead, behind, lambda driver=driver: driver.memory.status) == {"online"}


def test_another_clock_is_no_gap():
    driver = Two().both(said(log_dir(used=0.5)), said(log_dir(used=0.5)))
    driver.both(said(log_dir(used=0.97)), said(log_dir(used=0.5)))
    assert driver.said() == [], "one sample over a threshold decides nothing"
    for number in range(10):
        used = 0.755 if number % 2 else 0.745
        driver.both(said(log_dir(used=used)), said(log_dir(used=used)))
    assert driver.path_of() == ["online"]


def test_growth_is_that_of_one_clock():
    driver = Two()
    for number in range(20):
        used = 0.5 + number / 1_000
        driver.both(said(log_dir(used=used)), said(log_dir(used=used)))
    per_poll = log_dir(used=0).total_bytes / 1_000
    assert driver.memory.log_dirs["/d1"].growth_bytes_per_s == pytest.approx(per_poll / (POLL_MS / 1_000), rel=0.01)


def test_a_clock_that_steps_back_does_not_hide_that_its_broker_stops_answering():
    driver = Driver().polls(0.5, 0.5)
    for _ in range(20):
        driver.at_ms += POLL_MS
        driver.show(metrics(driver.at_ms - HOUR_MS, status="timeout")).wait(0)
    assert driver.memory.status == "unknown"
    assert driver.said() == [("broker_unknown", "firing", "critical")]


def test_a_collector_with_a_new_name_each_day_leaves_nothing_behind():
    def after(names):
        driver = Driver()
        for number in range(names):
            driver.at_ms += 2 * HOUR_MS
            for _ in range(3):
                driver.poll(log_dir("/d1"), log_dir("/d2"), collector=f"collector-{number:03}")
        return driver

    fewer, more = after(200).memory, after(210).memory
    assert set(more.collectors) == {"collector-209"}
    assert len(encode(more)) == pytest.approx(len(encode(fewer)), rel=0.05)


def test_one_that_was_seldom_and_is_gone_does_not_delay_silence():
    driver = Driver().poll(log_dir(), collector="seldom", interval_ms=HOUR_MS)
    driver.polls(0.5)
    assert driver.wait(30_000).memory.status == "online", "it may still come"
    driver.at_ms = T0 + 4 * HOUR_MS
    driver.polls(0.5, 0.5)
    assert set(driver.memory.collectors) == {"c1"}
    assert driver.wait(30_000).memory.status == "unknown"
