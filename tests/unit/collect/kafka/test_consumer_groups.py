"""What groups left unread: the slowest counts, rounded up; unknown, never none, where somebody could not be asked."""

import asyncio
from uuid import UUID

import pytest
import structlog
from hypothesis import given
from hypothesis import strategies as st
from kafka import errors
from kafka.protocol.admin import ListGroupsResponse
from kafka.protocol.consumer import ListOffsetsResponse, OffsetFetchResponse

from logdirwatch.collect.kafka import responses
from logdirwatch.collect.kafka.connections import Address
from logdirwatch.collect.kafka.consumer_groups import OFFSETS_TOPIC, coordinators, told, unread_ratio, with_unread
from logdirwatch.collect.kafka.requests import DescribeShareGroupOffsetsResponse
from logdirwatch.collect.rounds.scan import Scanner
from logdirwatch.model.records import TopicRecord
from tests.unit.collect.builders import (
    Brokers,
    decoded,
    log_dir,
    node,
    ok,
    partition,
    poller,
    reencoded,
    topic,
)

ADDRESSES = {1: Address("host1", 9092), 2: Address("host2", 9092)}
OFFSETS = topic(OFFSETS_TOPIC, partition(0, leader=1), partition(1, leader=2), is_internal=True)


def cluster(**fields):
    readers = {"fast": {("t", 0): 1_000, ("t", 1): 50}, "slow": {("t", 0): 400}}
    return Brokers(
        {number: ok(log_dir("/d1")) for number in (1, 2)},
        {number: node(number) for number in (1, 2)},
        topics=(
            topic("t", partition(0, leader=1), partition(1, leader=2), partition(2)),
            topic("u", partition()),
            OFFSETS,
        ),
        committing={1: {"fast": readers["fast"]}, 2: {"slow": readers["slow"]}},
        ranges={("t", 0): (0, 1_000), ("t", 1): (0, 50)},
        **fields,
    )


def asked(brokers, addresses=None):
    found = asyncio.run(with_unread(brokers, brokers.topics, ADDRESSES if addresses is None else addresses))
    return {
        (one.name, p.partition): (p.groups, p.slowest_group, p.unread_ratio) for one in found for p in one.partitions
    }


def test_the_slowest_group_of_every_coordinator_counts():
    found = asked(cluster())
    assert found["t", 0] == (2, "slow", 0.6)
    assert found["t", 1] == (1, "fast", 0.05)
    assert found["t", 2] == found["u", 0] == (0, None, None)


def test_a_partition_whose_leader_does_not_tell_its_offsets_has_groups_but_no_share():
    brokers = cluster()
    del brokers.ranges["t", 0]
    assert asked(brokers)["t", 0] == (2, None, None)


@pytest.mark.parametrize(("leader", "says"), [(None, "has no leader"), (3, "led by broker 3")])
def test_while_a_coordinator_is_away_nothing_is_known(leader, says):
    with pytest.raises(ValueError, match=says):
        coordinators([topic(OFFSETS_TOPIC, partition(leader=leader))], ADDRESSES)


def test_where_no_group_ever_committed_there_is_none():
    brokers = cluster()
    brokers.topics = brokers.topics[:2]
    assert asked(brokers)["t", 0] == (0, None, None)


@pytest.mark.parametrize(
    ("committed", "start", "end", "ratio"),
    [
        (0, 0, 100, 1.0),
        (100, 0, 100, 0.05),
        (99, 0, 100, 0.05),
        (50, 0, 100, 0.5),
        (49, 0, 100, 0.55),
        (5, 50, 100, 1.0),
    ],
)
def test_the_share_is_rounded_up(committed, start, end, ratio):
    assert unread_ratio(committed, start, end) == ratio


def test_an_empty_partition_has_nothing_unread():
    assert unread_ratio(7, 7, 7) == 0.0


@given(st.integers(0, 10**6), st.integers(0, 10**6), st.integers(1, 10**6))
def test_no_more_than_said_is_unread(committed, start, length):
    ratio = unread_ratio(committed, start, start + length)
    assert 0.05 <= ratio <= 1.0
    assert ratio * length >= start + length - max(committed, start) - 1e-6


def test_a_scan_tells_it_with_the_topics():
    (record, *_) = topic_records(cluster())
    assert [(p.groups, p.slowest_group, p.unread_ratio) for p in record.partitions] == [
        (2, "slow", 0.6),
        (1, "fast", 0.05),
        (0, None, None),
    ]


def test_a_topic_names_its_first_readers_and_none_where_nobody_committed():
    committed = [{f"g{number:02}": {("t", 0): 1, ("t", 1): 1} for number in range(30)}]
    found = {one.name: one.readers for one in told(cluster().topics, committed, {})}
    assert found["t"] == tuple(f"g{number:02}" for number in range(20))
    assert found["u"] == ()


def test_groups_are_told_with_the_partitions_that_hurt_them_also_when_they_cannot_be_asked_any_more():
    brokers = cluster()
    polling = poller(brokers, [])
    scanner = Scanner(polling, 900_000, reads_groups=True)

    async def hurt():
        await polling.poll()
        await scanner.look_at_partitions()
        unknown = polling.facts.partitions[1].hurt_groups
        await scanner.scan()
        lost = topic("t", partition(0, leader=None, isr=(), offline=(1, 2)))
        offsets = topic(OFFSETS_TOPIC, partition(0, leader=None), is_internal=True)
        brokers.topics = (lost, offsets)
        await scanner.scan()
        await scanner.look_at_partitions()
        return unknown, polling.facts.partitions[1]

    unknown, health = asyncio.run(hurt())
    assert unknown is None, "nobody was asked yet"
    assert (health.hurt_topics, health.hurt_groups) == ([OFFSETS_TOPIC, "t"], ["fast", "slow"])


def test_groups_that_cannot_be_asked_are_one_line_and_not_known():
    with structlog.testing.capture_logs() as logged:
        (record, *_) = topic_records(cluster(broken={"groups"}))
    assert [p.groups for p in record.partitions] == [None, None, None]
    assert [line["what"] for line in logged] == ["consumer groups"]


def topic_records(brokers):
    sent = []

    async def run():
        polling = poller(brokers, sent)
        await polling.poll()
        sent.clear()
        await Scanner(polling, 900_000, reads_groups=True).scan()

    asyncio.run(run())
    return [record for record in map(decoded, sent) if isinstance(record, TopicRecord)]


def test_only_groups_that_commit_offsets_are_asked_for_them():
    listed = [("a", "consumer", "Classic"), ("b", "", "Classic"), ("c", "connect", "Classic"), ("d", "share", "Share")]
    group = ListGroupsResponse.ListedGroup
    response = ListGroupsResponse(
        version=5,
        throttle_time_ms=0,
        error_code=0,
        groups=[
            group(version=5, group_id=name, protocol_type=protocol, group_state="Stable", group_type=kind)
            for name, protocol, kind in listed
        ],
    )
    assert responses.groups(reencoded(response, 5)) == (("a", "b"), ("d",))


@pytest.mark.parametrize(
    ("sharing", "told_of_0"),
    [
        # What lies after the start offset of a share group is unread; the slowest of all groups counts.
        ({"sharers": {("t", 0): 100}}, (3, "sharers", 0.9)),
        ({"sharers": {("t", 0): 0}}, (3, "sharers", 1.0)),
        ({"sharers": {("t", 0): 500}}, (3, "slow", 0.6)),
        ({"sharers": {("t", 0): 1_000}}, (3, "slow", 0.6)),
        ({"one": {("t", 0): 900}, "two": {("t", 0): 300}}, (4, "two", 0.7)),
        # A group that reads nothing here, or was deleted meanwhile.
        ({"sharers": {("u", 0): 0}}, (2, "slow", 0.6)),
        ({"sharers": {}}, (2, "slow", 0.6)),
        # It has not begun: it may have read nothing, but another group certainly has more unread than that says.
        ({"sharers": {("t", 0): -1}}, (3, "slow", 0.6)),
    ],
)
def test_share_groups_are_readers_by_their_start_offsets(sharing, told_of_0):
    brokers = cluster()
    brokers.sharing = {2: sharing}
    assert asked(brokers)["t", 0] == told_of_0


@pytest.mark.parametrize(
    ("sharing", "told_of_1"),
    [
        ({"sharers": {("t", 1): 25}}, (2, "sharers", 0.5)),
        # The other group keeps up, so the one whose offset is unknown decides: unknown, not read.
        ({"sharers": {("t", 1): -1}}, (2, None, None)),
        ({"sharers": {("t", 1): -1}, "more": {("t", 1): -1}}, (3, None, None)),
        ({"sharers": {("t", 1): -1}, "more": {("t", 1): 0}}, (3, "more", 1.0)),
    ],
)
def test_a_share_group_that_has_not_begun_makes_unknown_what_others_have_read(sharing, told_of_1):
    brokers = cluster()
    brokers.sharing = {1: sharing}
    assert asked(brokers)["t", 1] == told_of_1


def share_offsets(error_code=0, partition_error=0, offset=7, version=1):
    group = DescribeShareGroupOffsetsResponse.DescribeShareGroupOffsetsResponseGroup
    topic_of = group.DescribeShareGroupOffsetsResponseTopic
    part = topic_of.DescribeShareGroupOffsetsResponsePartition(
        version=version,
        partition_index=3,
        start_offset=offset,
        leader_epoch=0,
        lag=1,
        error_code=partition_error,
        error_message=None,
    )
    one = topic_of(version=version, topic_name="t", topic_id=UUID(int=7), partitions=[part])
    told_group = group(version=version, group_id="g", topics=[one], error_code=error_code, error_message=None)
    response = DescribeShareGroupOffsetsResponse(version=version, throttle_time_ms=0, groups=[told_group])
    return reencoded(response, version)


@pytest.mark.parametrize(
    ("fields", "found"),
    [
        ({}, {"g": {("t", 3): 7}}),
        ({"version": 0}, {"g": {("t", 3): 7}}),
        ({"offset": -1}, {"g": {("t", 3): -1}}),
        ({"partition_error": 29}, {"g": {("t", 3): -1}}),
        ({"error_code": errors.GroupIdNotFoundError.errno}, {}),
    ],
)
def test_start_offsets_of_share_groups_are_read(fields, found):
    assert responses.shared(share_offsets(**fields)) == found


def test_a_share_group_that_may_not_be_read_is_an_error_that_names_it():
    with pytest.raises(errors.GroupAuthorizationFailedError, match="group g"):
        responses.shared(share_offsets(error_code=30))


def offset_fetch(error_code=0, partition_error=0, offset=7):
    group = OffsetFetchResponse.OffsetFetchResponseGroup
    part = group.OffsetFetchResponseTopics.OffsetFetchResponsePartitions(
        version=9,
        partition_index=3,
        committed_offset=offset,
        committed_leader_epoch=-1,
        metadata="",
        error_code=partition_error,
    )
    told_topic = group.OffsetFetchResponseTopics(version=9, name="t", partitions=[part])
    one = group(version=9, group_id="g", topics=[told_topic], error_code=error_code)
    return reencoded(OffsetFetchResponse(version=9, throttle_time_ms=0, groups=[one]), 9)


def test_committed_offsets_are_read_one_that_is_none_is_not_and_one_with_an_error_is_unknown():
    assert responses.committed(offset_fetch()) == {"g": {("t", 3): 7}}
    assert responses.committed(offset_fetch(offset=-1)) == {"g": {}}
    assert responses.committed(offset_fetch(partition_error=29)) == {"g": {("t", 3): -1}}


def test_a_group_that_may_not_be_read_is_an_error_that_names_it():
    with pytest.raises(errors.GroupAuthorizationFailedError, match="group g"):
        responses.committed(offset_fetch(error_code=30))


def test_offsets_of_partitions_that_moved_away_are_left_out():
    topic_of = ListOffsetsResponse.ListOffsetsTopicResponse
    parts = [
        topic_of.ListOffsetsPartitionResponse(
            version=6, partition_index=number, error_code=code, timestamp=-1, offset=offset, leader_epoch=-1
        )
        for number, code, offset in [(0, 0, 5), (1, 6, -1)]
    ]
    response = ListOffsetsResponse(
        version=6, throttle_time_ms=0, topics=[topic_of(version=6, name="t", partitions=parts)]
    )
    assert responses.offsets(reencoded(response, 6)) == {("t", 0): 5}


def test_a_group_reads_in_parts_of_several_coordinators_answers():
    (found,) = told([topic("t", partition(0))], [{"a": {("t", 0): 10}}, {"b": {("t", 0): 90}}], {("t", 0): (0, 100)})
    assert (found.partitions[0].groups, found.partitions[0].slowest_group) == (2, "a")
