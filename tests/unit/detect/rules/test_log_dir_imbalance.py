"""log_dir_imbalance: directories of one broker that are filled very unequally."""

import pytest

from logdirwatch.detect.settings import DetectSettings
from logdirwatch.detect.state.broker_state import LogDirMemory
from tests.unit.detect.builders import GIB, POLL_MS, TOTAL, Driver, log_dir

HOUR_POLLS = 3_600_000 // POLL_MS
SOON = DetectSettings(imbalance_after_ms=0)


def unequal(driver):
    return [a.evidence for a in driver.open_alerts() if a.rule == "log_dir_imbalance"]


def disks(*ratios, **fields):
    return [log_dir(f"/d{number}", used, **fields) for number, used in enumerate(ratios, 1)]


def test_a_wide_spread_fires_after_an_hour_and_says_what_would_have_to_move():
    driver = Driver()
    for _ in range(HOUR_POLLS):
        driver.poll(*disks(0.7, 0.3, 0.2))
    assert unequal(driver) == []
    driver.poll(*disks(0.7, 0.3, 0.2))
    (evidence,) = unequal(driver)
    assert evidence["fullest"]["log_dir"] == "/d1"
    assert evidence["emptiest"]["log_dir"] == "/d3"
    assert evidence["spread_ratio"] == pytest.approx(0.5)
    assert evidence["mean_ratio"] == pytest.approx(0.4)
    assert evidence["move_bytes"] == pytest.approx(0.3 * TOTAL, rel=1e-6)
    (alert,) = driver.open_alerts()
    assert (str(alert.severity), alert.broker, alert.log_dir) == ("info", 7, None)
    assert "/d1 at 70.0 %, /d3 at 20.0 %" in alert.summary
    assert alert.summary.count("can wait until morning: yes") == 1


def test_a_spread_below_the_limit_or_of_empty_disks_is_none():
    driver = Driver(SOON).poll(*disks(0.5, 0.21)).poll(*disks(0.4, 0.01)).poll(log_dir(used=0.7))
    assert driver.said("log_dir_imbalance") == []


def test_it_ends_only_a_step_below_the_limit():
    driver = Driver(SOON).poll(*disks(0.7, 0.39)).poll(*disks(0.7, 0.44)).poll(*disks(0.69, 0.39))
    assert driver.said("log_dir_imbalance") == [("log_dir_imbalance", "firing", "info")]
    driver.poll(*disks(0.7, 0.46))
    assert driver.said("log_dir_imbalance")[-1] == ("log_dir_imbalance", "resolved", "recovered")


def test_noise_around_the_limit_does_not_begin_the_hour_anew_but_equal_disks_do():
    driver = Driver()
    for number in range(HOUR_POLLS + 1):
        driver.poll(*disks(0.7, 0.39 if number % 2 == 0 else 0.43))
    assert len(unequal(driver)) == 1
    other = Driver()
    for number in range(HOUR_POLLS + 1):
        other.poll(*disks(0.7, 0.6 if number == 100 else 0.3))
    assert unequal(other) == []


def test_it_is_told_anew_when_the_spread_changed_much_and_not_with_every_poll():
    driver = Driver(SOON).poll(*disks(0.7, 0.3))
    for used in (0.71, 0.72, 0.73):
        driver.poll(*disks(used, 0.3))
    assert len(driver.said("log_dir_imbalance")) == 1
    driver.poll(*disks(0.74, 0.2))
    assert len(driver.said("log_dir_imbalance")) == 2
    assert unequal(driver)[0]["spread_ratio"] == pytest.approx(0.54)


def test_directories_on_one_volume_are_one_disk():
    driver = Driver(SOON)
    driver.memory.log_dirs = {path: LogDirMemory(volume="v", is_volume_told=True) for path in ("/a", "/b")}
    driver.poll(log_dir("/a", 0.8), log_dir("/b", 0.8), log_dir("/c", 0.2, total_bytes=3 * TOTAL))
    (evidence,) = unequal(driver)
    assert set(evidence["used_ratios"]) == {"/a", "/c"}
    assert evidence["mean_ratio"] == pytest.approx((0.8 + 0.6) / 4)
    assert evidence["move_bytes"] == pytest.approx(0.45 * TOTAL, rel=1e-6)


def test_offline_and_cordoned_directories_do_not_take_part():
    driver = Driver(SOON).poll(*disks(0.7, 0.6), log_dir("/d3", error_code=56), log_dir("/d4", 0.0, is_cordoned=True))
    assert driver.said("log_dir_imbalance") == []
    driver.poll(*disks(0.7, 0.3), log_dir("/d3", error_code=56), log_dir("/d4", 0.0, is_cordoned=True))
    assert unequal(driver)[0]["left_out"] == ["/d3", "/d4"]


def test_a_directory_that_nobody_can_see_neither_fires_nor_ends_it():
    driver = Driver(SOON).poll(*disks(0.7, 0.6), log_dir("/d3", error_code=-1))
    assert driver.said("log_dir_imbalance") == []
    driver.poll(*disks(0.7, 0.6, 0.1))
    driver.poll(*disks(0.7, 0.6), log_dir("/d3", error_code=-1))
    driver.poll(*disks(0.7, 0.6))
    assert len(unequal(driver)) == 1, "/d3 left the report: nobody knows"
    driver.poll(*disks(0.7, 0.6), configs={"log.dirs": "/d1,/d2"})
    assert unequal(driver) == []


def test_a_broker_that_does_not_answer_leaves_it_open_and_says_since_when():
    driver = Driver(SOON).poll(*disks(0.7, 0.3)).poll(status="timeout")
    (alert,) = [a for a in driver.open_alerts() if a.rule == "log_dir_imbalance"]
    assert alert.stale_since_ms == driver.at_ms
    driver.poll(*disks(0.7, 0.3))
    (alert,) = [a for a in driver.open_alerts() if a.rule == "log_dir_imbalance"]
    assert alert.stale_since_ms is None


def test_the_hour_must_be_seen():
    driver = Driver()
    for number in range(2 * HOUR_POLLS):
        if number % HOUR_POLLS == HOUR_POLLS // 2:
            driver.poll(status="timeout")
        else:
            driver.poll(*disks(0.7, 0.3))
        if number == HOUR_POLLS + 10:
            assert unequal(driver) == []
    assert unequal(driver) == []


def test_large_and_small_disks_are_compared_by_ratio():
    driver = Driver(SOON).poll(log_dir("/d1", 0.5, total_bytes=10_000 * GIB), log_dir("/d2", 0.5, total_bytes=GIB))
    assert driver.said("log_dir_imbalance") == []
