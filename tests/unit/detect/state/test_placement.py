"""Where the broker's next new replica goes, and who is told so."""

import pytest

from logdirwatch.detect.state import placement
from tests.unit.detect.builders import Driver, log_dir


def held(path, replicas, **fields):
    return log_dir(path, **{"replica_count": replicas, "future_bytes": 0, **fields})


def next_of(*dirs):
    return placement.next_log_dirs(Driver().poll(*dirs).memory.log_dirs)


@pytest.mark.parametrize(
    ("dirs", "chosen"),
    [
        ((held("/d1", 3), held("/d2", 2)), ["/d2"]),
        ((held("/d1", 3), held("/d2", 2, used=0.99)), ["/d2"]),
        ((held("/d1", 2), held("/d2", 2), held("/d3", 9)), ["/d1", "/d2"]),
        ((held("/d1", 3), held("/d2", 2, is_cordoned=True)), ["/d1"]),
        ((held("/d1", 3, is_cordoned=True), held("/d2", 2, is_cordoned=True)), []),
        ((held("/d1", 3), log_dir("/d2", error_code=56)), ["/d1"]),
        ((held("/d1", 3), log_dir("/d2")), None),
        ((held("/d1", 3), log_dir("/d2", error_code=-1)), None),
        ((held("/d1", 3, future_bytes=1), held("/d2", 2)), None),
    ],
    ids=[
        "fewest logs",
        "however full",
        "any of equals",
        "a cordon is kept",
        "nowhere",
        "an offline one is out",
        "not counted yet",
        "kafka may still use it",
        "copies count and are not told",
    ],
)
def test_kafka_takes_the_open_directory_with_the_fewest_logs(dirs, chosen):
    assert next_of(*dirs) == chosen


def filled(**fields):
    driver = Driver()
    for used in (0.5, 0.8, 0.8):
        driver.poll(held("/d1", 2, used=used, **fields), held("/d2", 5))
    return driver.open_alerts()[0]


@pytest.mark.parametrize(
    ("is_cordoned", "takes_new", "says"),
    [
        (False, True, "Kafka may put the broker's next new replica here: cordon it;"),
        (None, True, "Kafka may put the broker's next new replica here;"),
        (True, False, None),
    ],
    ids=["cordons exist", "kafka before 4.3", "cordoned"],
)
def test_a_directory_that_fills_and_is_next_says_so(is_cordoned, takes_new, says):
    alert = filled(is_cordoned=is_cordoned)
    assert alert.evidence["takes_new_replicas"] is takes_new
    assert says in alert.summary if says else "next new replica" not in alert.summary


def test_of_a_single_directory_it_goes_without_saying():
    driver = Driver()
    for used in (0.5, 0.8, 0.8):
        driver.poll(held("/d1", 2, used=used))
    assert driver.open_alerts()[0].evidence["takes_new_replicas"] is True
    assert "next new replica" not in driver.open_alerts()[0].summary


def test_a_failed_directory_says_which_of_the_others_gets_new_replicas():
    driver = Driver().poll(held("/d1", 1), held("/d2", 5), held("/d3", 4))
    driver.poll(log_dir("/d1", error_code=56), held("/d2", 5), held("/d3", 4))
    assert driver.open_alerts()[0].evidence["new_replicas_go_to"] == ["/d3"]
