"""What keeps bytes on a disk, as the broker's gauges tell it: a dead log cleaner, remote storage that lags."""

import pytest

from logdirwatch.detect.state.broker_state import decode
from logdirwatch.detect.state_view import state_record
from logdirwatch.model.records import DecisionRecord
from logdirwatch.model.vocabulary import Decision, PollStatus
from tests.unit.detect.builders import GIB, Driver, log_dir, suspected

DEAD = {"DeadThreadCount": 1.0}
WELL = {"DeadThreadCount": 0.0, "UncleanableBytes:/d1": 0.0}


def space_alert(driver):
    (alert,) = [alert for alert in driver.open_alerts() if alert.rule == "log_dir_space"]
    return alert


def test_a_dead_thread_is_held_against_the_broker_until_it_runs_again():
    driver = Driver().poll(log_dir(), metrics=WELL)
    assert suspected(driver) == []
    for _ in range(3):
        driver.poll(log_dir(), metrics=DEAD)
    assert suspected(driver) == [(None, ["cleaner_dead"])]
    assert driver.said() == [("log_dir_suspect", "firing", "warning")], "said once"
    summary = driver.open_alerts()[0].summary
    assert "a thread of its log cleaner died: compacted topics may grow indefinitely" in summary
    assert "can wait until morning: yes, while its directories have space, because no disk is suspect" in summary
    driver.poll(log_dir(), metrics={"scrape_ok": 0.0}).poll(log_dir())
    assert suspected(driver), "what is not seen is not well"
    driver.poll(log_dir(), metrics=WELL)
    assert suspected(driver) == []


def test_the_log_tells_of_a_dead_thread_where_no_gauge_is_seen():
    driver = Driver().poll(log_dir()).event("LogCleanerDied", detail="a thread of the log cleaner died: 3 messages")
    driver.poll(log_dir()).poll(log_dir(), metrics={"scrape_ok": 0.0})
    assert suspected(driver) == [(None, ["cleaner_dead"])]
    assert "compacted topics may grow indefinitely (a thread of the log cleaner died: 3 messages)" in (
        driver.open_alerts()[0].summary
    )
    driver.event("LogCleanerStarted")
    assert suspected(driver), "an event ends no alert"
    driver.poll(log_dir())
    assert suspected(driver) == []
    driver.event("LogCleanerDied").poll(log_dir(), metrics=WELL)
    assert suspected(driver) == [], "its dead threads are counted, and there are none"


@pytest.mark.parametrize(("metrics", "is_over"), [({}, True), (DEAD, False)])
def test_a_person_who_says_that_the_cleaner_runs_is_believed_unless_it_is_counted(metrics, is_over):
    driver = Driver().poll(log_dir(), metrics=metrics).event("LogCleanerDied")
    driver.at_ms += 1
    driver.show(
        DecisionRecord(
            version=1, id="x", decision=Decision.HEALTHY, by="ada", reason="seen", at_ms=driver.at_ms, cluster="prod",
            broker=7,
        )
    )  # fmt: skip
    assert (suspected(driver) == []) is is_over


def test_a_disk_in_doubt_besides_is_said():
    driver = Driver().poll(log_dir(), metrics=DEAD)
    for _ in range(3):
        driver.poll(log_dir(), metrics={**DEAD, "OfflineLogDirectoryCount": 1.0})
    assert suspected(driver) == [(None, ["cleaner_dead", "offline_count"])]
    assert "but a disk that behaves like this may be failing" in driver.open_alerts()[0].summary


def test_a_directory_that_fills_says_what_compaction_does_not_clean():
    driver = Driver()
    for _ in range(3):
        driver.poll(log_dir(used=0.5), metrics={"DeadThreadCount": 2.0, "UncleanableBytes:/d1": 3.0 * GIB})
    driver.polls(0.8, 0.8)
    alert = space_alert(driver)
    assert (alert.evidence["dead_cleaner_threads"], alert.evidence["uncleanable_bytes"]) == (2, 3 * GIB)
    assert "2 threads of the broker's log cleaner died" in alert.summary
    assert "its log cleaner gave up on partitions with 3 GiB to clean" in alert.summary


def test_a_cleaner_that_is_well_or_unknown_is_no_part_of_the_sentence():
    for metrics, told in ((WELL, (0, 0)), ({}, (None, None))):
        driver = Driver().poll(log_dir(), metrics=metrics).polls(0.8, 0.8)
        alert = space_alert(driver)
        assert (alert.evidence["dead_cleaner_threads"], alert.evidence["uncleanable_bytes"]) == told
        assert "cleaner" not in alert.summary


def test_gauges_that_a_scrape_leaves_out_are_unknown_and_another_collectors_poll_changes_nothing():
    driver = Driver().poll(log_dir(), metrics={**DEAD, "UncleanableBytes:/d1": 5.0})
    driver.poll(log_dir(), collector="c2")
    assert driver.memory.log_dirs["/d1"].uncleanable_bytes == 5
    driver.poll(log_dir(), metrics={"scrape_ok": 0.0})
    assert (driver.memory.dead_cleaner_threads, driver.memory.log_dirs["/d1"].uncleanable_bytes) == (None, None)


def test_what_was_remembered_before_there_were_gauges_of_it_is_read():
    memory = decode(1, '{"cluster":"prod","broker":7,"log_dirs":{"/d1":{"status":"online"}}}')
    assert (memory.dead_cleaner_threads, memory.log_dirs["/d1"].uncleanable_bytes) == (None, None)


@pytest.mark.parametrize(
    ("lag_bytes", "says"),
    [
        (8 * GIB, "8 GiB on this broker wait to be copied to remote storage, and stay until then;"),
        (7 * GIB, None),
        (0, None),
        (None, None),
    ],
    ids=["a share of what is used", "segments that were just closed", "none", "nobody knows"],
)
def test_what_remote_storage_has_not_got_yet_is_a_cause_of_growth(lag_bytes, says):
    gauges = {"scrape_ok": 1.0} if lag_bytes is None else {"RemoteCopyLagBytes": float(lag_bytes)}
    driver = Driver().poll(log_dir(), metrics=gauges).polls(0.8, 0.8)
    alert = space_alert(driver)
    assert alert.evidence["remote_copy_lag_bytes"] == lag_bytes
    assert says in alert.summary if says else "remote storage" not in alert.summary


def test_the_state_tells_what_remote_storage_has_not_got_yet_while_the_broker_tells_it():
    driver = Driver().poll(log_dir(), metrics={"RemoteCopyLagBytes": 5.0})
    assert state_record(driver.memory, []).remote_copy_lag_bytes == 5
    driver.poll(status=PollStatus.TIMEOUT)
    assert state_record(driver.memory, []).remote_copy_lag_bytes is None
