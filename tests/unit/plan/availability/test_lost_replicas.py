"""Which partitions lost a replica with a directory, and which of them comes first."""

import pytest

from logdirwatch.model.vocabulary import BrokerStatus
from logdirwatch.plan.availability.lost_replicas import danger, lost_partitions, lost_together, partitions_on
from logdirwatch.plan.cluster.layout import Partition, Topic
from tests.unit.plan.builders import CONFIGS, MIB, broker, directory, facts, offline, replica, topic


def labels(partitions):
    return [partition.label for partition in partitions]


def unseen(name, *replicas, lost=1):
    """A topic that is newer than the inventory: its replica on a broker is offline, and in no directory."""
    partition = Partition(name, 0, leader=2, replicas=replicas, isr=replicas, offline_replicas=(lost,))
    return Topic(name, (partition,), CONFIGS, frozenset(), False)


def snapshot(*parts):
    others = [directory(number, "/x") for number in (2, 3)]
    return facts(*others, *parts)


LOST = [offline(1, "/d1"), directory(1, "/d2"), topic("a", [1, 2]), replica(1, "/d1", "a"), replica(2, "/x", "a")]


def test_what_lies_in_the_directory_is_lost_and_what_lies_beside_it_is_not():
    made = snapshot(*LOST, topic("b", [1, 2]), replica(1, "/d2", "b"), replica(2, "/x", "b"))
    assert labels(lost_partitions((1, "/d1"), made)) == ["a-0"]
    assert labels(lost_partitions((1, "/d2"), made)) == ["b-0"]
    assert labels(lost_together([(1, "/d1"), (1, "/d2")], made)) == ["a-0", "b-0"]
    assert lost_together([], made) == []


def test_a_copy_that_the_broker_is_not_assigned_or_that_no_metadata_has_is_not_lost():
    made = snapshot(*LOST, topic("s", [2, 3]), replica(1, "/d1", "s"), replica(1, "/d1", "deleted"))
    assert labels(lost_partitions((1, "/d1"), made)) == ["a-0"]


@pytest.mark.parametrize(
    ("more", "lost"),
    [
        ([], ["a-0", "new-0"]),
        ([offline(1, "/d3")], ["a-0"]),  # it may have been in the other one
        ([broker(1, BrokerStatus.OFFLINE)], ["a-0"]),  # a broker that is away lost nothing with its directory
        ([replica(1, "/d2", "new")], ["a-0"]),  # seen in a good one
    ],
)
def test_what_no_inventory_has_seen_counts_where_only_one_directory_is_offline(more, lost):
    made = snapshot(*LOST, unseen("new", 1, 2), *more)
    assert labels(lost_partitions((1, "/d1"), made)) == lost


def test_what_was_never_seen_counts_where_all_that_are_offline_are_named_unless_it_is_not_asked():
    made = snapshot(*LOST, offline(1, "/d3"), unseen("new", 1, 2))
    both = [(1, "/d1"), (1, "/d3")]
    assert labels(lost_together(both, made)) == ["a-0", "new-0"]
    assert labels(lost_together(both, made, with_unseen=False)) == ["a-0"]


def test_what_is_offline_on_another_broker_is_not_lost_here():
    made = snapshot(*LOST, unseen("new", 1, 2, lost=2))
    assert labels(lost_partitions((1, "/d1"), made)) == ["a-0"]


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        (topic("t", [1, 2, 3]), (2, True)),
        (topic("t", [1, 2, 3], isr={0: [1, 2]}), (1, True)),
        (topic("t", [1, 2, 3], isr={0: [1]}), (0, True)),
        (topic("t", [1, 2, 4]), (1, True)),  # broker 4 is not alive
        (topic("t", [1, 2], is_internal=True), (1, False)),
    ],
)
def test_danger_counts_the_live_in_sync_replicas_elsewhere(made, expected):
    made_of = snapshot(directory(1), directory(4), broker(4, BrokerStatus.OFFLINE), made)
    assert danger(made_of.partitions["t", 0], made_of, 1) == expected


def test_the_order_is_danger_then_internal_topics_then_size_then_name():
    def named(name, replicas, isr=None, size=100 * MIB, *, is_internal=False):
        made = topic(name, replicas, isr=None if isr is None else {0: isr}, is_internal=is_internal)
        return [made, replica(1, "/d1", name, size=size), *(replica(n, "/x", name, size=size) for n in replicas[1:])]

    parts = [
        *named("small", [1, 2]),
        *named("large", [1, 2], size=200 * MIB),
        *named("also_small", [1, 2]),
        *named("__internal", [1, 2], is_internal=True),
        *named("safe", [1, 2, 3], size=300 * MIB),
        *named("sole", [1, 2], [1], size=1 * MIB),
    ]
    made = snapshot(offline(1, "/d1"), *parts)
    order = ["sole-0", "__internal-0", "large-0", "also_small-0", "small-0", "safe-0"]
    assert labels(lost_partitions((1, "/d1"), made)) == order
    assert labels(partitions_on(1, made)) == order
    assert labels(partitions_on(3, made)) == ["safe-0"]
    assert partitions_on(9, made) == []
