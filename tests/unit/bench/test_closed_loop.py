"""The model of bench_closed_loop.py: what it holds to of Kafka, and that every way to act has the same rights."""

import pytest

from bench_closed_loop import AUTOPILOT, WAYS, Task, cell, live, protected_ratio, tallies_of
from logdirwatch.config.section import DAY_MS, HOUR_MS
from loop_models import month
from loop_orders import DELIVERY_DAYS, Disks, Orders
from loop_policies import Balance, Buy, DeleteOldest, Pager
from loop_world import DELETION_MS, SEGMENT_BYTES, LogDirModel, TopicModel, World

GB = 10**9
STEP_MS = 600_000
A, B, ELSEWHERE = (1, "/a"), (1, "/b"), (2, "/a")
KEY = ("t", 0)


def world(rate=0.0, retention_ms=DAY_MS, total_bytes=100 * GB, floor_ms=HOUR_MS):
    topic = TopicModel("t", rate, 0.0, retention_ms, floor_ms, min_isr=1)
    dirs = {place: LogDirModel(total_bytes, 0) for place in (A, B, ELSEWHERE)}
    return World([topic], dirs, {KEY: [A]})


def pass_time(made, to_ms, rate=0.0, repair_ms=HOUR_MS):
    for now_ms in range(made.now_ms + STEP_MS, to_ms + 1, STEP_MS):
        made.step(now_ms, {"t": rate}, lambda _: repair_ms)


def test_retention_deletes_whole_segments_once_kafka_has_looked():
    made = world(retention_ms=HOUR_MS)
    made.logs[KEY].append(2 * SEGMENT_BYTES, 0)
    made.step(HOUR_MS + DELETION_MS, {"t": 0.0}, lambda _: 0)
    assert made.logs[KEY].size_bytes == 2 * SEGMENT_BYTES
    made.step(HOUR_MS + DELETION_MS + 1, {"t": 0.0}, lambda _: 0)
    assert made.logs[KEY].size_bytes == 0
    assert made.tally.early_bytes == 0


def test_what_goes_before_its_time_is_told_from_what_nobody_may_cut():
    made = world(floor_ms=6 * HOUR_MS)
    for hour in (0, 20):
        made.logs[KEY].append(2 * SEGMENT_BYTES, hour * HOUR_MS)
    made.logs[KEY].append(1, 22 * HOUR_MS)
    made.now_ms = 22 * HOUR_MS
    made.cut_oldest([KEY], 4 * SEGMENT_BYTES)
    assert (made.tally.early_bytes, made.tally.below_floor_bytes) == (4 * SEGMENT_BYTES, 2 * SEGMENT_BYTES)


def test_a_full_directory_is_offline_until_somebody_made_room():
    made = world()
    made.logs[KEY].segments.extend([hour, GB] for hour in range(101))
    made.logs[KEY].size_bytes = 101 * GB
    pass_time(made, STEP_MS)
    assert made.offline == [A]
    assert made.full == [(STEP_MS, A)]
    pass_time(made, STEP_MS + HOUR_MS)
    assert made.offline == []
    assert made.log_dirs[A].used_ratio <= 0.8


class TestCopies:
    def test_a_copy_takes_room_at_once_and_frees_the_source_at_its_end(self):
        made = world()
        made.logs[KEY].append(6 * GB, 0)
        assert made.copy(KEY, A, ELSEWHERE, rate=6 * GB / 1200)
        pass_time(made, STEP_MS)
        assert (made.log_dirs[A].used_bytes, made.log_dirs[ELSEWHERE].used_bytes) == (6 * GB, 3 * GB)
        pass_time(made, 2 * STEP_MS)
        assert (made.log_dirs[A].used_bytes, made.log_dirs[ELSEWHERE].used_bytes) == (0, 6 * GB)

    def test_nothing_is_deleted_of_what_is_copied_within_a_broker(self):
        made = world(retention_ms=HOUR_MS)
        made.logs[KEY].append(GB, 0)
        assert made.copy(KEY, A, B, rate=1)
        pass_time(made, 3 * HOUR_MS)
        assert made.logs[KEY].size_bytes == GB

    def test_kafka_refuses_copies_within_a_broker_that_has_an_offline_directory(self):
        made = world()
        made.log_dirs[(1, "/c")] = LogDirModel(GB, 0, cause="failed")
        assert not made.copy(KEY, A, B, rate=1)
        assert made.copy(KEY, A, ELSEWHERE, rate=1)

    def test_a_replica_is_born_where_the_fewest_are(self):
        made = world()
        assert made.fewest_logs(1) == B
        made.log_dirs[B].is_cordoned = True
        assert made.fewest_logs(1) == A


def filled(used_ratio, **fields):
    """A world whose first directory is used to a ratio, with one segment an hour."""
    made = world(total_bytes=100 * GB, retention_ms=100 * HOUR_MS, **fields)
    made.logs[KEY].segments.extend([hour * HOUR_MS, GB] for hour in range(round(100 * used_ratio)))
    made.logs[KEY].size_bytes = len(made.logs[KEY].segments) * GB
    made.step(100 * HOUR_MS, {"t": 0.0}, lambda _: HOUR_MS)
    return made


@pytest.mark.parametrize(
    ("disks", "used_ratio", "days", "bought_gb"),
    [
        (Disks.CLOUD, 0.79, 1, 0),
        (Disks.CLOUD, 0.81, 0, 10),
        (Disks.CLOUD, 0.95, 0, 10),
        (Disks.CLOUD, 0.95, 1, 21),
        (Disks.ORDERED, 0.95, 1, 0),
        (Disks.ORDERED, 0.85, 7, 10),
    ],
)
def test_a_volume_that_is_used_to_80_percent_grows_by_10_every_six_hours(disks, used_ratio, days, bought_gb):
    made = filled(used_ratio)
    buy = Buy(made, Orders(made, 1, disks), seed=1)
    for hour in range(24 * days + 1):
        buy.act(100 * HOUR_MS + hour * HOUR_MS)
    assert made.tally.added_bytes // GB == bought_gb


def test_an_order_takes_days_unless_the_disk_is_a_cloud_volume():
    made = world()
    orders = Orders(made, 1, Disks.ORDERED)
    orders.order(A, GB, 0)
    orders.deliver(DELIVERY_DAYS[0] * DAY_MS - 1)
    assert made.tally.added_bytes == 0
    orders.deliver(DELIVERY_DAYS[1] * DAY_MS)
    assert (made.tally.added_bytes, orders.is_open(A)) == (GB, False)


@pytest.mark.parametrize(("known_floor_ms", "left_gb"), [(0, 80), (15 * HOUR_MS, 86), (200 * HOUR_MS, 90)])
def test_the_oldest_are_deleted_down_to_80_percent_or_to_what_is_known_of_the_floor(known_floor_ms, left_gb):
    made = filled(0.90)
    made.topics["t"].known_floor_ms = known_floor_ms
    if known_floor_ms == 15 * HOUR_MS:
        made.now_ms = 18 * HOUR_MS
    DeleteOldest(made).act(made.now_ms)
    assert made.logs[KEY].size_bytes // GB == left_gb


def test_balance_moves_from_the_fullest_directories_until_none_is_above_the_mean_by_a_tenth():
    life = month(2, 30)
    life.world.step(STEP_MS, life.rates(STEP_MS), life.repair_ms)
    balance = Balance(life.world)
    limit = balance._limit()
    balance.act(2 * HOUR_MS)
    sources = {copy.source for copy in life.world.copies.values()}
    assert sources
    assert all(life.world.log_dirs[place].used_ratio > limit for place in sources)


@pytest.mark.parametrize(("hour", "pages"), [(2, 1), (12, 0), (23, 1)])
def test_a_directory_that_reaches_85_percent_wakes_people_once_a_night(hour, pages):
    made = filled(0.86)
    pager = Pager(made)
    for _ in range(3):
        pager.act(hour * HOUR_MS)
    assert made.tally.night_pages == pages


@pytest.mark.parametrize("disks", Disks)
def test_doing_nothing_where_nothing_is_wrong_is_what_every_way_does(disks):
    tallies = tallies_of(4, Task(2, STEP_MS, disks))
    assert tuple(tallies) == WAYS[disks]
    assert not any(tally.full or tally.early_bytes for tally in tallies.values())


def test_the_autopilot_acts_by_its_rules():
    made, way = live(5, AUTOPILOT, Task(6, STEP_MS, Disks.FIXED))
    assert way.had_choice
    assert made.tally.actions > 0


def test_a_cell_has_the_sum_and_where_95_of_100_draws_lie():
    assert cell([0.0, 0.0]) == "0"
    assert cell([1.0] * 200) == "200 (200 to 200)"
    assert cell([0.0] * 99 + [1.0]) == "1.0 (0.0 to 3.0)"


def test_where_what_owners_keep_fills_the_disks_nobody_can_help():
    assert 0.2 < protected_ratio(5, 3) < 1
