"""How fast a topic is written, as inventories and its own limit of age tell it."""

import pytest

from logdirwatch.plan.retention.write_rates import fastest, floor_bytes, floor_of_replica, wanted_ms, written_per_s
from logdirwatch.plan.settings import TopicRule
from tests.unit.plan.builders import directory, facts, policy, replica, topic

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
    assert floor_bytes([SIZED], None, 1000, known(), unknown_ratio=0.25) == 900
    assert floor_bytes([], None, 1000, known(), unknown_ratio=0.25) == 0


def test_the_owners_word_goes_before_the_general_one():
    limits = policy(min_retention_ms=5, topics=[TopicRule(topic="t", min_retention_ms=0)])
    assert wanted_ms(topic("t", (1,)), limits) == 0
    assert wanted_ms(topic("u", (1,)), limits) == 5
