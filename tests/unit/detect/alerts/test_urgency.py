"""How loud a filling directory is: by the time that it has left."""

import pytest

from logdirwatch.config.section import DAY_MS, HOUR_MS
from logdirwatch.detect.alerts import urgency
from logdirwatch.detect.settings import Thresholds
from logdirwatch.detect.state.broker_state import LogDirMemory, Rise
from logdirwatch.model.vocabulary import LogDirStatus, Severity
from tests.unit.detect.builders import Driver, log_dir

FILLING, CRITICAL, SATURATED = LogDirStatus.FILLING, LogDirStatus.CRITICAL, LogDirStatus.SATURATED


@pytest.mark.parametrize(
    ("level", "left_ms", "wanted"),
    [
        (FILLING, None, "warning"),
        (FILLING, 3 * DAY_MS, "warning"),
        (FILLING, DAY_MS, "warning"),
        (FILLING, DAY_MS - 1, "critical"),
        (FILLING, HOUR_MS, "critical"),
        (FILLING, HOUR_MS - 1, "page"),
        (FILLING, 48_000, "page"),
        (FILLING, 0, "page"),
        (CRITICAL, None, "critical"),
        (CRITICAL, 3 * DAY_MS, "critical"),
        (CRITICAL, 48_000, "page"),
        (SATURATED, None, "page"),
        (SATURATED, 3 * DAY_MS, "page"),
    ],
)
def test_severity_follows_the_time_left(level, left_ms, wanted):
    assert urgency.severity(Thresholds(), level, left_ms, None) == wanted


@pytest.mark.parametrize(
    ("told", "left_ms", "wanted"),
    [
        ("page", HOUR_MS + 1, "page"),
        ("page", 1.5 * HOUR_MS, "critical"),
        ("page", 2 * DAY_MS, "warning"),
        ("page", None, "warning"),
        ("critical", DAY_MS + 1, "critical"),
        ("critical", 1.5 * DAY_MS, "warning"),
        ("critical", HOUR_MS - 1, "page"),
        ("warning", HOUR_MS + 1, "critical"),
    ],
)
def test_it_gets_quieter_only_when_clearly_more_time_is_left(told, left_ms, wanted):
    assert urgency.severity(Thresholds(), FILLING, left_ms, Severity(told)) == wanted


def test_what_is_full_before_the_morning_is_critical_whatever_the_settings_but_never():
    short = Thresholds(page_within_ms=0, critical_within_ms=HOUR_MS)
    assert urgency.severity(short, FILLING, urgency.NIGHT_MS - 1, None) == "critical"
    assert urgency.severity(short, FILLING, urgency.NIGHT_MS, None) == "warning"
    never = Thresholds(page_within_ms=0, critical_within_ms=0)
    assert urgency.severity(never, FILLING, 1, None) == "warning"
    assert urgency.waits(rising(0, 100, 60_000, 100), Severity.WARNING) == (
        True,
        "the settings judge it by space alone",
    )


def rising(from_bytes, last_bytes, in_ms, usable_bytes, **fields):
    ends = {"from_ms": 0, "from_bytes": from_bytes, "next_ms": 0, "next_bytes": from_bytes}
    rise = Rise(**ends, last_ms=in_ms, last_bytes=last_bytes, **{"steps": urgency.STEPS, "risen_ms": in_ms, **fields})
    return LogDirMemory(rise=rise, usable_bytes=usable_bytes, interval_ms=5_000)


def test_a_burst_is_believed_for_three_times_as_long_as_it_was_watched():
    assert urgency.time_left_ms(rising(0, 100, 60_000, 300)) == 180_000
    assert urgency.time_left_ms(rising(0, 100, 60_000, 301)) is None


@pytest.mark.parametrize("fields", [{"steps": urgency.STEPS - 1}, {"risen_ms": 0}])
def test_what_came_at_once_or_rises_no_more_is_no_burst(fields):
    assert urgency.time_left_ms(rising(0, 100, urgency.STILL_MS + 1, 100, **fields)) is None


def test_the_nearer_end_of_forecast_and_burst_holds():
    log_dir = rising(0, 100, 60_000, 200)
    log_dir.sample_at_ms, log_dir.full_at_ms = 60_000, 60_000 + DAY_MS
    assert urgency.time_left_ms(log_dir) == 120_000
    log_dir.full_at_ms = 90_000
    assert urgency.time_left_ms(log_dir) == 30_000
    log_dir.full_at_ms = 30_000
    assert urgency.time_left_ms(log_dir) == 0


def taken(*samples, step_ms=5_000):
    log_dir = LogDirMemory()
    for number, own_bytes in enumerate(samples):
        log_dir.peaks.last_bytes = own_bytes
        urgency.note(log_dir, number * step_ms)
    return log_dir.rise


def test_a_rise_begins_anew_where_half_of_it_is_lost():
    assert taken(100, 200, 150).from_bytes == 100
    assert taken(100, 200, 149).from_bytes == 149
    assert (taken(100, 200, 300, 290).steps, taken(100, 200, 300, 190).steps) == (2, 0)


def test_a_rise_looks_back_over_half_an_hour_at_most():
    rise = taken(*range(1_000, 2_000), step_ms=60_000)
    assert urgency.SPAN_MS <= rise.last_ms - rise.from_ms <= 2 * urgency.SPAN_MS


def test_a_collector_whose_clock_is_a_little_behind_changes_nothing():
    log_dir = LogDirMemory()
    for at_ms, own_bytes in ((10_000, 100), (9_000, 50), (11_000, 120)):
        log_dir.peaks.last_bytes = own_bytes
        urgency.note(log_dir, at_ms)
    assert (log_dir.rise.from_bytes, log_dir.rise.steps) == (100, 1)


@pytest.mark.parametrize(
    ("ratio_per_min", "start", "noise", "calm_polls"),
    [
        (0.002, 0.6, 0.0, 720),
        (0.0036, 0.6, 0.0, 720),
        (0.0036, 0.45, 0.0005, 0),
        (0.005, 0.55, 0.0, 0),
        (0.005, 0.55, 0.0005, 720),
        (0.005, 0.55, 0.002, 720),
        (0.007, 0.6, 0.0, 720),
        (0.007, 0.55, 0.002, 0),
        (0.01, 0.55, 0.0005, 720),
        (0.01, 0.5, 0.0, 0),
        (0.015, 0.45, 0.0, 720),
        (0.015, 0.6, 0.002, 720),
    ],
)
def test_a_steady_fill_gets_no_all_clear_before_it_is_full(ratio_per_min, start, noise, calm_polls):
    """``noise`` takes a little away from every third sample, as a deletion does."""
    driver, per_poll = Driver(), ratio_per_min / 12
    used = [start] * calm_polls + [start + number * per_poll for number in range(int((0.995 - start) / per_poll))]
    for number, ratio in enumerate(used):
        driver.poll(log_dir("/d1", ratio - noise * (number % 3 == 2)), log_dir("/d2", 0.4))
    answers = [one.evidence["can_wait"] for one in driver.alerts if one.rule == "log_dir_space"]
    assert answers[-1] is False
    assert answers == sorted(answers, reverse=True), "once somebody has to get up, that stays so"
