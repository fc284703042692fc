"""The buffer keeps order, drops the oldest, and events last."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logdirwatch.collect.backoff import Backoff
from logdirwatch.collect.buffer import Buffer, Outgoing
from logdirwatch.model import topics


def metric(number, waits=False):
    return Outgoing(topics.METRICS, b"k", str(number).encode(), waits=waits)


def event(number):
    return Outgoing(topics.EVENTS, b"k", str(number).encode())


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


def test_pauses_double_up_to_their_limit_and_begin_anew_after_success():
    backoff = Backoff(max_ms=3_000)
    assert [backoff.failed() for _ in range(5)] == [500, 1_000, 2_000, 3_000, 3_000]
    assert backoff.is_away
    backoff.worked()
    assert not backoff.is_away
    assert backoff.failed() == 500
