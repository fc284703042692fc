"""Disks and brokers that Kafka calls healthy and that are not; and alerts that come and go."""

import pytest

from logdirwatch.detect.rules.log_dir_suspect import LEARNING
from tests.unit.detect.builders import POLL_MS, Driver, host_dir, log_dir, suspected

MINUTE_MS = 60_000


def test_a_partition_without_which_a_coordinator_stands_still_is_critical_and_told_first():
    driver = Driver().polls(0.5)
    driver.event("PartitionFailed", "/d1", topic="a", partition=0, detail="CorruptRecordException")
    driver.event(
        "PartitionFailed", "/d1", topic="__consumer_offsets", partition=13, detail="x", reason="coordinator_load"
    )
    (alert,) = driver.open_alerts()
    assert (alert.severity, alert.evidence["why"]) == ("critical", ["__consumer_offsets-13", "a-0"])
    assert alert.evidence["coordinators"] == ["__consumer_offsets-13"]
    assert alert.evidence["log_dirs"] == {"__consumer_offsets-13": "/d1", "a-0": "/d1"}
    assert "__consumer_offsets-13 in /d1" in alert.summary
    assert "can wait until morning: no, because groups or transactions" in alert.summary


def test_a_code_that_is_not_56_is_said_once_however_often_it_comes():
    driver = Driver().polls(0.5)
    for _ in range(5):
        driver.poll(log_dir(error_code=-1))
    assert driver.said("log_dir_suspect") == [("log_dir_suspect", "firing", "warning")]
    driver.polls(0.5)
    assert driver.said("log_dir_suspect")[-1] == ("log_dir_suspect", "resolved", "recovered")


def test_a_directory_without_capacity_is_said_once_however_often_it_comes():
    driver = Driver().polls(0.5)
    for _ in range(5):
        driver.poll(log_dir(used=0, total_bytes=0))
    assert driver.said("log_dir_unknown") == [("log_dir_unknown", "firing", "warning")]


def test_a_read_only_mount_is_suspect_and_a_good_answer_of_kafka_does_not_clear_it():
    driver = Driver().polls(0.5).host(host_dir(is_read_only=True)).polls(0.5)
    assert suspected(driver) == [("/d1", ["read_only"])]
    assert driver.status() == "online", "what is suspected is no status"
    driver.host(host_dir(is_read_only=False))
    assert suspected(driver) == []


def test_suspicions_add_up_in_one_alert_that_ends_with_the_last_of_them():
    driver = Driver().polls(0.5).host(host_dir(is_read_only=True)).host(host_dir(is_read_only=True, probe_error="EIO"))
    assert suspected(driver) == [("/d1", ["probe", "read_only"])]
    driver.host(host_dir(is_read_only=False, probe_error="EIO"))
    assert suspected(driver) == [("/d1", ["probe"])]
    driver.host(host_dir(is_read_only=False, probe_ms=2.0))
    assert suspected(driver) == []
    assert len({alert.alert_id for alert in driver.alerts}) == 1


def test_a_disk_that_became_slow_is_suspect_against_its_own_past():
    driver = Driver().polls(0.5)
    for _ in range(LEARNING):
        driver.host(host_dir(probe_ms=4.0))
    driver.host(host_dir(probe_ms=900.0)).host(host_dir(probe_ms=900.0)).host(host_dir(probe_ms=5.0))
    assert suspected(driver) == [], "two slow ones in a row are chance"
    for _ in range(3):
        driver.host(host_dir(probe_ms=900.0))
    assert suspected(driver) == [("/d1", ["slow_probe"])]
    assert "took 900 ms, usually 4 ms" in driver.open_alerts()[0].summary
    driver.host(host_dir(probe_ms=5.0))
    assert suspected(driver) == []


def test_slow_probes_count_only_in_a_row():
    driver = Driver().polls(0.5)
    for _ in range(LEARNING):
        driver.host(host_dir(probe_ms=4.0))
    for took_ms in (900.0, 900.0, 5.0, 900.0, 900.0, 5.0, 900.0, 900.0):
        driver.host(host_dir(probe_ms=took_ms))
    assert suspected(driver) == []
    driver.host(host_dir(probe_ms=900.0))
    assert suspected(driver) == [("/d1", ["slow_probe"])]


@pytest.mark.parametrize(("took_ms", "is_slow"), [(1_000.0, False), (1_001.0, True)])
def test_slow_is_more_than_five_times_the_usual(took_ms, is_slow):
    driver = Driver().polls(0.5)
    for _ in range(LEARNING):
        driver.host(host_dir(probe_ms=200.0))
    for _ in range(3):
        driver.host(host_dir(probe_ms=took_ms))
    assert bool(suspected(driver)) is is_slow


def test_nothing_is_slow_before_enough_was_learned():
    driver = Driver().polls(0.5)
    for _ in range(LEARNING - 1):
        driver.host(host_dir(probe_ms=2.0))
    driver.host(host_dir(probe_ms=2_000.0))
    assert driver.memory.log_dirs["/d1"].probe.slow_samples == 0
    driver.host(host_dir(probe_ms=2_000.0))
    assert driver.memory.log_dirs["/d1"].probe.slow_samples == 1


def test_the_usual_time_is_learned_at_a_twentieth_a_sample_once_it_is_known():
    driver = Driver().polls(0.5)
    for probe_ms in (10.0, 20.0, 30.0):
        driver.host(host_dir(probe_ms=probe_ms))
    assert driver.memory.log_dirs["/d1"].probe.usual_ms == pytest.approx(20.0)
    for _ in range(LEARNING):
        driver.host(host_dir(probe_ms=20.0))
    driver.host(host_dir(probe_ms=40.0))
    assert driver.memory.log_dirs["/d1"].probe.usual_ms == pytest.approx(21.0)


def test_a_disk_that_was_never_quick_is_not_suspect_and_neither_is_one_nobody_knows_yet():
    driver = Driver().polls(0.5)
    for _ in range(2 * LEARNING):
        driver.host(host_dir(probe_ms=400.0))
    assert suspected(driver) == []


def test_slow_flushes_make_the_broker_suspect():
    driver = Driver()
    for _ in range(LEARNING):
        driver.poll(log_dir(), metrics={"LogFlushTimeMs:p99": 10.0})
    for _ in range(3):
        driver.poll(log_dir(), metrics={"LogFlushTimeMs:p99": 2_000.0})
    assert suspected(driver) == [(None, ["slow_flush"])]
    driver.poll(log_dir(), metrics={})
    assert suspected(driver) == [(None, ["slow_flush"])], "no gauge is no evidence of health"
    driver.poll(log_dir(), metrics={"LogFlushTimeMs:p99": 12.0})
    assert suspected(driver) == []


def test_one_slow_scrape_that_three_polls_carry_is_one():
    driver = Driver()
    for _ in range(LEARNING):
        driver.poll(log_dir(), metrics={"LogFlushTimeMs:p99": 10.0})
    for age_ms in (200, 5_200, 10_200):
        driver.poll(log_dir(), metrics={"LogFlushTimeMs:p99": 2_000.0, "scrape_age_ms": float(age_ms)})
    assert suspected(driver) == []


def test_what_the_host_sees_before_the_broker_reported_the_directory_waits():
    driver = Driver().host(host_dir(is_read_only=True))
    assert driver.alerts == []
    assert driver.memory.log_dirs == {}


def test_a_broker_that_counts_more_offline_directories_than_it_lists_is_suspect():
    driver = Driver()
    count = {"OfflineLogDirectoryCount": 1.0}
    for _ in range(2):
        driver.poll(log_dir("/d1"), log_dir("/d2"), metrics=count)
    driver.poll(log_dir("/d1"), log_dir("/d2", error_code=56), metrics=count)
    assert suspected(driver) == [], "the gauge was read a moment sooner or later"
    for _ in range(3):
        driver.poll(log_dir("/d1"), log_dir("/d2", error_code=56), metrics={"OfflineLogDirectoryCount": 2.0})
    assert suspected(driver) == [(None, ["offline_count"])]
    assert "it counts 2 offline directories and lists 1" in driver.alerts[-1].summary
    driver.poll(log_dir("/d1"), log_dir("/d2", error_code=56), metrics=count)
    assert suspected(driver) == []


def test_placement_reports_that_wait_are_told_after_a_minute():
    driver = Driver()
    for _ in range(12):
        driver.poll(log_dir(), metrics={"QueuedReplicaToDirAssignments": 3.0})
    assert driver.said() == []
    driver.poll(log_dir(), metrics={"QueuedReplicaToDirAssignments": 3.0})
    assert driver.said() == [("placement_reports_stuck", "firing", "warning")]
    driver.poll(log_dir(), metrics={"QueuedReplicaToDirAssignments": 0.0})
    assert driver.said()[-1] == ("placement_reports_stuck", "resolved", "recovered")


@pytest.mark.parametrize("kind", ["slow_flush", "cleaner_dead", "offline_count"])
def test_what_is_held_against_a_broker_is_stale_while_it_is_unknown_and_fresh_when_it_is_seen_again(kind):
    gauges = {"slow_flush": {"LogFlushTimeMs:p99": 9_000.0}, "cleaner_dead": {"DeadThreadCount": 1.0}}
    bad = gauges.get(kind, {"OfflineLogDirectoryCount": 1.0})
    driver = Driver()
    for _ in range(25):
        driver.poll(log_dir(), metrics={"LogFlushTimeMs:p99": 5.0})
    for _ in range(5):
        driver.poll(log_dir(), metrics=bad)
    (alert,) = driver.open_alerts()
    assert (alert.evidence["why"], alert.stale_since_ms) == ([kind], None)
    for _ in range(4):
        driver.poll(status="timeout")
    suspect = [a for a in driver.alerts if a.rule == "log_dir_suspect"]
    assert suspect[-1].stale_since_ms == driver.at_ms - 3 * POLL_MS
    for _ in range(5):
        driver.poll(log_dir(), metrics=bad)
    suspect = [a for a in driver.alerts if a.rule == "log_dir_suspect"]
    assert [a.stale_since_ms is None for a in suspect] == [True, False, True]


def test_what_the_host_still_sees_of_an_unknown_broker_is_not_told_again_with_every_poll():
    driver = Driver().polls(0.5).host(host_dir(probe_error="EIO"))
    for _ in range(10):
        driver.poll(status="timeout").host(host_dir(probe_error="EIO"))
    assert len([a for a in driver.alerts if a.rule == "log_dir_suspect"]) == 3, "seen, stale, seen again"


def test_a_query_that_was_away_makes_nobody_silent():
    driver = Driver().polls(0.5)
    driver.wait(10 * MINUTE_MS)
    assert driver.memory.status == "online"
    driver.wait(30_000)
    assert driver.memory.status == "unknown", "silence counts from when the query was back"
