"""What events change, and how every fast alert is answered."""

import pytest

from logdirwatch.model.records import PartitionHealth
from tests.unit.detect.builders import POLL_MS, Driver, log_dir, offline


def test_the_next_answer_corrects_the_cause_of_an_event_as_a_second_revision():
    driver = Driver().polls(0.5, 0.99999)
    driver.alerts.clear()
    driver.event(log_dir="/d1")
    driver.poll(offline())
    assert [(a.revision, a.cause) for a in driver.alerts] == [(1, "unknown"), (2, "full")]
    assert len({a.alert_id for a in driver.alerts}) == 1


def test_an_event_for_a_directory_that_is_offline_already_is_merged():
    driver = Driver().polls(0.5)
    driver.poll(offline())
    opened = driver.alerts[-1].alert_id
    driver.event(log_dir="/d1")
    assert driver.said()[-1] == ("log_dir_offline", "resolved", "merged")
    assert driver.alerts[-1].merged_into == opened
    assert len(driver.open_alerts()) == 1


def test_an_event_older_than_a_good_sample_is_answered_but_not_believed():
    driver = Driver().polls(0.5)
    driver.event(log_dir="/d1", after_ms=-1_000)
    assert driver.status() == "online"
    assert driver.said() == [("log_dir_offline", "resolved", "unconfirmed")]


@pytest.mark.parametrize("polls", [0, 20])
def test_a_line_of_the_log_counts_although_a_good_sample_is_newer(polls):
    driver = Driver().polls(0.5)
    driver.event(log_dir="/d1", after_ms=-1_000, cause="failed", detail="append failed: Input/output error")
    driver.polls(*[0.5] * polls).poll(offline())
    assert driver.cause() == "failed"
    driver.poll(status="timeout").poll(offline())
    assert driver.cause() == "failed"
    assert {alert.alert_id for alert in driver.alerts if alert.rule == "log_dir_offline"} == {driver.alerts[0].alert_id}


def test_a_line_of_the_log_from_before_a_start_of_the_broker_is_answered_but_not_believed():
    driver = Driver().polls(0.5).poll(status="error", error="connection refused").polls(0.5)
    driver.event(log_dir="/d1", after_ms=-2 * POLL_MS, cause="failed", detail="append failed: Input/output error")
    assert driver.status() == "online"
    assert driver.said() == [("log_dir_offline", "resolved", "unconfirmed")]


def test_log_dir_reset_and_recovered_make_nothing_healthy():
    driver = Driver().polls(0.5)
    driver.poll(offline())
    driver.event("LogDirReset", "/d1")
    driver.event("LogDirRecovered", "/d1")
    assert driver.status() == "offline"


def test_log_dir_saturated_needs_no_second_sample():
    driver = Driver().polls(0.8)
    driver.event("LogDirSaturated", "/d1")
    assert driver.status() == "saturated"
    assert driver.said()[-1] == ("log_dir_space", "firing", "page")


@pytest.mark.parametrize("cause", [None, "failed"])
def test_what_partitions_lost_is_not_known_before_the_poll_that_follows_an_event(cause):
    """The poll before it counted every partition as well."""
    well = PartitionHealth(leaderless=0, under_min_isr=0, at_min_isr=0, sole_replica=0, out_of_sync=0)
    driver = Driver().poll(log_dir(), partitions=well)
    driver.event(log_dir="/d1", cause=cause)
    assert "can wait until morning: no, because the next poll must show first" in driver.alerts[-1].summary
    driver.poll(offline(), partitions=well)
    assert "can wait until morning: yes, because every partition still has a leader" in driver.alerts[-1].summary
