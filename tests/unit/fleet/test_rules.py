"""The judgements of a cluster: how bad, how many are needed, what does not fit, and which numbers are news."""

import pytest

from logdirwatch.fleet import rules
from logdirwatch.fleet.rules import Loss
from logdirwatch.fleet.settings import FleetSettings
from logdirwatch.fleet.tally import Sums
from logdirwatch.model.records import PartitionHealth
from logdirwatch.model.vocabulary import Severity

Health = PartitionHealth


@pytest.mark.parametrize(
    ("sums", "expected"),
    [
        (Sums(brokers=3), None),
        (Sums(at_min_isr=9), None),
        (Sums(sole_replica=1), ("sole_replica", Severity.WARNING)),
        (Sums(sole_replica=1, under_min_isr=3), ("under_min_isr", Severity.CRITICAL)),
        (Sums(sole_replica=1, under_min_isr=3, leaderless=1), ("leaderless", Severity.PAGE)),
    ],
)
def test_the_worst_danger_decides_how_loud_it_is(sums, expected):
    assert rules.danger(sums) == expected


@pytest.mark.parametrize(
    ("healths", "leaderless", "expected"),
    [
        ([], 0, (0, 0)),
        # One partition with three replicas counts at three brokers.
        ([Health(under_min_isr=1)] * 3, 0, (1, 0)),
        ([Health(under_min_isr=2, at_min_isr=1), Health(under_min_isr=5, at_min_isr=4)], 0, (5, 4)),
        # Three partitions led by nobody are three, though no broker has two of them.
        ([Health(leaderless=1, under_min_isr=1)] * 3, 3, (3, 0)),
    ],
)
def test_a_partition_that_counts_at_each_replica_is_told_as_at_least(healths, leaderless, expected):
    assert rules.at_least(Sums(leaderless=leaderless), healths) == expected


def test_examples_name_internal_topics_first_and_then_what_is_worse():
    healths = [
        Health(leaderless=1, under_min_isr=2, examples=["a-0", "b-0", "at_min-0"]),
        Health(under_min_isr=3, examples=["__consumer_offsets-1", "a-0", "b-0"]),
        Health(sole_replica=2, examples=["__transaction_state-7", "c-0", "at_min-1"]),
        Health(at_min_isr=1, examples=["at_min-2"]),
    ]
    assert rules.examples(healths) == ["__consumer_offsets-1", "__transaction_state-7", "a-0", "b-0", "c-0"]


def test_no_more_than_twenty_examples_are_named():
    healths = [Health(sole_replica=20, examples=[f"t{broker}-{number}" for number in range(20)]) for broker in range(3)]
    assert len(rules.examples(healths)) == 20


def test_no_more_than_twenty_who_are_hurt_are_named():
    told = [[f"t{broker}-{number:02}" for number in range(20)] for broker in range(3)]
    assert rules.hurt([None, *told]) == told[0]
    assert rules.hurt([None, None]) is None


@pytest.mark.parametrize(("brokers", "needed"), [(1, 2), (2, 2), (8, 2), (9, 3), (12, 3), (2_000, 500)])
def test_a_quarter_of_the_brokers_must_fill_and_never_less_than_two(brokers, needed):
    assert rules.brokers_needed(FleetSettings(), brokers) == needed


def test_a_partition_is_as_bad_as_the_worst_that_any_broker_says():
    healths = [
        Health(sole_replica=1, examples=["a-0"]),
        Health(leaderless=1, examples=["b-0"]),
        Health(under_min_isr=1, examples=["a-0"]),
        Health(sole_replica=1, examples=["c-0"]),
        Health(sole_replica=1, examples=["b-0"]),
    ]
    assert rules.examples(healths) == ["b-0", "a-0", "c-0"]


def test_examples_of_one_broker_are_ranked_by_its_counts():
    healths = [Health(leaderless=1, under_min_isr=2, sole_replica=3, examples=["c-0", "b-0", "a-0", "at_min-0"])]
    assert rules.examples(healths) == ["c-0", "b-0", "a-0"]


@pytest.mark.parametrize(
    ("told", "hurt"),
    [([], None), ([None], None), ([[]], []), ([["b", "a"], None, ["a"]], ["a", "b"]), ([["a"], ["__x"]], ["__x", "a"])],
)
def test_names_are_told_once_internal_ones_first(told, hurt):
    assert rules.hurt(told) == hurt


@pytest.mark.parametrize(
    ("losses", "worst"),
    [
        ([], None),
        ([Loss(1, None, 9, 9), Loss(2, None, 5, 4)], 2),  # what misses most
        ([Loss(1, None, 5, 9), Loss(2, None, 6, 9)], 2),  # all fit: the largest
        ([Loss(2, None, 5, 9), Loss(1, None, 5, 9)], 1),  # all the same: the first broker
    ],
)
def test_the_worst_loss(losses, worst):
    found = rules.worst_loss(losses)
    assert (None if found is None else found.broker) == worst


@pytest.mark.parametrize(
    ("before", "after", "factor", "is_news"),
    [
        ((10,), (10,), 2.0, False),
        ((10,), (19,), 2.0, False),
        ((10,), (20,), 2.0, True),
        ((20,), (10,), 2.0, True),
        ((20,), (11,), 2.0, False),
        ((0,), (1,), 2.0, True),
        ((1,), (0,), 2.0, True),
        ((0,), (0,), 2.0, False),
        ((10, 5), (10, 10), 2.0, True),  # any of them
        ((10, 5), (11, 5), 1.1, True),
        ((100, 5), (109, 5), 1.1, False),
        ((), (0,), 2.0, True),  # of an older release
        ((), (), 2.0, False),
    ],
)
def test_a_number_is_news_when_it_moved_by_the_factor(before, after, factor, is_news):
    assert rules.moved(before, after, factor) is is_news
