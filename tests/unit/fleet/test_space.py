"""fleet_space: many fill together, and what is left cannot take it."""

import pytest

from logdirwatch.detect.settings import DetectSettings, ThresholdRule, Thresholds
from logdirwatch.fleet.context import ClusterContext
from logdirwatch.fleet.settings import FleetSettings
from logdirwatch.fleet.space import if_lost
from tests.unit.fleet.builders import T0, TB, Driver, disks_of, filling, log_dir

HOUR_MS = 3_600_000
GB = 10**9


def test_a_cluster_on_shared_volumes_is_as_short_of_space_as_it_really_is():
    def fired(volume):
        driver = Driver()
        for broker in (1, 2, 3):
            used = 0.8 if broker < 3 else 0.65
            dirs = [(filling if broker < 3 else log_dir)(f"/d{n}", used, volume=volume(broker, n)) for n in (1, 2)]
            driver.show(broker, *dirs)
        return driver

    shared = fired(lambda broker, n: f"v{broker}").memory
    assert shared.alerts == {}, "0.1 TB too much in all, 0.1 TB of room"
    sums = ClusterContext(shared, FleetSettings(), DetectSettings()).tally.sums
    assert (sums.above_bytes, sums.room_bytes) == (TB // 10, TB // 10)


@pytest.mark.parametrize(
    ("disk", "severity", "waits"),
    [
        (filling(), "warning", "yes, because none of them is critical yet"),
        (filling(full_at_ms=T0 + 13 * HOUR_MS), "warning", "yes, because none of them is critical yet"),
        (filling(full_at_ms=T0 + 2 * HOUR_MS), "critical", "no, because the first is full in about 2 h"),
        (log_dir(used=0.9, status="critical"), "critical", "no, because 2 disks are critical or worse already"),
    ],
)
def test_how_loud_it_is_agrees_with_whether_it_can_wait(disk, severity, waits):
    driver = Driver().show(1, disk).show(2, disk)
    last = driver.alerts[-1]
    assert (last.rule, last.severity) == ("fleet_space", severity)
    assert f"can wait until morning: {waits}" in last.summary


def test_thresholds_are_those_of_the_cluster_and_directory():
    special = ThresholdRule(log_dir="/fast*", thresholds=Thresholds(filling_ratio=0.5))
    driver = Driver(detect=DetectSettings(rules=(special,)))
    for broker in (1, 2):
        driver.show(broker, filling("/fast", used=0.6))
    assert driver.alerts[-1].evidence["above_bytes"] == 200 * GB


def uniform(driver, *, fill, rest=()):
    for number, view in enumerate([*fill, *rest], 1):
        driver.show(number, view)
    return driver


def test_a_uniform_cluster_that_fills_is_one_warning():
    driver = uniform(Driver(), fill=[filling(used=0.8)] * 3)
    assert {(rule, broker, status) for rule, broker, status, _ in driver.said()} == {("fleet_space", None, "firing")}
    alert = driver.alerts[-1]
    assert (alert.severity, alert.to_status) == ("warning", "filling")
    assert alert.affected == {"brokers": 2, "log_dirs": 2, "examples": ["1:/d1", "2:/d1"]}
    driver.show(3, filling(used=0.8), after_ms=60_000)
    driver.show(1, filling(used=0.8))
    assert driver.alerts[-1].affected["brokers"] == 3


def test_one_filling_disk_among_many_is_no_matter_of_the_fleet():
    assert uniform(Driver(), fill=[filling(used=0.94)], rest=[log_dir(used=0.74)] * 5).alerts == []


def test_disks_on_their_way_back_have_nothing_too_much():
    assert uniform(Driver(), fill=[filling(used=0.72)] * 3).alerts == []


def test_no_warning_while_the_others_can_take_it():
    driver = uniform(Driver(), rest=[log_dir(used=0.5)] * 2, fill=[])
    assert uniform(driver, fill=[], rest=[]).alerts == []
    driver.show(3, filling(used=0.9)).show(4, filling(used=0.9))
    assert driver.alerts == [], "300 GB too much, 500 GB free"
    driver.show(1, log_dir(used=0.7)).show(2, log_dir(used=0.7))
    assert driver.firing() == [("fleet_space", None)]


def test_what_is_not_known_is_never_counted_as_free():
    unseen = log_dir(used=0.1, status="unknown", last_status="online")
    driver = uniform(Driver(), fill=[], rest=[unseen] * 2)
    driver.show(3, filling(used=0.8)).show(4, filling(used=0.8))
    assert driver.alerts[-1].evidence["room_bytes"] == 0
    assert driver.alerts[-1].evidence["unknown_disks"] == 2


def test_a_disk_that_nobody_sees_any_more_is_no_evidence_of_health():
    driver = uniform(Driver(), fill=[filling()] * 3)
    for broker in (1, 2, 3):
        driver.show(broker, log_dir(used=0.8, status="unknown", last_status="filling"), status="unknown")
    assert driver.firing() == [("fleet_space", None)]


def test_it_must_last_to_fire_and_to_end():
    driver = uniform(Driver(settings=FleetSettings()), fill=[filling()] * 2)
    driver.show(1, filling(), after_ms=299_000)
    assert driver.alerts == []
    driver.show(1, filling(), after_ms=1_000)
    assert driver.firing() == [("fleet_space", None)]
    driver.show(1, log_dir(), after_ms=1_000).show(2, log_dir()).show(1, log_dir(), after_ms=599_000)
    assert driver.firing() == [("fleet_space", None)]
    driver.show(1, log_dir(), after_ms=1_000)
    assert driver.said()[-1] == ("fleet_space", None, "resolved", "recovered")


def test_a_cluster_that_is_only_being_read_for_the_first_time_is_not_judged_by_its_first_brokers():
    driver = Driver(settings=FleetSettings())
    uniform(driver, fill=[filling()] * 3, rest=[log_dir(used=0.3)] * 20)
    driver.show(1, filling(), after_ms=600_000)
    assert driver.alerts == []


def lost(*brokers):
    return if_lost([disk for number, dirs in enumerate(brokers, 1) for disk in disks_of(*dirs, broker=number)])


def test_any_one_broker_can_be_rebuilt_where_there_is_room():
    answer = lost(*[[log_dir("/a", 0.2), log_dir("/b", 0.3)]] * 3)
    assert answer["broker"]["can_be_rebuilt"] is True
    assert answer["log_dir"]["worst"] == {"broker": 1, "log_dir": "/b"}
    assert answer["log_dir"]["needs_bytes"] == 300 * GB
    assert answer["log_dir"]["room_bytes"] == 2 * (650 + 550) * GB


def test_what_finds_no_place_is_told_in_bytes_for_the_worst_case():
    answer = lost([log_dir(used=0.5)], [log_dir(used=0.6)], [log_dir(used=0.8)])
    assert answer["broker"] == {
        "can_be_rebuilt": False,
        "worst": {"broker": 3, "log_dir": None},
        "needs_bytes": 800 * GB,
        "room_bytes": (350 + 250) * GB,
        "missing_bytes": 200 * GB,
        "unknown": 0,
    }


def test_the_worst_is_what_misses_most_and_not_what_is_largest():
    nearly_full = log_dir(used=0.84, replica_bytes=600 * GB)
    answer = lost([nearly_full], [log_dir(used=0.5)], [log_dir(used=0.84, replica_bytes=0)])
    assert answer["broker"]["worst"]["broker"] == 2, "the room that goes with it is room that it cannot take"
    assert answer["broker"]["missing_bytes"] == 480 * GB


def test_offline_and_cordoned_directories_take_nothing():
    answer = lost([log_dir(used=0.5)], [log_dir("/a", 0.1, "offline"), log_dir("/b", 0.1, is_cordoned=True)])
    assert answer["broker"]["worst"]["broker"] == 1
    assert answer["broker"]["missing_bytes"] == 500 * GB


def test_replicas_that_nobody_counted_make_the_answer_unknown_not_yes():
    uncounted = log_dir("/b", 0.2, replica_bytes=None)
    answer = lost([log_dir(used=0.1)], [log_dir("/a", 0.1), uncounted], [log_dir(used=0.1)])
    assert (answer["broker"]["can_be_rebuilt"], answer["broker"]["unknown"]) == (None, 1)
    assert (answer["log_dir"]["can_be_rebuilt"], answer["log_dir"]["unknown"]) == (None, 1)
    assert lost([uncounted])["broker"] == {"can_be_rebuilt": None, "unknown": 1}


def test_the_summary_names_the_worst_that_could_not_be_rebuilt():
    one = uniform(Driver(), fill=[filling(used=0.8)] * 2).alerts[-1]
    assert "if /d1 of broker 1 were lost, 698.5 GiB would not fit on the others" in one.summary
    many = [log_dir(f"/d{number}", 0.8, "filling", replica_bytes=50 * GB) for number in range(12)]
    driver = Driver()
    for broker in (1, 2, 3):
        driver.show(broker, *many)
    assert "any one broker could be rebuilt on the others" in driver.alerts[-1].summary
    assert driver.alerts[-1].evidence["if_lost"]["broker"]["needs_bytes"] == 600 * GB
    assert TB == 1000 * GB
