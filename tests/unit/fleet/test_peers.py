"""log_dir_suspect of a cluster: brokers whose disks are slow beside all others."""

import pytest

from logdirwatch.detect.settings import DetectSettings
from logdirwatch.fleet.memory import restored
from logdirwatch.fleet.peers import slow_brokers
from logdirwatch.fleet.settings import FleetSettings
from tests.unit.fleet.builders import IMPATIENT, REFRESH_MS, Driver, log_dir

AT_ONCE = IMPATIENT.model_copy(update={"peers_after_ms": 0, "peers_hold_ms": 0})
RULE = "log_dir_suspect"


def flushing(driver, *times_ms, after_ms=0):
    """A state record of every broker, with how long it takes to flush."""
    for broker, flush_ms in enumerate(times_ms, 1):
        driver.show(broker, flush_ms=flush_ms, after_ms=after_ms if broker == 1 else 0)
    return driver


def slow(*times_ms, peers_min=3):
    driver = flushing(Driver(AT_ONCE), *times_ms)
    return [(each.broker, each.others_ms) for each in slow_brokers(driver.memory, peers_min, DetectSettings())]


@pytest.mark.parametrize(
    ("times_ms", "expected"),
    [
        ((10, 12, 14, 900), [(4, 12)]),
        ((10, 12, 14, 99), []),  # too short to matter
        ((150, 160, 170, 800), []),  # slow disks everywhere: not more than five times as slow
        ((150, 160, 170, 900), [(4, 160)]),
        ((10, 12, 900), []),  # too few to compare with
        ((10, 12, None, 900), []),
        ((10, 12, 14, 16, 18, 800, 900), [(7, 15), (6, 15)]),
        ((None, None, None, None), []),
    ],
)
def test_who_stands_out(times_ms, expected):
    assert slow(*times_ms) == expected


def test_it_must_last_and_be_over_for_a_while():
    settings = FleetSettings()
    driver = Driver(settings)
    for _ in range(settings.peers_after_ms // REFRESH_MS):
        flushing(driver, 10, 12, 14, 900, after_ms=REFRESH_MS)
    assert driver.firing() == []
    flushing(driver, 10, 12, 14, 900, after_ms=REFRESH_MS)
    assert driver.firing() == [(RULE, None)]
    assert "broker 4 takes 900 ms to flush a log (p99), the others 12 ms" in driver.alerts[-1].summary
    assert driver.alerts[-1].evidence["slow_brokers"][0]["log_dirs"] == ["/d1"]
    assert driver.alerts[-1].evidence["compared_brokers"] == 4
    assert driver.alerts[-1].affected == {"brokers": 1, "examples": ["4"]}
    for _ in range(settings.peers_hold_ms // REFRESH_MS):
        flushing(driver, 10, 12, 14, 13, after_ms=REFRESH_MS)
    assert driver.firing() == [(RULE, None)]
    flushing(driver, 10, 12, 14, 13, after_ms=REFRESH_MS)
    assert driver.said(RULE) == [(RULE, None, "firing", "warning"), (RULE, None, "resolved", "recovered")]


def test_numbers_that_move_are_no_news_another_broker_is():
    driver = Driver(AT_ONCE)
    for number in range(5):
        flushing(driver, 10, 12, 14, 900 + 50 * number, after_ms=REFRESH_MS)
    assert len(driver.said(RULE)) == 1
    flushing(driver, 10, 12, 14, 15, 16, 800, 900, after_ms=REFRESH_MS)
    assert [alert.affected["examples"] for alert in driver.alerts][-1] == ["7", "6"]


def test_a_slow_broker_that_does_not_answer_any_more_is_not_well_until_it_is_seen_to_be_fast():
    driver = flushing(Driver(AT_ONCE), 10, 12, 14, 900)
    driver.show(4, log_dir(status="unknown"), status="unknown", reason="timeout")
    driver.show(4)
    assert driver.firing() == [(RULE, None)]
    driver.show(4, flush_ms=12.0)
    assert driver.said(RULE)[-1] == (RULE, None, "resolved", "recovered")


def test_a_lost_checkpoint_carries_it_on_and_leaves_the_alerts_of_single_brokers_to_detect():
    driver = flushing(Driver(AT_ONCE), 10, 12, 14, 900)
    (alert,) = driver.alerts
    (memory,) = restored([alert])
    assert memory.alerts[f"{RULE}/*"].alert_id == alert.alert_id
