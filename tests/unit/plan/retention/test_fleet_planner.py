"""Cuts for many directories at once: who gives, how deep, and what is left."""

from collections import Counter

import pytest

from logdirwatch.plan.retention.planner import left, plan_fleet_cuts
from tests.unit.plan.builders import MIB, directory, facts, policy, replica, slowly, topic

A, B = (1, "/d1"), (2, "/d1")


def world(**sizes):
    """Topics with replicas of these sizes: ``x=(a, b)`` has one partition in A and one in B."""
    parts = [directory(*A, 900 * MIB), directory(*B, 800 * MIB)]
    for name, (at_a, at_b) in sizes.items():
        parts.append(topic(name, (1,), (2,)))
        parts += [replica(*A, name, 0, at_a * MIB), replica(*B, name, 1, at_b * MIB)]
    return facts(*parts, growth=slowly(*parts))


def cuts(known, needed, refusals=None, filling=(), **limits):
    counted = Counter() if refusals is None else refusals
    return plan_fleet_cuts(needed, known, policy(**limits), counted, frozenset(filling))


def freed(found, place):
    return {cut.topic.name: cut.frees_at(place) // MIB for cut in found if cut.frees_at(place)}


def test_what_cannot_be_given_is_left_over():
    needed = {A: 150 * MIB, B: 300 * MIB}
    found = cuts(world(x=(120, 220)), needed)
    assert left(needed, found) == {A: 50 * MIB, B: 100 * MIB}


def test_a_topic_that_is_in_none_of_them_is_not_cut():
    assert cuts(world(x=(0, 220)), {A: 50 * MIB}) == []


def test_why_a_topic_gives_nothing_is_counted():
    refusals = Counter()
    kept = {"retention.ms": "-1", "retention.bytes": "-1"}
    ledger = topic("ledger", (1,), configs=kept, overridden=frozenset({"retention.ms"}))
    unread = topic("unread", (1,), unread={0: 1.0})
    parts = [
        directory(*A, 900 * MIB),
        ledger,
        unread,
        *(replica(*A, name, size=400 * MIB) for name in ("ledger", "unread")),
    ]
    assert cuts(facts(*parts, growth=slowly(*parts)), {A: 50 * MIB}, refusals) == []
    assert sorted(veto.name for veto in refusals) == ["consumers_unread", "kept_for_ever"]
    assert any("ledger keeps 400 MiB" in veto.reason for veto in refusals)


@pytest.mark.parametrize(("unread", "is_named"), [(0.9, True), (0.02, False)])
def test_a_group_that_keeps_a_topic_from_giving_more_is_named(unread, is_named):
    refusals = Counter()
    parts = [directory(*A, 900 * MIB), topic("t", (1,), unread={0: unread}), replica(*A, "t", size=400 * MIB)]
    (cut,) = cuts(facts(*parts, growth=slowly(*parts)), {A: 50 * MIB}, refusals)
    assert 0 < cut.frees_at(A) <= 50 * MIB
    assert any("consumer group readers" in veto.reason for veto in refusals) is is_named


@pytest.mark.parametrize(
    ("needed", "most_topics", "named"),
    [
        (99, 1, {"x"}),
        (100, 1, {"x"}),
        (101, 1, {"x", "y"}),
        (90, 2, {"x", "y"}),
        (199, 1, {"x", "y"}),
        (201, 1, {"x", "y", "z"}),
    ],
)
def test_more_topics_give_where_one_would_lose_more_than_half(needed, most_topics, named):
    known = world(x=(220, 0), y=(219, 0), z=(218, 0))
    found = cuts(known, {A: needed * MIB}, retention_topics=most_topics)
    assert {cut.topic.name for cut in found} == named


def test_those_that_no_needy_directory_holds_are_no_help():
    known = world(x=(220, 0), y=(0, 219), z=(218, 0))
    found = cuts(known, {A: 180 * MIB}, retention_topics=1)
    assert {cut.topic.name for cut in found} == {"x", "z"}


def test_where_few_owners_are_to_be_asked_the_largest_gives_first():
    known = world(x=(220, 220), y=(120, 120))
    few = {"retention_spread": "fewest_topics", "retention_topics": 2}
    assert freed(cuts(known, {A: 150 * MIB}, **few), A) == {"x": 150}
    assert freed(cuts(known, {A: 250 * MIB}, **few), A) == {"x": 200, "y": 50}
    assert freed(cuts(known, {A: 250 * MIB}, **few | {"retention_topics": 1}), A) == {"x": 200}
