"""fleet_space: many fill together, and what is left cannot take it."""

import pytest

from logdirwatch.detect.settings import DetectSettings, ThresholdRule, Thresholds
from logdirwatch.fleet import rules
from logdirwatch.fleet.context import ClusterContext
from logdirwatch.fleet.disks import disks
from logdirwatch.fleet.intake import digest
from logdirwatch.fleet.settings import FleetSettings
from logdirwatch.fleet.space import if_lost
from tests.unit.fleet.builders import T0, TB, Driver, filling, log_dir, state

HOUR_MS = 3_600_000
DAY_MS = 24 * HOUR_MS
GB = 10**9


def disks_of(*dirs, broker=1, thresholds=None):
    return disks(broker, digest(state(broker, *dirs), None, T0), lambda _: thresholds or Thresholds())


@pytest.mark.parametrize(("brokers", "needed"), [(1, 2), (2, 2), (8, 2), (9, 3), (12, 3), (2_000, 500)])
def test_a_quarter_of_the_brokers_must_fill_and_never_less_than_two(brokers, needed):
    assert rules.brokers_needed(FleetSettings(), brokers) == needed


@pytest.mark.parametrize(
    ("view", "expected"),
    [
        (log_dir(used=0.74), False),
        (filling(used=0.72), True),  # on its way back, detect keeps the level for a while
        (log_dir(used=0.9, status="critical"), True),
        (log_dir(used=0.5, full_at_ms=T0 + 4 * DAY_MS - 1), True),
        (log_dir(used=0.5, full_at_ms=T0 + 4 * DAY_MS), False),
        (log_dir(used=0.9, status="unknown", last_status="critical"), True),
        (log_dir(used=0.5, status="unknown", last_status="online"), False),
        (log_dir(used=None, status="unknown"), False),
        (log_dir(used=0.99, status="offline"), True),  # full
        (log_dir(used=0.4, status="offline"), False),  # broken
        (log_dir(used=0.4, status="offline", full_at_ms=T0), False),
        (log_dir(used=None, status="offline"), False),
    ],
)
def test_what_counts_as_filling(view, expected):
    (disk,) = disks_of(view)
    assert disk.is_filling is expected


@pytest.mark.parametrize(
    ("view", "above", "room", "rebuild"),
    [
        (log_dir(used=0.5), 0, 250 * GB, 350 * GB),
        (filling(used=0.8), 50 * GB, 0, 50 * GB),
        (log_dir(used=0.96, status="saturated"), 210 * GB, 0, 0),
        (log_dir(used=0.5, full_at_ms=T0 + DAY_MS), 250 * GB, 0, 350 * GB),  # it will be full
        (log_dir(used=0.5, is_cordoned=True), 0, 0, 0),
        (log_dir(used=0.5, is_cordoned=False), 0, 250 * GB, 350 * GB),
        (log_dir(used=0.5, status="unknown", last_status="online"), 0, 0, 0),
        (log_dir(used=0.5, status="offline"), 0, 0, 0),
        (log_dir(used=None), 0, 0, 0),
    ],
)
def test_what_is_too_much_and_what_is_free(view, above, room, rebuild):
    (disk,) = disks_of(view)
    assert (disk.above_bytes, disk.room_bytes, disk.rebuild_bytes) == (above, room, rebuild)


def test_two_directories_on_one_volume_count_once():
    shared = [filling("/a", volume="sda", replica_bytes=1), filling("/b", volume="sda", replica_bytes=2)]
    first, second = disks_of(*shared, filling("/c", volume="sdb"))
    assert (first.paths, first.above_bytes, first.replica_bytes) == (("/a", "/b"), 50 * GB, 3)
    assert second.paths == ("/c",)


@pytest.mark.parametrize("count", [2, 3, 12])
@pytest.mark.parametrize(
    ("make", "figures"),
    [
        (lambda path: filling(path, 0.8, volume="v", replica_bytes=GB), ("above_bytes", "rebuild_bytes")),
        (lambda path: log_dir(path, 0.5, volume="v", replica_bytes=GB), ("room_bytes", "rebuild_bytes")),
        (
            lambda path: filling(path, 0.5, volume="v", replica_bytes=GB, full_at_ms=T0 + HOUR_MS),
            ("above_bytes", "rebuild_bytes", "used_ratio", "full_at_ms"),
        ),
    ],
    ids=["above", "room", "forecast"],
)
def test_the_bytes_of_a_volume_are_there_once_however_many_directories_lie_on_it(count, make, figures):
    (alone,) = disks_of(make("/a"))
    (shared,) = disks_of(*(make(f"/{number:02}") for number in range(count)))
    for figure in figures:
        assert getattr(shared, figure) == getattr(alone, figure) != 0, figure
    assert shared.replica_bytes == count * GB, "of replicas there is one set in each directory"


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


def test_a_volume_that_one_of_its_directories_calls_filling_has_no_room():
    (disk,) = disks_of(filling("/a", 0.72, volume="v"), log_dir("/b", 0.72, volume="v"))
    assert (disk.is_filling, disk.room_bytes, disk.rebuild_bytes) == (True, 0, 130 * GB)


def test_on_a_shared_volume_the_directory_that_serves_is_believed():
    (disk,) = disks_of(log_dir("/a", 0.2, "offline", volume="v"), log_dir("/b", 0.5, volume="v"))
    assert disk.room_bytes == 250 * GB


def test_thresholds_are_those_of_the_cluster_and_directory():
    special = ThresholdRule(log_dir="/fast*", thresholds=Thresholds(filling_ratio=0.5))
    driver = Driver(detect=DetectSettings(rules=(special,)))
    for broker in (1, 2):
        driver.show(broker, filling("/fast", used=0.6))
    assert driver.alerts[-1].evidence["above_bytes"] == 200 * GB


def test_without_a_forecast_horizon_a_forecast_says_nothing():
    (disk,) = disks_of(log_dir(full_at_ms=T0 - 1), thresholds=Thresholds(filling_within_ms=0))
    assert not disk.is_filling


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


@pytest.mark.parametrize(
    ("views", "waits"),
    [
        ([filling(), filling()], "yes, because none of them is critical yet"),
        ([filling(), log_dir(used=0.9, status="critical")], "no, because 1 disk is critical or worse already"),
        ([filling(), filling(full_at_ms=T0 + 11 * HOUR_MS)], "no, because the first is full in about 11 h"),
        ([filling(), filling(full_at_ms=T0 + 13 * HOUR_MS)], "yes, because none of them is critical yet"),
    ],
)
def test_whether_it_can_wait_until_morning(views, waits):
    assert waits in uniform(Driver(), fill=views).alerts[-1].summary


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
