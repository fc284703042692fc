"""A directory whose replicas fall out of sync while its neighbours keep up."""

import pytest

from logdirwatch.detect.rules import lagging_replicas
from logdirwatch.detect.settings import DetectSettings
from logdirwatch.model.records import ReplicaMoves
from tests.unit.detect.builders import POLL_MS, Driver, log_dir


def scanned(driver, *behind, replicas=50):
    """A poll that carries the counts of a new scan; ``behind`` are those of /d1, /d2, ..."""
    dirs = [
        log_dir(f"/d{place}", replica_count=replicas, out_of_sync_count=count) for place, count in enumerate(behind, 1)
    ]
    return driver.poll(*dirs, moves=ReplicaMoves(at_ms=driver.at_ms + POLL_MS))


def suspects(driver):
    """What the revisions of log_dir_suspect said: (log_dir, status, why)."""
    return [
        (alert.log_dir, str(alert.status), alert.evidence.get("why"))
        for alert in driver.alerts
        if alert.rule == "log_dir_suspect"
    ]


def test_three_scans_in_which_one_directory_lags_make_it_suspect_and_one_in_which_it_does_not_ends_it():
    driver = Driver()
    for behind in (0, 10, 10):
        scanned(driver, behind, 0, 0)
    assert suspects(driver) == []
    scanned(driver, 10, 0, 0)
    assert suspects(driver) == [("/d1", "firing", ["lagging"])]
    assert "10 of its 50 replicas are out of sync" in driver.alerts[-1].summary
    scanned(driver, 11, 0, 0)
    assert len(suspects(driver)) == 1
    scanned(driver, 1, 0, 0)
    assert [status for _, status, _ in suspects(driver)] == ["firing", "resolved"]


def test_polls_that_repeat_one_scan_count_once():
    driver = Driver()
    scanned(driver, 0, 0)
    at_ms = driver.at_ms + POLL_MS
    for _ in range(6):
        lagging_one = log_dir("/d1", replica_count=50, out_of_sync_count=20)
        other = log_dir("/d2", replica_count=50, out_of_sync_count=0)
        driver.poll(lagging_one, other, moves=ReplicaMoves(at_ms=at_ms))
    assert suspects(driver) == []


def test_what_lags_everywhere_is_not_the_disk():
    driver = Driver()
    scanned(driver, 0, 0, 0)
    for _ in range(7):
        scanned(driver, 20, 15, 10)
    assert suspects(driver) == []


def test_a_directory_that_catches_up_after_a_restart_is_left_alone_until_it_has_kept_up_once():
    driver = Driver()
    scanned(driver, 0, 0)
    driver.poll(status="timeout")
    scanned(driver, 50, 50)  # all of them, at first
    for _ in range(5):
        scanned(driver, 50, 0)
    assert suspects(driver) == []
    scanned(driver, 0, 0)
    for _ in range(3):
        scanned(driver, 50, 0)
    assert suspects(driver) == [("/d1", "firing", ["lagging"])]


def test_a_lone_directory_and_counts_that_nobody_knows_decide_nothing():
    alone, unknown = Driver(), Driver()
    for behind in (0, 30, 30, 30, 30):
        scanned(alone, behind)
        scanned(unknown, None, None)
    assert suspects(alone) == suspects(unknown) == []


@pytest.mark.parametrize(
    ("count", "others", "expected"),
    [
        ((50, 5), (100, 0), True),
        ((50, 4), (100, 0), False),  # below the share
        ((10, 2), (100, 0), False),  # below the number
        ((50, 25), (100, 10), False),  # five times as many, not more
        ((50, 26), (100, 10), True),
        ((50, 50), (0, 0), False),
    ],
)
def test_who_stands_out(count, others, expected):
    assert (
        lagging_replicas.stands_out(lagging_replicas.Sync(*count), lagging_replicas.Sync(*others), DetectSettings())
        is expected
    )
