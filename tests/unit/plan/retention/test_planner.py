"""Retention cuts: no more promised than any segments will give, one left, honest about where and when."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logdirwatch.plan.retention.limits import freed_bytes
from logdirwatch.plan.retention.planner import plan_cuts
from logdirwatch.plan.settings import TopicRule
from tests.unit.plan.answers import vetoed
from tests.unit.plan.builders import MIB, directory, facts, offline, policy, replica, slowly, topic

FULL = directory(1, "/d1", 850 * MIB)
HERE = (1, "/d1")


@pytest.mark.parametrize(
    ("size", "limit", "freed"),
    [
        (100, 0, 80),  # the newest segment stays, and the one before it may be longer than what is over
        (100, 50, 40),
        (100, 45, 45),
        (30, 15, 5),
        (10, 0, 0),
        (20, 0, 0),
        (21, 0, 1),
        (5, 0, 0),
        (0, 0, 0),
        (100, 200, 0),
    ],
)
def test_only_what_surely_goes_is_promised(size, limit, freed):
    assert freed_bytes(size, limit, segment_bytes=10) == freed


def left_by_kafka(segments, limit):
    """Delete as Kafka does: the oldest segment goes while at least the limit remains; the newest one stays."""
    segments = list(segments)
    while len(segments) > 1 and sum(segments) - limit >= segments[0]:
        segments.pop(0)
    return sum(segments)


@given(st.lists(st.integers(1, 10), min_size=1, max_size=40), st.integers(0, 400))
def test_kafka_deletes_what_is_promised_and_at_most_one_segment_more(segments, limit):
    promised = freed_bytes(sum(segments), limit, segment_bytes=10)
    deleted = sum(segments) - left_by_kafka(segments, limit)
    assert promised <= deleted
    if limit >= 10:
        assert deleted <= promised + 10


def cuts(*parts, needed=100 * MIB, **limits):
    """Cut what is written so slowly that the history that must stay takes next to nothing."""
    return plan_cuts(FULL, facts(FULL, *parts, growth=slowly(*parts)), policy(**limits), needed)


def test_the_limit_is_the_highest_that_frees_what_is_needed():
    (cut,) = cuts(topic("t", (1,)), replica(1, "/d1", "t", size=400 * MIB)).cuts
    assert cut.frees == {HERE: 100 * MIB}
    assert cut.new_value == 290 * MIB
    assert freed_bytes(400 * MIB, cut.new_value + MIB, 10 * MIB) < 100 * MIB


@pytest.mark.parametrize(
    ("unread", "needed_mib", "limits", "is_named"),
    [
        (0.97, 100, {}, True),
        (0.5, 150, {}, False),
        (0.5, 250, {}, True),
        (1.0, 10, {}, True),
        (0.04, 390, {}, False),
        (0.0, 390, {}, False),
        (None, 390, {}, False),
        (0.97, 100, {"spare_unread": False}, False),
        (0.97, 100, {"topics": [TopicRule(topic="t", min_retention_bytes=399 * MIB)]}, False),
        (0.5, 250, {"topics": [TopicRule(topic="t", min_retention_bytes=100 * MIB)]}, True),
    ],
    ids=[
        "a cut takes what it has read, and no more",
        "which may be enough",
        "or not",
        "nothing is read",
        "a group that keeps up",
        "everything is read",
        "not known",
        "unread records are not spared",
        "the owner keeps more than the group",
        "or less",
    ],
)
def test_the_group_that_keeps_a_cut_from_freeing_enough_is_named(unread, needed_mib, limits, is_named):
    t = topic("t", (1,), unread=None if unread is None else {0: unread})
    found = cuts(t, replica(1, "/d1", "t", size=400 * MIB), needed=needed_mib * MIB, **limits)
    told = [veto.reason for veto in found.vetoes if veto.name == "consumers_unread"]
    assert bool(told) is is_named
    assert all("consumer group readers has still to read" in reason for reason in told)


def test_the_cut_works_on_every_directory_that_holds_the_topic():
    found = cuts(
        topic("t", (1, 2), (2, 1)),
        directory(2, "/d9", 800 * MIB),
        replica(1, "/d1", "t", 0, 400 * MIB),
        replica(2, "/d9", "t", 0, 400 * MIB),
        replica(2, "/d9", "t", 1, 350 * MIB),
    )
    assert found.cuts[0].frees == {HERE: 100 * MIB, (2, "/d9"): 150 * MIB}


def test_nothing_is_promised_for_a_directory_that_is_offline():
    found = cuts(
        topic("t", (1, 2)),
        offline(2, "/d9"),
        replica(1, "/d1", "t", 0, 400 * MIB),
        replica(2, "/d9", "t", 0, 400 * MIB),
    )
    assert found.cuts[0].frees == {HERE: 100 * MIB}


def test_a_limit_that_exists_is_only_ever_lowered():
    limited = topic("t", (1,), configs={"retention.bytes": str(200 * MIB)}, overridden=frozenset({"retention.bytes"}))
    (cut,) = cuts(limited, replica(1, "/d1", "t", size=215 * MIB), needed=50 * MIB).cuts
    assert cut.new_value < 200 * MIB
    assert (cut.old_value, cut.is_overridden) == (str(200 * MIB), True)


@pytest.mark.parametrize(
    ("kind", "limits", "veto"),
    [
        (topic("t", (1,), configs={"cleanup.policy": "compact"}), {}, "not_deleted_by_retention"),
        (topic("t", (1,), configs={"cleanup.policy": "deleted"}), {}, "not_deleted_by_retention"),
        (topic("t", (1,), leaderless=(0,)), {}, "high_watermark_stands"),
        (topic("t", (1,), configs={"cleanup.policy": None}), {}, "not_deleted_by_retention"),
        (topic("t", (1,), is_internal=True), {}, "internal_topic"),
        (topic("t", (1,)), {"internal_topics": ("t*",)}, "internal_topic"),
        (topic("t", (1,)), {"never_touch": ("t*",)}, "never_touch"),
    ],
)
def test_some_topics_are_never_cut(kind, limits, veto):
    assert vetoed(cuts(kind, replica(1, "/d1", "t", size=400 * MIB), **limits)) == [veto]


def test_retention_applies_wherever_the_policy_names_delete():
    """In a log that is compacted too the log cleaner deletes old segments by the same limits."""
    kind = topic("t", (1,), configs={"cleanup.policy": "compact,delete"})
    (cut,) = cuts(kind, replica(1, "/d1", "t", size=400 * MIB), needed=100 * MIB).cuts
    assert cut.frees_at((1, "/d1")) >= 100 * MIB


def test_a_limit_that_the_cleaner_does_not_enforce_is_not_lowered_further():
    kind = topic("t", (1,), configs={"cleanup.policy": "compact,delete", "retention.bytes": str(100 * MIB)})
    place, held = directory(1, "/d1", 900 * MIB), replica(1, "/d1", "t", size=400 * MIB)
    seen = facts(place, kind, held, growth=slowly(held))
    assert vetoed(plan_cuts(place, seen, policy(), MIB)) == ["deletion_stands"]


def test_a_topic_with_a_moving_replica_anywhere_is_not_cut():
    found = cuts(
        topic("t", (1, 2)),
        directory(2, "/d1"),
        directory(2, "/d2"),
        replica(1, "/d1", "t", size=400 * MIB),
        replica(2, "/d1", "t", size=400 * MIB),
        replica(2, "/d2", "t", size=MIB, is_future=True),
    )
    assert vetoed(found) == ["partition_moving"]


def test_retention_frees_nothing_where_the_directory_does_not_serve():
    place = offline(1)
    found = facts(place, topic("t", (1,)), replica(1, "/d1", "t", size=400 * MIB))
    assert vetoed(plan_cuts(place, found, policy(), MIB)) == ["retention_frees_nothing"]


def test_without_a_free_byte_no_cut_is_advised():
    place = directory(1, "/d1", 1000 * MIB)
    found = facts(place, topic("t", (1,)), replica(1, "/d1", "t", size=400 * MIB))
    assert vetoed(plan_cuts(place, found, policy(), MIB)) == ["no_free_bytes"]


COMPACTED = {"cleanup.policy": "compact"}


def refused(count):
    """Compacted topics, the later the larger."""
    names = [f"c{number}" for number in range(count)]
    kinds = [topic(name, (1,), configs=COMPACTED) for name in names]
    return [*kinds, *(replica(1, "/d1", name, size=(10 + number) * MIB) for number, name in enumerate(names))]


def test_why_others_give_nothing_is_said_only_where_that_is_missed():
    parts = [topic("t", (1,)), replica(1, "/d1", "t", size=400 * MIB), *refused(1)]
    assert vetoed(cuts(*parts, needed=100 * MIB)) == []
    assert vetoed(cuts(*parts, needed=900 * MIB)) == ["not_deleted_by_retention"]


def test_of_many_reasons_those_of_the_largest_topics_are_said():
    found = cuts(*refused(5))
    assert [veto.reason.split()[4] for veto in found.vetoes] == ["c4", "c3", "c2"]


def test_where_all_give_what_they_can_nothing_speaks_against_more():
    found = cuts(topic("t", (1,)), replica(1, "/d1", "t", size=400 * MIB), needed=900 * MIB)
    assert found.cuts
    assert vetoed(found) == []


def read(name, *partitions):
    """A topic by what groups have still to read of each partition; None: not known, 'nobody': no group at all."""
    unread = {number: ratio for number, ratio in enumerate(partitions) if ratio != "nobody"}
    return topic(name, *[(1,)] * len(partitions), unread=None if None in partitions else unread)


@pytest.mark.parametrize(
    ("a", "z", "needed", "right"),
    [
        (["nobody"], [0.0], 100, {"z"}),
        ([None], [0.0], 100, {"z"}),
        ([0.0], ["nobody"], 100, {"a"}),
        ([0.0], [0.0], 100, {"a", "z"}),
        (["nobody"], ["nobody"], 100, {"a", "z"}),
        ([None], ["nobody"], 100, {"a", "z"}),
        (["nobody"], [0.0], 300, {"a", "z"}),
        (["nobody"], [0.5], 100, {"z"}),
        (["nobody"], [1.0], 100, {"a"}),
        (["nobody", 0.0], ["nobody", "nobody"], 100, {"a"}),
        (["nobody", "nobody"], [0.0, "nobody"], 100, {"z"}),
    ],
    ids=[
        "nobody is seen to read the other",
        "or nobody looked",
        "whichever it is",
        "both are read",
        "none is",
        "none is known to be",
        "where that is not enough both",
        "what its group has read is enough",
        "its group has read nothing",
        "a group reads one of its partitions",
        "also of the other",
    ],
)
def test_what_its_readers_have_read_goes_before_what_nobody_knows_the_readers_of(a, z, needed, right):
    parts = [read("a", *a), read("z", *z)]
    parts += [replica(1, "/d1", one.name, p.partition, 280 * MIB) for one in parts for p in one.partitions]
    found = cuts(*parts, needed=needed * MIB).cuts
    assert {cut.topic.name for cut in found} == right
