"""The model of bench_closed_loop.py: what it holds to of Kafka, and that long steps change no result."""

import pytest

from bench_closed_loop import AUTOPILOT, NOTHING, OLDEST, Task, live, protected_ratio, tallies_of
from logdirwatch.config.section import DAY_MS, HOUR_MS
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


@pytest.mark.parametrize("seed", [5, 7])
def test_long_steps_lose_the_same_directories_as_short_ones(seed):
    for way in (NOTHING, OLDEST):
        long, short = (live(seed, way, Task(20, STEP_MS, is_fixed=fixed))[0] for fixed in (False, True))
        assert [place for _, place in long.full] == [place for _, place in short.full]
        assert long.tally.actions == pytest.approx(short.tally.actions, abs=3)


def test_where_nothing_can_be_done_every_way_ends_alike():
    tallies = tallies_of(14, Task(3, STEP_MS))
    assert len({str(tally) for tally in tallies.values()}) == 1


def test_the_autopilot_acts_by_its_rules_and_leaves_what_owners_keep():
    made, way = live(7, AUTOPILOT, Task(6, STEP_MS))
    assert way.had_choice
    assert made.tally.actions > 0
    assert made.tally.below_floor_bytes == 0


def test_where_what_owners_keep_fills_the_disks_nobody_can_help():
    assert protected_ratio(37, 30) > 0.95
    assert protected_ratio(5, 30) < 0.6
