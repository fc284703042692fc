"""Copies to remote storage that fail: told once they last, in alerts that are open too, and ended by evidence."""

from logdirwatch.detect.rules.remote_copies import CALM_MS, SILENT_MS, TOLD_AFTER_MS
from logdirwatch.detect.settings import DetectSettings
from tests.unit.detect.builders import GIB, POLL_MS, Driver, host_view, log_dir, suspicions

ERRORS, LAG = "RemoteCopyErrorsTotal", "RemoteCopyLagBytes"


def fails(driver, after_ms=1):
    return driver.event("RemoteCopyFailed", topic="orders", partition=3, detail="403 Forbidden", after_ms=after_ms)


def polls(driver, ms, **metrics):
    for _ in range(ms // POLL_MS):
        driver.poll(log_dir(), metrics=metrics)
    return driver


def test_a_copy_that_fails_once_is_no_alert_and_one_that_goes_on_failing_is():
    driver = fails(Driver().polls(0.5))
    assert suspicions(driver) == []
    fails(driver, TOLD_AFTER_MS)
    assert suspicions(driver) == [["remote_copy_fails"]]
    assert "403 Forbidden" in driver.open_alerts()[0].summary
    assert "can wait until morning: yes" in driver.open_alerts()[0].summary
    fails(driver, 1_000)
    assert driver.said("log_dir_suspect") == [("log_dir_suspect", "firing", "warning")]


def test_a_counter_that_rises_is_a_witness_too():
    driver = Driver()
    for number in range(TOLD_AFTER_MS // POLL_MS + 3):
        driver.poll(log_dir(), metrics={ERRORS: float(number), LAG: 1.0 * GIB})
    assert suspicions(driver) == [["remote_copy_fails"]]


def test_a_counter_that_stands_still_or_begins_again_is_none():
    driver = Driver()
    for number in (7.0, 7.0, 0.0, 0.0):
        driver.poll(log_dir(), metrics={ERRORS: number})
    assert driver.memory.remote_copies is None


def test_it_reaches_an_alert_of_space_that_is_open_at_the_first_failure():
    driver = Driver().polls(0.5, 0.8, 0.8)
    (before,) = driver.open_alerts()
    fails(driver).polls(0.8)
    (after,) = driver.open_alerts()
    assert after.revision == before.revision + 1
    assert "copies to remote storage fail (since" in after.summary
    assert after.evidence["keeps_growing"] == ["remote_copies"]


def test_it_ends_when_what_waits_is_copied_again():
    driver = polls(Driver(), 10_000, **{LAG: 5.0 * GIB})
    fails(fails(driver), TOLD_AFTER_MS)
    polls(driver, CALM_MS + 10_000, **{LAG: 6.0 * GIB})
    assert suspicions(driver), "what waits still grows"
    polls(driver, 10_000, **{LAG: 1.0 * GIB})
    assert suspicions(driver) == []


def test_without_gauges_it_ends_only_by_the_silence_of_a_log_that_is_read():
    driver = fails(fails(Driver().polls(0.5)), TOLD_AFTER_MS)
    polls(driver, SILENT_MS + 60_000)
    assert suspicions(driver), "nobody reads the log"
    driver.at_ms += 1
    driver.show(host_view(driver.at_ms, log_entries=7))
    polls(driver, 10_000)
    assert suspicions(driver) == []


def test_where_nobody_knew_what_waited_when_it_began_the_first_number_counts():
    driver = fails(fails(Driver().polls(0.5)), TOLD_AFTER_MS)
    polls(driver, CALM_MS + 10_000, **{LAG: 6.0 * GIB})
    assert suspicions(driver) == [], "some always waits where topics are written"


def test_what_flapping_holds_open_ends_when_it_has_been_calm_though_no_kind_speaks_of_it_any_more():
    driver = Driver(DetectSettings(flapping_times=2)).polls(0.5)
    for _ in range(2):
        fails(fails(driver), TOLD_AFTER_MS)
        polls(driver, CALM_MS + 10_000, **{LAG: 0.0})
    assert suspicions(driver), "held open"
    polls(driver, driver.settings.flapping_hold_ms + 10_000)
    assert suspicions(driver) == []
