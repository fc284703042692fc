"""Partitions in danger count where the danger is."""

import pytest

from logdirwatch.collect.kafka.partition_health import partition_health
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


LOST = {"leader": None, "isr": (1,), "offline": BROKERS}


def test_who_is_hurt_is_told_where_a_partition_cannot_be_used_and_internal_topics_come_first():
    topics = [
        topic("z", partition(**LOST)),
        topic("a", partition(isr=(1,), offline=(2, 3))),
        topic("at_minimum", partition(isr=(1, 3), offline=(2,))),
        topic("__consumer_offsets", partition(**LOST), is_internal=True),
        topic("well", partition()),
    ]
    readers = {"z": ("billing", "audit"), "a": ("audit",), "well": ("others",), "at_minimum": ("others",)}
    health = partition_health(topics, dict.fromkeys(("z", "a", "at_minimum", "well"), 2), (*BROKERS, 4), readers)
    for number in BROKERS:
        assert health[number].hurt_topics == ["__consumer_offsets", "a", "z"]
        assert health[number].hurt_groups == ["audit", "billing"]
    assert (health[4].hurt_topics, health[4].hurt_groups) == ([], []), "it has no replica of them"


def test_groups_that_nobody_knows_are_not_none():
    (health, *_) = partition_health([topic("t", partition(**LOST))], {}, BROKERS).values()
    assert (health.hurt_topics, health.hurt_groups) == (["t"], None)


def test_no_more_than_twenty_of_who_is_hurt_are_named():
    topics = [topic(f"t{number:02}", partition(**LOST)) for number in range(30)]
    readers = {one.name: (f"g-{one.name}",) for one in topics}
    health = partition_health(topics, {}, BROKERS, readers)[1]
    assert (len(health.hurt_topics), len(health.hurt_groups), health.hurt_topics[-1]) == (20, 20, "t19")


def test_replicas_that_are_not_in_sync_count_at_their_own_broker():
    parts = [partition(0, isr=(1, 3)), partition(1, isr=(1,), offline=(2,)), partition(2)]
    assert {number: health.out_of_sync for number, health in health_of(*parts).items()} == {1: 0, 2: 2, 3: 1}
