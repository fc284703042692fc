"""Tasks and threads of a broker that fail: a hint at once, a suspicion once they last, and ended by evidence."""

import pytest

from logdirwatch.detect.rules.broker_tasks import TOLD_AFTER_MS
from logdirwatch.detect.rules.remote_copies import SILENT_MS
from tests.unit.detect.builders import POLL_MS, Driver, Scans, host_view, log_dir, suspicions
from tests.unit.detect.rules.test_kernel_errors import healthy

RETENTION, COPIES, OPEN_FILES = "kafka-log-retention", "ReplicaAlterLogDirsThread-0", "open_files"
OFTEN_MS = 600_000


def fails(driver, task, after_ms=1):
    return driver.event("BrokerTaskFailed", reason=task, detail="java.lang.IllegalStateException: x", after_ms=after_ms)


def polls(driver, ms, *dirs):
    for _ in range(ms // POLL_MS):
        driver.poll(*(dirs or (log_dir(),)))
    return driver


def fails_for_an_hour(task):
    driver = Driver().polls(0.5)
    for _ in range(TOLD_AFTER_MS // OFTEN_MS + 1):
        fails(driver, task)
        polls(driver, OFTEN_MS)
    return driver


@pytest.mark.parametrize("task", [RETENTION, "kafka-delete-logs", "delete-file"])
def test_a_task_that_frees_no_bytes_is_a_hint_in_an_alert_of_space_at_once(task):
    driver = Driver().polls(0.5, 0.8, 0.8)
    (before,) = driver.open_alerts()
    fails(driver, task).polls(0.8)
    (after,) = driver.open_alerts()
    assert after.revision == before.revision + 1
    assert f"the broker's task {task} fails" in after.summary
    assert after.evidence["keeps_growing"] == [task]


@pytest.mark.parametrize("task", ["kafka-log-flusher", COPIES, OPEN_FILES])
def test_what_keeps_no_bytes_is_no_hint_there(task):
    driver = fails(Driver().polls(0.5, 0.8, 0.8), task).polls(0.8)
    (alert,) = [alert for alert in driver.open_alerts() if alert.rule == "log_dir_space"]
    assert alert.evidence["keeps_growing"] is None


def test_a_thread_that_copies_and_died_is_a_hint_where_its_moves_stand_still():
    driver = Scans().scan(log_dir("/d1", incoming_bytes=10))
    fails(driver, COPIES)
    driver.scans(16, log_dir("/d1", incoming_bytes=10))
    (alert,) = [alert for alert in driver.open_alerts() if alert.rule == "move_stalled"]
    assert f"the broker's thread {COPIES} died" in alert.summary
    assert "only a restart" in alert.summary


def test_a_task_that_fails_at_each_run_is_a_warning_after_an_hour_and_one_exception_is_none():
    driver = polls(fails(Driver().polls(0.5), RETENTION), TOLD_AFTER_MS + POLL_MS)
    assert suspicions(driver) == []
    driver = fails_for_an_hour(RETENTION)
    assert suspicions(driver) == [["task_fails"]]
    assert [alert.severity for alert in driver.open_alerts()] == ["warning"]
    assert "no old segment is deleted" in driver.open_alerts()[0].summary


def test_a_dead_thread_is_a_warning_after_an_hour_until_it_runs_again():
    driver = polls(fails(Driver().polls(0.5), COPIES), TOLD_AFTER_MS + POLL_MS)
    assert suspicions(driver) == [["task_fails"]]
    polls(driver.show(host_view(driver.at_ms, log_entries=9)), SILENT_MS + POLL_MS)
    assert suspicions(driver) == [["task_fails"]], "that a log says nothing of it brings no thread back"
    driver.event("BrokerTaskResumed", reason=COPIES)
    assert suspicions(driver) == []


def test_reads_that_fail_are_told_at_once_until_the_broker_starts_again():
    driver = fails(Driver().polls(0.5), "read_errors").polls(0.5)
    assert suspicions(driver) == [["read_errors"]]
    assert "a disk cannot be read, and its directory stays online" in driver.open_alerts()[0].summary
    for _ in range(SILENT_MS // 60_000 + 1):
        polls(driver, 60_000).show(host_view(driver.at_ms, log_entries=9))
    assert suspicions(driver) == [["read_errors"]], "a consumer that gave up proves nothing"
    driver.event("BrokerTaskResumed", reason="read_errors").polls(0.5)
    assert suspicions(driver) == []


def test_too_many_open_files_are_a_warning_at_once():
    driver = fails(Driver().polls(0.5), OPEN_FILES).polls(0.5)
    assert suspicions(driver) == [["open_files"]]
    (alert,) = driver.open_alerts()
    assert (alert.severity, alert.log_dir) == ("warning", None)
    assert "its limit of open files is reached" in alert.summary
    assert "can wait until morning: no" in alert.summary


@pytest.mark.parametrize("is_read", [True, False])
def test_it_is_over_when_a_log_that_is_read_has_not_named_it_for_an_hour(is_read):
    driver = fails(Driver().polls(0.5), OPEN_FILES)
    for _ in range(SILENT_MS // 60_000 + 1):
        polls(driver, 60_000)
        if is_read:
            driver.show(host_view(driver.at_ms, log_entries=9))
    driver.polls(0.5)
    assert suspicions(driver) == ([] if is_read else [["open_files"]])


def test_a_person_may_declare_it_healthy():
    driver = fails_for_an_hour(RETENTION)
    healthy(driver, path=None)
    assert suspicions(driver) == []
