"""The ways to cut a topic: which there are, between which limits, and what each limit frees."""

import pytest

from logdirwatch.plan.retention.limits import (
    copy_lag_floor,
    fastest,
    floor_of_replica,
    is_copy_delayed,
    limits_of,
    written_per_s,
)
from tests.unit.plan.builders import MIB, directory, facts, policy, replica, slowly, topic

HOUR_MS = 3_600_000
AGED = {"retention.ms": str(100 * HOUR_MS)}
TIERED = {"remote.storage.enable": "true", "local.retention.bytes": "-2", "local.retention.ms": "-2"}


def ways(made, *replicas, rate=1.0, unknown=(), **limits):
    growth = {key: value for key, value in slowly(*replicas, rate=rate).items() if key[1][1] not in unknown}
    known = facts(directory(1), made, *replicas, growth=growth)
    return {way.key: way for way in limits_of(known.topics["t"], replicas, known, policy(**limits))}


def two(size=400 * MIB, other=400 * MIB):
    return replica(1, "/d1", "t", 0, size), replica(1, "/d1", "t", 1, other)


def test_both_limits_where_the_rates_are_known():
    assert list(ways(topic("t", (1,), (1,), configs=AGED), *two(), rate=1e4)) == ["retention.bytes", "retention.ms"]


def test_age_needs_the_rate_of_every_partition_and_a_limit_in_force():
    assert list(ways(topic("t", (1,), (1,), configs=AGED), *two(), unknown=[1])) == ["retention.bytes"]
    assert list(ways(topic("t", (1,), (1,), configs=AGED), *two(), unknown=[0, 1])) == ["retention.bytes"]
    assert list(ways(topic("t", (1,), (1,)), *two())) == ["retention.bytes"]


def test_what_has_no_bytes_has_no_way():
    assert ways(topic("t", (1,), (1,), configs=AGED), *two(0, 0)) == {}
    assert ways(topic("t", (1,), (1,), configs=AGED), *two(None, None)) == {}


def test_a_partition_without_bytes_takes_no_part():
    assert list(ways(topic("t", (1,), (1,), configs=AGED), *two(400 * MIB, 0), unknown=[1], rate=1e4)) == [
        "retention.bytes",
        "retention.ms",
    ]


def test_limits_are_whole_mebibytes_and_minutes_where_these_are_small_enough():
    found = ways(topic("t", (1,), (1,), configs=AGED), *two(400 * MIB + 7), rate=1e4, min_retention_ms=HOUR_MS + 7)
    assert (found["retention.bytes"].unit, found["retention.ms"].unit) == (MIB, 60_000)
    assert found["retention.bytes"].lowest == 35 * MIB  # 3600.007 s at 10 kB/s are 34.3 MiB
    assert found["retention.bytes"].highest == 400 * MIB
    assert found["retention.ms"].lowest == HOUR_MS + 60_000
    assert found["retention.ms"].highest % 60_000 == 0


def test_where_they_are_not_any_limit_will_do():
    small = topic("t", (1,), configs={"segment.bytes": "100000"})
    way = ways(small, replica(1, "/d1", "t", size=900_000))["retention.bytes"]
    assert (way.lowest, way.highest, way.unit) == (100_000, 900_000, 1)


def test_a_limit_is_only_ever_lowered():
    limited = topic("t", (1,), configs=AGED | {"retention.bytes": str(50 * MIB)})
    found = ways(limited, replica(1, "/d1", "t", size=400 * MIB), rate=1e3)
    assert found["retention.bytes"].highest == 49 * MIB
    assert found["retention.ms"].highest == 100 * HOUR_MS - 60_000


def test_what_is_unread_is_a_floor_of_both_limits_unless_it_is_not_spared():
    made = topic("t", (1,), (1,), configs=AGED, unread={0: 0.25, 1: 0.5})
    rate = 400 * MIB / 360_000
    spared, taken = ways(made, *two(), rate=rate), ways(made, *two(), rate=rate, spare_unread=False)
    assert (spared["retention.bytes"].lowest, spared["retention.ms"].lowest) == (200 * MIB, 50 * HOUR_MS)
    assert (taken["retention.bytes"].unread, taken["retention.ms"].unread) == (200 * MIB, 50 * HOUR_MS)
    assert (taken["retention.bytes"].lowest, taken["retention.ms"].lowest) == (10 * MIB, HOUR_MS)


def test_a_local_copy_whose_rate_nobody_knows_may_go_whole():
    made = topic("t", (1,), (1,), configs=TIERED)
    assert ways(made, *two(), unknown=[0, 1])["local.retention.bytes"].lowest == 10 * MIB
    assert ways(topic("t", (1,), (1,)), *two(), unknown=[0, 1])["retention.bytes"].lowest == 200 * MIB


def test_a_configured_delay_of_copies_bounds_both_local_limits():
    delayed = TIERED | AGED | {"remote.copy.lag.bytes": str(33 * MIB), "remote.copy.lag.ms": str(9 * HOUR_MS)}
    found = ways(topic("t", (1,), (1,), configs=delayed), *two(), rate=1e3)
    assert (found["local.retention.bytes"].lowest, found["local.retention.ms"].lowest) == (33 * MIB, 9 * HOUR_MS)
    assert copy_lag_floor(topic("t", configs={"remote.copy.lag.ms": "5"}), "ms") == 0
    assert copy_lag_floor(topic("t", configs=TIERED | {"remote.copy.lag.ms": "-1"}), "ms") == 0
    assert copy_lag_floor(topic("t", configs=TIERED), "bytes") == 0
    assert not is_copy_delayed(topic("t", configs=TIERED))


def test_a_limit_of_age_keeps_the_part_of_each_partition_that_is_younger():
    found = ways(topic("t", (1,), (1,), configs=AGED), *two(360 * MIB, 36 * MIB), rate=10.0)
    way = found["retention.ms"]
    # Both reach back for the 100 h of the limit: 25 of them are 90 and 9 MiB; one segment more stays of each.
    assert way.freed(two(360 * MIB, 36 * MIB), 25 * HOUR_MS) == (360 - 90 - 10) * MIB + (36 - 10 - 10) * MIB
    assert way.keeps_ms(25 * HOUR_MS) == 25 * HOUR_MS


def test_how_much_history_bytes_hold_is_told_by_the_fastest():
    by_bytes = ways(topic("t", (1,)), replica(1, "/d1", "t", size=400 * MIB), rate=1000.0)["retention.bytes"]
    assert by_bytes.keeps_ms(5000) == 5000
    assert by_bytes.is_history_known
    idle = ways(topic("t", (1,)), replica(1, "/d1", "t", size=400 * MIB), rate=0.0)["retention.bytes"]
    assert (idle.keeps_ms(5000), idle.is_history_known) == (None, True)
    unknown = ways(topic("t", (1,)), replica(1, "/d1", "t", size=400 * MIB), unknown=[0])["retention.bytes"]
    assert (unknown.keeps_ms(5000), unknown.is_history_known) == (None, False)


def test_a_lag_takes_nothing_from_what_is_lost_anyway():
    made = topic("t", (1,), remote_copy_lag_bytes=300 * MIB)
    way = ways(made, replica(1, "/d1", "t", size=400 * MIB))["retention.bytes"]
    assert way.freed([replica(1, "/d1", "t", size=400 * MIB)], 100 * MIB) == 290 * MIB
    assert way.freed([], 100 * MIB) == 0


def test_without_a_limit_of_age_the_oldest_partition_bounds_it():
    made = topic("t", (1,), (1,), configs={"retention.ms": "-1"})
    parts = two(360 * MIB, 36 * MIB)
    assert ways(made, *parts, rate=MIB / 360)["retention.ms"].highest == 36 * HOUR_MS


def test_where_no_whole_unit_lies_between_the_bounds_any_limit_will_do():
    small = topic("t", (1,), configs={"segment.bytes": "1500000"})
    way = ways(small, replica(1, "/d1", "t", size=2_700_000))["retention.bytes"]
    assert (way.lowest, way.highest, way.unit) == (1_500_000, 2_700_000, 1)


def test_under_a_limit_of_age_the_partition_that_keeps_least_may_hold_the_whole_lag():
    made = topic("t", (1,), (1,), configs=TIERED | AGED, remote_copy_lag_bytes=50 * MIB)
    way = ways(made, *two(360 * MIB, 36 * MIB), rate=10.0)["local.retention.ms"]
    assert way.freed(two(360 * MIB, 36 * MIB), 25 * HOUR_MS) == (360 - 90 - 10 + 36 - 10 - 10 - 40) * MIB


def test_a_limit_of_nothing_is_not_raised():
    none = topic("t", (1,), configs={"retention.bytes": "0", "retention.ms": "0"})
    assert ways(none, replica(1, "/d1", "t", size=400 * MIB)) == {}


SIZED = replica(1, "/d1", "t", size=3600)
FOLLOWER = replica(2, "/d1", "t", size=3600)


def known(**rates):
    """Facts in which replicas of t-0 grow: leader on broker 1, follower on broker 2."""
    growth = {((number, "/d1"), ("t", 0)): rate for number, rate in ((1, rates.get("leader")), (2, rates.get("other")))}
    growth = {key: rate for key, rate in growth.items() if rate is not None}
    return facts(directory(1), directory(2), topic("t", (1, 2)), SIZED, FOLLOWER, growth=growth)


def test_any_replica_tells_how_fast_its_partition_is_written():
    assert written_per_s(SIZED, None, known(other=7.0)) == 7.0
    assert written_per_s(SIZED, None, known(leader=5.0, other=7.0)) == 7.0
    assert written_per_s(SIZED, None, known()) is None


@pytest.mark.parametrize(
    ("limit", "rate"),
    [("1800000", 2.0), ("3600000", 1.0), ("7200000", 0.75), ("-1", 0.75), ("0", 0.75), (None, 0.75)],
)
def test_what_a_limit_of_age_keeps_was_written_within_it(limit, rate):
    assert written_per_s(SIZED, limit, known(leader=0.75)) == rate


def test_a_log_that_shrinks_is_not_written_backwards():
    assert written_per_s(SIZED, None, known(leader=-1.0)) == 0.0


def test_the_fastest_is_known_only_where_every_one_is():
    others = [SIZED, replica(1, "/d1", "t", 1)]
    assert fastest(others, None, known(leader=5.0)) is None
    assert fastest([SIZED], None, known(leader=5.0)) == 5.0
    assert fastest([], None, known(leader=5.0)) is None


def test_the_bytes_of_a_history_are_rounded_up():
    assert floor_of_replica(SIZED, None, 1000, known(leader=1.5)) == 2
    assert floor_of_replica(SIZED, None, 2000, known(leader=1.5)) == 3


def test_of_what_nobody_knows_a_share_stays():
    assert floor_of_replica(SIZED, None, 1000, known()) == 1800
    assert floor_of_replica(SIZED, None, 1000, known(), unknown_ratio=0.25) == 900
