"""The topic of sent notifications: when it is looked at, and when everything is written to it again."""

import pytest

from logdirwatch.kafka import clients
from logdirwatch.notify.keeping import CHECK_MS, Keeper


class Topic:
    """A client of a cluster whose topic has so many records in each partition, None while it does not exist."""

    def __init__(self, *records):
        self.records, self.looks = records, 0

    def partitions_for_topic(self, _):
        self.looks += 1
        return set(range(len(self.records)))

    def end_offsets(self, partitions):
        return {each: self.records[each.partition] for each in partitions}


@pytest.fixture
def keeper(monkeypatch):
    monkeypatch.setattr(clients, "exists", lambda client, _: client.records != (None,))
    written = []
    kept = Keeper(lambda: written.append(1) or 1)
    kept.written = written
    return kept


@pytest.mark.parametrize(("after_ms", "looks"), [(0, 1), (CHECK_MS - 1, 1), (CHECK_MS, 2), (CHECK_MS + 1, 2)], ids=str)
def test_it_is_looked_at_each_quarter_of_a_minute_from_whatever_time_on(keeper, after_ms, looks):
    client = Topic(3)
    keeper.look(client, -5)
    keeper.look(client, -5 + after_ms)
    assert client.looks == looks


@pytest.mark.parametrize(
    ("then", "writes"),
    [([(3, 4), (3, 5)], 0), ([(3, 4), (3, 4)], 0), ([(3, 4), (3, 3)], 1), ([(3,), (None,), (9,), (9,)], 1)],
)
def test_everything_is_written_again_once_when_it_is_another_topic(keeper, then, writes):
    for number, records in enumerate(then):
        keeper.look(Topic(*records), number * CHECK_MS)
    assert len(keeper.written) == writes
    assert CHECK_MS == 15_000
