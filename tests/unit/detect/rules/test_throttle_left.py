"""Limits that nobody needs any more are told, and only those."""

import pytest

from logdirwatch.detect.settings import DetectSettings
from tests.unit.detect.builders import FOLLOWER, WITHIN, Scans, log_dir


def left(driver):
    return next((a for a in driver.open_alerts() if a.rule == "throttle_left"), None)


def test_limits_without_a_move_are_told_after_half_an_hour():
    limits = {FOLLOWER: 50_000_000, WITHIN: 1_000_000}
    driver = Scans().scans(30, log_dir(), throttles=limits, throttled_replicas=4)
    assert driver.said("throttle_left") == []
    driver.scan(log_dir(), throttles=limits, throttled_replicas=4)
    evidence = left(driver).evidence
    assert (evidence["throttles"], evidence["throttled_replicas"]) == (limits, 4)
    assert f"{FOLLOWER}=47.7 MiB/s" in left(driver).summary
    assert "4 of its replicas are in the topics' lists" in left(driver).summary
    driver.scans(5, log_dir(), throttles=limits, throttled_replicas=4)
    assert len(driver.said("throttle_left")) == 1
    driver.scan(log_dir(), throttles={WITHIN: 1_000_000})
    evidence = left(driver).evidence
    assert (evidence["throttles"], evidence["throttled_replicas"]) == ({WITHIN: 1_000_000}, 0)
    driver.scan(log_dir())
    assert driver.said("throttle_left")[-1] == ("throttle_left", "resolved", "recovered")


@pytest.mark.parametrize(
    "moves",
    [
        {"throttles": {FOLLOWER: 1}, "reassignments": 3},
        {"throttles": {WITHIN: 1}, "copies": 1},
        {"throttles": {}, "throttled_replicas": 2, "reassignments": 1},
        {"throttles": {FOLLOWER: 1}, "reassignments": None},
        {"throttles": None, "throttled_replicas": 2},
        {"throttles": {}},
    ],
)
def test_a_limit_that_is_used_or_of_which_nobody_knows_is_not_left(moves):
    driver = Scans().scans(60, log_dir(), **moves)
    assert driver.said("throttle_left") == []


def test_the_limit_between_brokers_is_not_needed_by_a_copy_within_one():
    driver = Scans().scans(31, log_dir(), throttles={FOLLOWER: 1, WITHIN: 1}, copies=1)
    assert left(driver).evidence["throttles"] == {FOLLOWER: 1}


def test_a_move_that_begins_ends_the_alert_and_unknown_moves_do_not():
    driver = Scans().scans(31, log_dir(), throttles={FOLLOWER: 1})
    driver.scan(log_dir(), throttles={FOLLOWER: 1}, reassignments=None).scan(log_dir(), throttles=None)
    assert left(driver) is not None
    driver.scan(log_dir(), throttles={FOLLOWER: 1}, reassignments=2)
    assert driver.said("throttle_left")[-1] == ("throttle_left", "resolved", "in use again")


def test_limits_that_are_meant_to_stay_are_left_alone():
    settings = DetectSettings(kept_throttles=(FOLLOWER, "throttled_replicas"))
    driver = Scans(settings).scans(60, log_dir(), throttles={FOLLOWER: 1}, throttled_replicas=9)
    assert driver.said("throttle_left") == []


def test_half_an_hour_must_be_seen():
    driver = Scans().scans(20, log_dir(), throttles={FOLLOWER: 1}).poll(status="timeout")
    driver.scans(20, log_dir(), throttles={FOLLOWER: 1})
    assert driver.said("throttle_left") == []
