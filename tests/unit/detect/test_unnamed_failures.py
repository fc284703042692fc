"""Failures that name no directory wait for one to turn offline, and each of their alerts is answered."""

from logdirwatch.detect import machine
from logdirwatch.detect.unnamed_failures import MOST
from logdirwatch.model.identity import alert_id
from tests.unit.detect.builders import POLL_MS, Driver, log_dir, offline


def test_a_bare_event_waits_and_the_one_directory_that_fails_carries_its_alert():
    driver = Driver()
    driver.poll(log_dir("/d1"), log_dir("/d2"))
    driver.event()
    assert driver.alerts == []
    driver.poll(log_dir("/d1"), offline("/d2"))
    alert = driver.alerts[-1]
    assert alert.alert_id == alert_id("prod", 7, None, "log_dir_offline", f"logdir.events/0/0/{driver.at_ms - POLL_MS}")
    assert (alert.log_dir, alert.status) == ("/d2", "firing")


def test_a_bare_event_with_two_failing_directories_is_carried_on_by_the_alert_that_they_share():
    driver = Driver()
    driver.poll(log_dir("/d1"), log_dir("/d2"))
    driver.event()
    driver.poll(offline("/d1"), offline("/d2"))
    (alert,) = driver.alerts
    assert alert.alert_id == alert_id("prod", 7, None, "log_dir_offline", f"logdir.events/0/0/{driver.at_ms - POLL_MS}")
    assert (alert.log_dir, list(alert.evidence["log_dirs"])) == ("/d1", ["/d1", "/d2"])


def test_a_bare_event_after_the_directory_failed_is_merged():
    driver = Driver().polls(0.5)
    driver.poll(offline())
    driver.event()
    assert driver.said()[-1] == ("log_dir_offline", "resolved", "merged")


def test_a_bare_event_before_the_collectors_own_is_merged_into_it():
    driver = Driver().polls(0.5)
    driver.event()
    driver.event(log_dir="/d1")
    assert [(a.reason, a.log_dir) for a in driver.alerts] == [(None, "/d1"), ("merged", None)]
    assert driver.alerts[1].merged_into == driver.alerts[0].alert_id
    driver.poll(offline())
    driver.wait(120_000)
    assert len(driver.open_alerts()) == 1
    assert "unconfirmed" not in {alert.reason for alert in driver.alerts}


def test_a_bare_event_that_no_directory_follows_is_closed_after_a_minute():
    driver = Driver().polls(0.5)
    driver.event()
    for _ in range(11):
        driver.polls(0.5).wait(0)
    assert driver.alerts == []
    driver.polls(0.5).wait(0)
    assert driver.said() == [("log_dir_offline", "resolved", "unconfirmed")]


def test_a_bare_event_is_not_closed_while_the_broker_does_not_answer():
    driver = Driver().polls(0.5)
    driver.event()
    driver.wait(120_000)
    assert driver.alerts == []
    assert machine.next_deadline_ms(driver.memory, driver.settings) > driver.at_ms, "no timer fires again and again"
    driver.poll(status="timeout").wait(120_000)
    assert driver.said() == []
    driver.polls(0.5).wait(0)
    assert driver.said() == [("log_dir_offline", "resolved", "unconfirmed")]


def test_however_many_failures_name_no_directory_each_of_their_fast_alerts_is_answered():
    driver = Driver().polls(0.5)
    for _ in range(MOST + 2):
        driver.event()
    assert len(driver.memory.pending) == MOST
    assert driver.said() == [("log_dir_offline", "resolved", "unconfirmed")] * 2
