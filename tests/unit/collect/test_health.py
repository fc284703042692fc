"""Partitions in danger count where the danger is."""

import pytest

from logdirwatch.collect.health import partition_health
from tests.unit.collect.builders import partition, topic

BROKERS = (1, 2, 3)


def health_of(*partitions, min_isr=2, **fields):
    return partition_health([topic("t", *partitions, **fields)], {"t": min_isr}, BROKERS)


def counts(health):
    return (health.leaderless, health.under_min_isr, health.at_min_isr, health.sole_replica)


@pytest.mark.parametrize(
    ("broken", "expected"),
    [
        (partition(), {1: (0, 0, 0, 0), 2: (0, 0, 0, 0), 3: (0, 0, 0, 0)}),
        (partition(isr=(1, 3), offline=(2,)), {1: (0, 0, 1, 0), 2: (0, 0, 1, 0), 3: (0, 0, 1, 0)}),
        (partition(isr=(1,), offline=(2, 3)), {1: (0, 1, 0, 1), 2: (0, 1, 0, 0), 3: (0, 1, 0, 0)}),
        (partition(leader=None, isr=(2,), offline=(1, 2, 3)), {1: (1, 1, 0, 0), 2: (0, 1, 0, 0), 3: (0, 1, 0, 0)}),
        (partition(replicas=(2,), isr=(2,), leader=2), {1: (0, 0, 0, 0), 2: (0, 0, 0, 0), 3: (0, 0, 0, 0)}),
        (
            partition(replicas=(2,), isr=(2,), leader=None, offline=(2,)),
            {1: (0, 0, 0, 0), 2: (1, 1, 0, 0), 3: (0, 0, 0, 0)},
        ),
        (partition(replicas=(2, 3), isr=(2, 3), leader=2), {1: (0, 0, 0, 0), 2: (0, 0, 1, 0), 3: (0, 0, 1, 0)}),
    ],
    ids=["healthy", "one lost", "last in sync", "leaderless", "single", "single and leaderless", "two of two"],
)
def test_a_partition_counts_at_the_brokers_that_hold_it(broken, expected):
    assert {broker: counts(health) for broker, health in health_of(broken).items()} == expected


def test_an_in_sync_replica_that_is_offline_is_not_counted_in():
    assert health_of(partition(isr=(1, 2, 3), offline=(2, 3)))[1].under_min_isr == 1


def test_the_minimum_is_never_more_than_the_replicas():
    assert health_of(partition(replicas=(1, 2), isr=(1, 2)), min_isr=3)[1].under_min_isr == 0


def test_a_topic_whose_minimum_nobody_knows_is_judged_by_its_leader():
    parts = [partition(0, leader=None, isr=(), offline=BROKERS), partition(1, isr=(1, 2), offline=(3,))]
    health = partition_health([topic("t", *parts)], {}, BROKERS)
    assert counts(health[1]) == (1, 1, 0, 0)


def test_internal_partitions_without_leader_are_told_apart_and_named_first():
    lost = {"leader": None, "isr": (1,), "offline": BROKERS}
    topics = [topic("a", partition(**lost)), topic("__consumer_offsets", partition(**lost), is_internal=True)]
    health = partition_health(topics, {"a": 1, "__consumer_offsets": 1}, BROKERS)
    assert (health[1].leaderless, health[1].internal_leaderless) == (2, 1)
    assert health[1].examples == ["__consumer_offsets-0", "a-0"]
    assert health[2].internal_leaderless == 0


def test_examples_are_the_worst_twenty():
    parts = [partition(number, isr=(1, 3), offline=(2,)) for number in range(30)]
    worst = topic("z", partition(leader=None, isr=(1,), offline=BROKERS))
    health = partition_health([topic("t", *parts), worst], {"t": 2, "z": 2}, BROKERS)
    assert len(health[1].examples) == 20
    assert health[1].examples[0] == "z-0"
    assert health[1].at_min_isr == 30


def test_every_broker_is_told_of_also_one_without_danger():
    assert set(partition_health([], {}, BROKERS)) == set(BROKERS)
