"""A broker that recovers its logs keeps its grace while it gets on."""

import pytest

from logdirwatch.detect import state_view
from logdirwatch.model.records import PartitionHealth
from tests.unit.detect.builders import T0, Driver, away_for, fenced, timeout

HOUR_MS = 3_600_000
MINUTE_MS = 60_000
LEADERLESS = PartitionHealth(leaderless=3)


def recovering(driver, **left):
    return fenced(driver, metrics={f"remainingLogsToRecover:/{path}": float(count) for path, count in left.items()})


def gauges(*counts):
    def given(driver):
        for count in counts:
            recovering(driver, d1=count)

    return given


def lines(*loaded, total=400):
    def given(driver):
        for count in loaded:
            fenced(driver)
            driver.event("LogsLoaded", log_dir="/d1", logs_loaded=count, logs_total=total)

    return given


def said(reason, detail="SIGTERM"):
    return lambda driver: driver.event("BrokerFailure", reason=reason, detail=detail)


def absent(ms):
    return lambda driver: away_for(driver, ms)


CUT_SHORT = "it was stopped while it recovered its logs"


@pytest.mark.parametrize(
    ("steps", "reason", "is_cut_short"),
    [
        ((gauges(300, 200), said("stopped")), "killed", True),
        ((lines(10, 37), said("stopped")), "killed", True),
        ((lines(10, 37), said("stopped"), lines(1, 12), said("stopped")), "killed", True),
        ((gauges(300), absent(50_000), said("stopped")), "killed", True),
        ((lines(399, 400), said("stopped")), "stopped", False),
        ((gauges(0), said("stopped")), "stopped", False),
        ((gauges(300), absent(2 * MINUTE_MS), said("stopped")), "stopped", False),
        ((absent(MINUTE_MS), said("stopped")), "stopped", False),
        ((said("stopped"), gauges(300)), "stopped", False),
        ((gauges(300), said("oom_killed")), "oom_killed", False),
        ((gauges(300), said("disk_full")), "disk_full", False),
        ((gauges(300), lambda driver: driver.polls(0.5, 0.5), said("stopped")), "stopped", False),
    ],
)
def test_a_stop_while_logs_are_recovered_is_none_that_was_meant(steps, reason, is_cut_short):
    driver = Driver().polls(0.5)
    for step in steps:
        step(driver)
    assert driver.memory.word.reason == reason
    assert (CUT_SHORT in driver.memory.word.text) is is_cut_short


class TestRecovery:
    def test_a_broker_that_recovers_its_logs_keeps_its_grace_while_it_gets_on(self):
        driver = away_for(Driver().polls(0.5), 4 * MINUTE_MS)
        for left in range(1200, 0, -10):
            recovering(driver, d1=left)
        assert driver.at_ms - T0 > 10 * MINUTE_MS
        assert driver.alerts == []
        record = state_view.state_record(driver.memory, [])
        assert record.recovering_logs == 10
        assert record.reason == "fenced by the controller; recovers its logs, 10 left"

    def test_one_that_does_not_get_on_is_an_alert_a_grace_later(self):
        driver = recovering(Driver().polls(0.5), d1=500)
        began_ms = driver.at_ms
        while not driver.alerts:
            recovering(driver, d1=500)
        assert driver.said() == [("broker_offline", "firing", "critical")]
        assert driver.alerts[0].at_ms == began_ms + 5 * MINUTE_MS
        assert driver.alerts[0].evidence["recovering_logs"] == 500

    def test_one_that_begins_again_and_again_gets_on_only_once(self):
        driver = Driver().polls(0.5)
        for _ in range(6):
            for left in (300, 200, 100):
                for _ in range(4):
                    recovering(driver, d1=left)
        assert driver.said() == [("broker_offline", "firing", "critical")]

    def test_it_does_not_go_on_for_ever(self):
        driver, left = Driver().polls(0.5), 10**6
        while not driver.alerts:
            left -= 1
            recovering(driver, d1=left)
        assert HOUR_MS <= driver.at_ms - T0 < HOUR_MS + MINUTE_MS

    def test_directories_are_counted_each_for_itself(self):
        driver = recovering(Driver().polls(0.5), d1=10)
        recovering(driver, d1=10, d2=500)
        assert driver.memory.recovery.progress_ms == driver.at_ms
        recovering(driver, d1=10, d2=500)
        assert driver.memory.recovery.progress_ms < driver.at_ms

    def test_a_gauge_that_is_seen_no_more_tells_nothing(self):
        driver = recovering(Driver().polls(0.5), d1=10)
        away_for(driver, 2 * MINUTE_MS)
        assert state_view.state_record(driver.memory, []).recovering_logs is None

    def test_an_exporter_that_knows_of_no_recovery_changes_nothing(self):
        driver = away_for(Driver().polls(0.5), 4 * MINUTE_MS)
        for _ in range(30):
            recovering(driver, d1=0)
        assert driver.said() == [("broker_offline", "firing", "critical")]

    def test_one_that_nobody_calls_fenced_is_not_unknown_either(self):
        driver = Driver().polls(0.5)
        for left in range(100, 80, -1):
            timeout(driver, metrics={"remainingLogsToRecover:/d1": float(left)})
        assert (driver.memory.status, driver.alerts) == ("unknown", [])

    def test_an_answer_ends_it(self):
        driver = recovering(Driver().polls(0.5), d1=10).polls(0.5)
        assert driver.memory.recovery is None
        assert state_view.state_record(driver.memory, []).recovering_logs is None

    def test_an_open_alert_says_that_it_recovers_and_goes_on_being_told(self):
        driver = away_for(Driver().polls(0.5), 6 * MINUTE_MS)
        recovering(driver, d1=10)
        fenced(driver, partitions=LEADERLESS)
        assert [alert.severity for alert in driver.alerts] == ["critical", "critical", "page"]
        assert ["10 left: do not restart" in alert.summary for alert in driver.alerts] == [False, True, True]
