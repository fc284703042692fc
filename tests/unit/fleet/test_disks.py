"""What a disk has too much, what it can take, and what is lost with it; directories on one volume are one disk."""

import pytest

from logdirwatch.detect.settings import Thresholds
from tests.unit.fleet.builders import T0, TB, disks_of, filling, log_dir

HOUR_MS = 3_600_000
DAY_MS = 24 * HOUR_MS
GB = 10**9


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
        (log_dir(used=0.75, status="offline"), True),
        (log_dir(used=0.749, status="offline"), False),
        (log_dir(full_at_ms=T0 - DAY_MS), True),  # overdue
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
        (filling(used=0.72), 0, 0, 130 * GB),  # on its way back
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


def test_a_volume_that_one_of_its_directories_calls_filling_has_no_room():
    (disk,) = disks_of(filling("/a", 0.72, volume="v"), log_dir("/b", 0.72, volume="v"))
    assert (disk.is_filling, disk.room_bytes, disk.rebuild_bytes) == (True, 0, 130 * GB)


def test_on_a_shared_volume_the_directory_that_serves_is_believed():
    (disk,) = disks_of(log_dir("/a", 0.2, "offline", volume="v"), log_dir("/b", 0.5, volume="v"))
    assert disk.room_bytes == 250 * GB


def test_without_a_forecast_horizon_a_forecast_says_nothing():
    (disk,) = disks_of(log_dir(full_at_ms=T0 - 1), thresholds=Thresholds(filling_within_ms=0))
    assert not disk.is_filling


@pytest.mark.parametrize(
    ("status", "last_status", "is_urgent"),
    [
        ("online", None, False),
        ("filling", None, False),
        ("critical", None, True),
        ("saturated", None, True),
        ("offline", None, False),
        ("unknown", None, False),
        ("unknown", "critical", True),
        ("unknown", "filling", False),
        ("online", "critical", False),  # what it was before counts only while nobody sees it
    ],
)
def test_a_critical_disk_is_urgent_also_where_it_was_last_seen_so(status, last_status, is_urgent):
    (disk,) = disks_of(log_dir(used=0.9, status=status, last_status=last_status))
    assert disk.is_urgent is is_urgent


@pytest.mark.parametrize(
    ("view", "is_unknown", "used_ratio"),
    [
        (log_dir(used=0.25), False, 0.25),
        (log_dir(used=0.25, status="unknown"), True, 0.25),
        (log_dir(used=0.25, status="offline"), False, 0.25),
        (log_dir(used=None), True, None),
        (log_dir(used=0.25, usable_bytes=None), True, None),
        (log_dir(used=0.25, total_bytes=TB, usable_bytes=TB), False, 0.0),
        (log_dir(used=None, total_bytes=0, usable_bytes=0), True, None),
    ],
)
def test_a_disk_of_which_nobody_knows_the_space_is_unknown(view, is_unknown, used_ratio):
    (disk,) = disks_of(view)
    assert (disk.is_unknown, disk.used_ratio) == (is_unknown, used_ratio)


@pytest.mark.parametrize(
    ("used", "room", "rebuild"),
    [(0.0, 750 * GB, 850 * GB), (0.75, 0, 100 * GB), (0.76, 0, 90 * GB), (0.85, 0, 0), (0.9, 0, 0)],
)
def test_room_is_never_less_than_none(used, room, rebuild):
    (disk,) = disks_of(log_dir(used=used))
    assert (disk.room_bytes, disk.rebuild_bytes, disk.above_bytes) == (room, rebuild, 0)


def test_a_volume_that_is_called_like_a_path_is_another_disk():
    found = disks_of(log_dir("/a"), log_dir("/b", volume="/a"))
    assert [disk.paths for disk in found] == [("/a",), ("/b",)]


def test_the_worst_of_the_directories_on_a_volume_counts():
    first = log_dir("/a", 0.9, "critical", volume="v", full_at_ms=T0 + DAY_MS, replica_bytes=1)
    second = log_dir("/b", 0.5, volume="v", full_at_ms=T0 + HOUR_MS, replica_bytes=2)
    third = log_dir("/c", None, "unknown", volume="v", replica_bytes=3)
    (disk,) = disks_of(first, second, third, broker=4)
    assert (disk.broker, disk.is_filling, disk.is_urgent, disk.is_unknown) == (4, True, True, False)
    assert (disk.used_ratio, disk.full_at_ms, disk.replica_bytes) == (0.9, T0 + HOUR_MS, 6)
    assert (disk.above_bytes, disk.room_bytes, disk.rebuild_bytes) == (250 * GB, 0, 350 * GB)


def test_a_volume_of_which_nothing_is_known_has_no_numbers():
    (disk,) = disks_of(*(log_dir(path, None, "unknown", volume="v") for path in ("/a", "/b")))
    assert (disk.is_unknown, disk.used_ratio, disk.full_at_ms, disk.replica_bytes) == (True, None, None, None)
    assert (disk.above_bytes, disk.room_bytes, disk.rebuild_bytes) == (0, 0, 0)
