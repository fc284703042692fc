"""The buffer keeps order, drops the oldest, and events last."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logdirwatch.collect.publish.buffer import Buffer, Outgoing
from logdirwatch.model import topics


def metric(number, waits=False, key=b"k"):
    return Outgoing(topics.METRICS, key, str(number).encode(), waits=waits)


def event(number):
    return Outgoing(topics.EVENTS, b"k", str(number).encode())


def replicas(number, key):
    return Outgoing(topics.INVENTORY, key, str(number).encode())


def end_of_scan(number):
    return Outgoing(topics.INVENTORY, b"prod", str(number).encode(), waits=True)


def numbers(records):
    return [int(record.value) for record in records]


def filled(capacity, *records):
    buffer = Buffer(capacity)
    buffer.put(records)
    return buffer


def test_records_leave_in_the_order_they_came():
    buffer = filled(9, metric(1), event(2), metric(3), event(4))
    assert numbers(buffer.take(9)) == [1, 2, 3, 4]
    assert len(buffer) == 0


def test_a_batch_is_no_larger_than_asked():
    buffer = filled(9, *map(metric, range(5)))
    assert [numbers(buffer.take(2)) for _ in range(3)] == [[0, 1], [2, 3], [4]]


def test_a_record_that_waits_begins_a_batch():
    buffer = filled(9, event(1), metric(2, waits=True), metric(3))
    assert [numbers(buffer.take(9)) for _ in range(2)] == [[1], [2, 3]]


def test_what_comes_back_is_first_again():
    buffer = filled(9, metric(1), event(2), metric(3))
    batch = buffer.take(2)
    buffer.put([metric(4)])
    buffer.put_back(batch)
    assert numbers(buffer.take(9)) == [1, 2, 3, 4]


@pytest.mark.parametrize(
    ("records", "left", "dropped"),
    [
        ([metric(1), metric(2), metric(3)], [2, 3], 1),
        ([event(1), metric(2), metric(3)], [1, 3], 1),
        ([event(1), event(2), metric(3)], [1, 2], 1),
        ([event(1), event(2), event(3)], [2, 3], 1),
    ],
    ids=["oldest", "event stays", "newest but no event", "only events"],
)
def test_a_full_buffer_drops_the_oldest_and_events_last(records, left, dropped):
    buffer = filled(2, *records)
    assert (numbers(buffer.take(9)), buffer.dropped) == (left, dropped)


def test_what_comes_back_to_a_full_buffer_is_the_oldest():
    buffer = filled(2, metric(1), metric(2))
    batch = buffer.take(1)
    buffer.put([metric(3)])
    buffer.put_back(batch)
    assert (numbers(buffer.take(9)), buffer.dropped) == ([2, 3], 1)


def test_what_failed_stands_aside_with_all_that_comes_later_of_its_key():
    buffer = filled(9, metric(1, key=b"a"), metric(2, key=b"b"))
    first, _ = buffer.take(9)
    buffer.set_aside([first])
    buffer.put([metric(3, key=b"a"), metric(4, key=b"b")])
    assert numbers(buffer.take(9)) == [4]
    assert (len(buffer), buffer.aside) == (2, 2)
    assert numbers(buffer.take_aside(9)) == [1, 3]


def test_of_a_topic_that_is_shut_everything_stands_aside_until_some_of_it_is_tried():
    buffer = filled(9, replicas(1, b"prod/1//d1"), metric(2))
    buffer.set_aside(buffer.take(1), {topics.INVENTORY})
    buffer.put([replicas(3, b"prod/2//d1")])
    assert numbers(buffer.take(9)) == [2]
    buffer.set_aside([])
    retried = buffer.take_aside(1)
    buffer.set_aside(retried)
    buffer.put([replicas(4, b"prod/3//d1"), replicas(5, b"prod/1//d1")])
    assert (numbers(retried), numbers(buffer.take(9)), numbers(buffer.take_aside(9))) == ([1], [4], [1, 3, 5])


def test_what_fails_again_comes_last_in_turn_and_every_key_gets_its_turn():
    buffer = filled(9, metric(1, key=b"a"), metric(2, key=b"b"), metric(3, key=b"c"))
    buffer.set_aside(buffer.take(9))
    buffer.put([metric(4, key=b"a"), metric(5, key=b"a")])
    assert buffer.take(9) == []
    tried = buffer.take_aside(2)
    buffer.set_aside(tried)
    assert (numbers(tried), numbers(buffer.take_aside(3))) == ([1, 2], [1, 2, 3])


def test_the_end_of_a_scan_waits_for_what_stands_aside_of_it_and_a_sample_does_not_wait_for_other_topics():
    buffer = filled(9, replicas(1, b"prod/1//d1"), metric(2, key=b"prod/1"), event(3))
    buffer.set_aside(buffer.take(9))
    buffer.put([end_of_scan(4), metric(5, waits=True), replicas(6, b"test/1//d1")])
    assert numbers(buffer.take(9)) == [5, 6]
    assert numbers(buffer.take_aside(9)) == [1, 2, 3]
    buffer.set_aside([])
    assert numbers(buffer.take_aside(9)) == [4]


def test_what_stands_aside_is_dropped_first_and_its_events_last():
    buffer = filled(3, event(1), metric(2, key=b"a"), metric(3, key=b"b"))
    buffer.set_aside(buffer.take(9))
    buffer.put([metric(4, key=b"c")])
    assert (buffer.dropped, buffer.aside) == (1, 2)
    buffer.put([event(5), event(6)])
    assert (numbers(buffer.take_aside(9)), numbers(buffer.take(9)), buffer.dropped) == ([1], [5, 6], 3)


def test_all_that_stands_aside_returns_to_its_place_when_the_whole_cluster_is_away():
    buffer = filled(9, metric(1, key=b"a"), event(2), metric(3, key=b"b"), metric(4, waits=True))
    tried = buffer.take(3)
    buffer.set_aside(tried[:2], {topics.EVENTS})
    buffer.put_back(buffer.take(9))
    assert buffer.aside == 0
    assert [numbers(buffer.take(9)) for _ in range(2)] == [[1, 2], [4]]


@given(
    st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 4), st.sampled_from(["", "a", "bc", "abc"]))),
    st.sampled_from(["abc", "ab"]),
)
def test_each_key_is_sent_in_its_order_whatever_fails(steps, recovering):
    """Keys fail as told, and some stay so: what is sent is in order, and everything is counted."""
    buffer, sent, number = Buffer(20), [], 0
    for key, size, failing in [*steps, *[(key, 0, set("abc") - set(recovering)) for key in "abc"] * 9]:
        for _ in range(size):
            number += 1
            buffer.put([metric(number, key=key.encode())])
        for take in (buffer.take, buffer.take_aside):
            batch = take(3)
            failed = [record for record in batch if record.key.decode() in failing]
            buffer.set_aside(failed)
            sent += [record for record in batch if record not in failed]
    for key in (b"a", b"b", b"c"):
        of_key = numbers(record for record in sent if record.key == key)
        assert of_key == sorted(of_key)
    assert len(sent) + buffer.dropped + len(buffer) == number
    assert all(record.key.decode() not in recovering for record in buffer.take(20) + buffer.take_aside(20))


@given(st.lists(st.tuples(st.booleans(), st.booleans(), st.integers(1, 4), st.booleans())))
def test_nothing_is_lost_twice_or_out_of_order(steps):
    """However it is filled, emptied and refilled: what leaves is in order, and what does not is counted."""
    buffer, sent, number = Buffer(5), [], 0
    for is_event, waits, size, comes_back in steps:
        for _ in range(size):
            number += 1
            buffer.put([event(number) if is_event else metric(number, waits)])
        batch = buffer.take(size)
        assert not any(record.waits for record in batch[1:])
        if comes_back:
            buffer.put_back(batch)
        else:
            sent += numbers(batch)
    while batch := buffer.take(3):
        sent += numbers(batch)
    assert sent == sorted(set(sent))
    assert len(sent) + buffer.dropped == number
