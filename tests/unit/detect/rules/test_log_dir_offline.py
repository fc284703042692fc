"""Directories that go offline at once: one alert, as long as any of them is away; and causes that are corrected."""

import pytest

from logdirwatch.model.identity import alert_id
from logdirwatch.model.vocabulary import POLLED_FAILURE
from tests.unit.detect.builders import POLL_MS, T0, Driver, host_dir, log_dir

PATHS = ("/d1", "/d2", "/d3")


def poll(driver, *offline, paths=PATHS, **fields):
    return driver.poll(*(log_dir(path, 0.5, error_code=56 if path in offline else 0) for path in paths), **fields)


def away(driver):
    """Of every open alert: where it is kept, and what it tells of."""
    told = driver.open_alerts()
    return {alert.log_dir: list(alert.evidence.get("log_dirs", [alert.log_dir])) for alert in told}


def test_directories_of_one_poll_have_one_alert_that_names_all_with_what_is_believed_of_each():
    driver = poll(poll(Driver()), "/d1", "/d2")
    (alert,) = driver.alerts
    assert (alert.log_dir, alert.revision, alert.cause) == ("/d1", 1, "unknown")
    assert {path: one["decided_by"] for path, one in alert.evidence["log_dirs"].items()} == {
        "/d1": "several_at_once",
        "/d2": "several_at_once",
    }
    assert {t.log_dir for t in driver.transitions if t.to_status == "offline"} == {"/d1", "/d2"}


def test_one_directory_alone_has_no_list():
    assert "log_dirs" not in poll(poll(Driver()), "/d2").alerts[0].evidence


def test_replicas_of_all_of_them_count_as_affected_and_are_not_known_when_one_is_not():
    counted = Driver()
    for _ in range(2):
        counted.poll(*(log_dir(path, 0.5, replica_count=5, replica_bytes=7) for path in PATHS))
    poll(counted, "/d1", "/d2")
    assert counted.alerts[0].affected["replica_count"] == 10
    assert "10 replicas unavailable there" in counted.alerts[0].summary
    partly = Driver().poll(log_dir("/d1", replica_count=1), log_dir("/d2"), log_dir("/d3"))
    assert poll(partly, "/d1", "/d2").alerts[-1].affected["replica_count"] is None


def test_a_directory_that_follows_with_the_next_poll_joins_and_one_that_comes_later_does_not():
    driver = poll(poll(poll(Driver()), "/d2"), "/d1", "/d2")
    assert away(driver) == {"/d2": ["/d2", "/d1"]}
    for _ in range(3):
        poll(driver, "/d1", "/d2")
    poll(driver, *PATHS)
    assert away(driver) == {"/d2": ["/d2", "/d1"], "/d3": ["/d3"]}


def test_every_fast_alert_of_directories_that_go_at_once_is_merged_into_the_first():
    driver = poll(Driver())
    for path in PATHS:
        driver.event(log_dir=path, after_ms=100)
    first = alert_id("prod", 7, "/d1", "log_dir_offline", f"logdir.events/0/0/{T0 + POLL_MS + 100}")
    others = [
        alert_id("prod", 7, path, "log_dir_offline", f"logdir.events/0/{n}/{T0 + POLL_MS + 100 * (n + 1)}")
        for n, path in ((1, "/d2"), (2, "/d3"))
    ]
    assert [alert.alert_id for alert in driver.open_alerts()] == [first]
    merged = {alert.alert_id: alert.merged_into for alert in driver.alerts if alert.reason == "merged"}
    assert merged == dict.fromkeys(others, first)
    poll(driver, *PATHS)
    assert away(driver) == {"/d1": ["/d1", "/d2", "/d3"]}


def test_an_event_about_one_that_is_told_already_is_merged_and_its_cause_is_taken():
    driver = poll(poll(Driver()), "/d1", "/d2")
    opened = driver.alerts[0].alert_id
    driver.event(log_dir="/d2", cause="limit", detail="Too many open files")
    assert driver.alerts[-2].merged_into == opened
    assert (driver.alerts[-1].alert_id, driver.alerts[-1].cause) == (opened, "limit")
    assert driver.cause("/d2") == "limit"


def test_the_same_records_again_make_the_same_alerts():
    def play():
        driver = poll(Driver())
        driver.event(log_dir="/d2", after_ms=10).event(log_dir="/d1", after_ms=10)
        for offline in (PATHS, PATHS, ("/d3",), ()):
            poll(driver, *offline)
        return driver

    assert play().alerts == play().alerts
    assert {alert.reason for alert in play().alerts if alert.status == "resolved"} == {"merged", "recovered"}


def test_the_alert_ends_when_all_are_back_and_says_which_are_not():
    driver = poll(poll(Driver()), *PATHS)
    opened = driver.alerts[0].alert_id
    poll(driver, "/d2", "/d3")
    assert away(driver) == {"/d1": ["/d2", "/d3"]}, "it stays where it was opened"
    poll(driver, "/d3")
    assert "Broker 7 /d3 is offline" in driver.open_alerts()[0].summary
    poll(driver)
    assert driver.open_alerts() == []
    assert {alert.alert_id for alert in driver.alerts if alert.rule == "log_dir_offline"} == {opened}
    assert driver.alerts[-1].reason == "recovered"
    assert all(log_dir.carrier is None for log_dir in driver.memory.log_dirs.values())


def test_one_that_was_back_and_fails_again_has_an_alert_of_its_own():
    driver = poll(poll(Driver()), *PATHS)
    for _ in range(5):
        poll(driver, "/d1")
    poll(driver, "/d1", "/d3")
    assert away(driver) == {"/d1": ["/d1"], "/d3": ["/d3"]}


def test_a_directory_whose_carrier_leaves_log_dirs_is_told_of_anew():
    driver = poll(poll(Driver()), "/d1", "/d2")
    poll(driver, "/d2", paths=("/d2", "/d3"), configs={"log.dirs": "/d2,/d3"})
    assert away(driver) == {"/d2": ["/d2"]}
    assert [a.reason for a in driver.alerts if a.status == "resolved"] == ["no longer in log.dirs"]


def test_a_correction_is_one_revision_and_says_what_decided():
    driver = poll(poll(Driver()), "/d1")
    driver.host(host_dir("/d1", is_read_only=True))
    assert [(a.revision, a.cause, a.evidence["decided_by"]) for a in driver.alerts] == [
        (1, "unknown", "space_was_left"),
        (2, "read_only", "host_read_only"),
    ]
    for _ in range(3):
        poll(driver, "/d1").host(host_dir("/d1", is_read_only=True))
    assert len(driver.alerts) == 2, "nothing new, nothing said"


def test_a_clean_look_takes_nothing_back():
    driver = poll(poll(Driver()), "/d1")
    driver.host(host_dir("/d1", is_read_only=True)).host(host_dir("/d1", is_read_only=False, probe_ms=1.0))
    assert driver.cause() == "read_only"


def test_a_directory_that_fails_anew_is_judged_anew():
    driver = poll(Driver()).event(log_dir="/d1", cause="limit", detail="Too many open files")
    poll(poll(driver, "/d1"))
    driver.event(log_dir="/d1", cause="permission", detail="Permission denied")
    assert driver.cause() == "permission"
    poll(driver, "/d1")
    assert driver.open_alerts()[0].evidence["event_detail"] == "Permission denied"


def test_what_a_collector_says_of_its_poll_is_not_quoted_as_a_line_of_the_brokers_log():
    driver = poll(Driver()).event(log_dir="/d1", cause="unknown", detail=POLLED_FAILURE)
    assert "log says" not in driver.alerts[-1].summary
    assert (driver.alerts[-1].evidence["event_detail"], driver.alerts[-1].evidence["said"]) == (None, None)


@pytest.mark.parametrize("is_first", [True, False])
def test_a_line_of_the_log_that_names_no_cause_is_told_beside_the_poll_whichever_comes_first(is_first):
    line = "delete failed: java.nio.file.NoSuchFileException: /d1/t-0/1.log"
    driver = poll(Driver())
    for detail in (line, POLLED_FAILURE) if is_first else (POLLED_FAILURE, line):
        driver.event(log_dir="/d1", cause="unknown", detail=detail)
    assert f"the broker's log says: {line}" in driver.open_alerts()[0].summary
    told = len(driver.alerts)
    assert len(poll(poll(driver, "/d1"), "/d1").alerts) == told + 1, "that Kafka confirms it is said once"


def test_directories_that_were_never_seen_to_serve_share_an_alert_and_prove_no_common_fault():
    driver = poll(Driver(), "/d1", "/d2")
    (alert,) = driver.alerts
    assert {one["decided_by"] for one in alert.evidence["log_dirs"].values()} == {"no_sample_before"}


def failed_after(ms, **seen):
    """A look that finds something wrong, and so much later the first answer that a directory is offline."""
    driver = poll(Driver()).host(host_dir("/d1", volume="dev 8:16", probe_ms=1.0))
    driver.host(host_dir("/d1", volume="dev 8:16", **seen))
    driver.at_ms += ms - POLL_MS
    return poll(driver, "/d1")


@pytest.mark.parametrize(
    ("ms", "seen", "cause"),
    [
        (30_000, {"is_read_only": True}, "read_only"),
        (30_001, {"is_read_only": True}, "unknown"),
        (3_600_000, {"kernel_error": "I/O error", "kernel_cause": "failed"}, "failed"),
        (3_600_001, {"kernel_error": "I/O error", "kernel_cause": "failed"}, "unknown"),
        (30_000, {"kernel_error": "something odd", "kernel_cause": "of a later release"}, "unknown"),
        (30_000, {"total_inodes": 1_000, "free_inodes": 5}, "full"),
        (30_000, {"total_inodes": 1_000, "free_inodes": 6}, "unknown"),
    ],
)
def test_what_was_seen_before_explains_a_failure_only_when_it_is_near(ms, seen, cause):
    assert failed_after(ms, **seen).cause("/d1") == cause


def test_an_error_of_the_device_is_not_displaced_by_a_lesser_word_of_the_kernel():
    driver = poll(Driver())
    driver.host(host_dir("/d1", kernel_error="I/O error, dev sdd", kernel_cause="failed", device="sdd"))
    driver.host(host_dir("/d1", kernel_error="shut down", kernel_cause="file_system", device="sdd1"))
    assert poll(driver, "/d1").cause("/d1") == "failed"
    assert driver.open_alerts()[-1].evidence["device"] == "sdd"
