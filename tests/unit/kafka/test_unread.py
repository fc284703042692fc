"""A consumer that gets nothing is told apart from one for which nothing arrives."""

import re
from contextlib import nullcontext

import pytest
from kafka import TopicPartition
from kafka.errors import (
    CorruptRecordError,
    KafkaConnectionError,
    KafkaTimeoutError,
    TopicAuthorizationFailedError,
    UnknownTopicOrPartitionError,
    UnsupportedCodecError,
)

from logdirwatch.errors import UserError
from logdirwatch.kafka import clients
from logdirwatch.kafka.settings import KafkaSettings
from logdirwatch.kafka.unread import CHECK_S, STALLED_S, Unread
from tests.support.clocks import Clock

ALERTS, DECISIONS = (TopicPartition(name, 0) for name in ("logdir.alerts", "logdir.decisions"))


class World:
    """A consumer whose positions and ends a test sets, checked every second."""

    def __init__(self):
        self.clock, self.asked = Clock(), 0
        self.unread = Unread(self.clock)
        self.positions = {ALERTS: 10, DECISIONS: 5}
        self.ends = dict(self.positions)

    def end_offsets(self, partitions, timeout_ms):
        self.asked += 1
        assert set(partitions) == set(self.ends)
        return self.ends

    def position(self, part):
        return self.positions[part]

    def passes(self, for_s, each=lambda: None):
        for _ in range(int(for_s)):
            self.clock.now_s += 1
            each()
            self.unread.check(self, self.positions.keys())


@pytest.fixture
def world():
    return World()


def test_a_consumer_for_which_nothing_arrives_reads(world):
    world.passes(10 * STALLED_S)
    assert world.asked == 10 * STALLED_S / CHECK_S


def test_one_that_reads_slowly_what_arrives_fast_reads(world):
    def each():
        world.ends[ALERTS] += 10
        world.positions[ALERTS] += 1

    world.passes(10 * STALLED_S, each)


@pytest.mark.parametrize("end", [11, 3], ids=["records arrive", "the topic was deleted and created again"])
def test_one_that_gets_nothing_of_what_waits_is_replaced(world, end):
    world.passes(STALLED_S)
    world.ends[ALERTS] = end
    world.passes(STALLED_S)
    with pytest.raises(UserError) as error:
        world.passes(CHECK_S)
    waiting = "1 record waits" if end > 10 else "7 records wait"
    assert str(error.value).startswith(f"{waiting} on logdir.alerts, and none was read for 1 min")


def test_another_partition_that_is_read_proves_nothing_for_a_topic_that_was_created_again(world):
    world.ends = {ALERTS: 3, DECISIONS: 6}

    def each():
        world.ends[DECISIONS] += 1
        world.positions[DECISIONS] += 1

    with pytest.raises(UserError, match=r"on logdir\.alerts"):
        world.passes(STALLED_S + 2 * CHECK_S, each)


def test_a_new_start_has_its_whole_time(world):
    world.ends[ALERTS] = 11
    world.passes(STALLED_S)
    world.unread.begin()
    world.passes(STALLED_S - 1)


def test_a_cluster_that_does_not_answer_is_asked_again_and_proves_nothing(world):
    def gone(*_, timeout_ms):
        world.asked += 1
        raise KafkaTimeoutError(f"no answer within {timeout_ms} ms")

    world.end_offsets = gone
    world.passes(3 * STALLED_S)
    assert world.asked == 3 * STALLED_S / CHECK_S


class Followed(World):
    """A consumer of one topic for which a second passes with each poll."""

    def __init__(self, monkeypatch):
        super().__init__()
        self.positions = {ALERTS: 10}
        self.ends = dict(self.positions)
        self.polls, self.error = 0, None
        monkeypatch.setattr(clients, "consumer", lambda *_, **__: nullcontext(self))
        monkeypatch.setattr(clients, "Unread", lambda: self.unread)

    def partitions_for_topic(self, _):
        return {0}

    def beginning_offsets(self, _):
        return {ALERTS: 0}

    def assign(self, _):
        pass

    def seek(self, *_):
        pass

    def poll(self, timeout_ms):
        self.polls += 1
        self.clock.now_s += 1
        if self.error is not None:
            raise self.error
        return {}

    def end_offsets(self, partitions, timeout_ms=None):
        if self.is_away:
            raise KafkaTimeoutError
        return super().end_offsets(partitions, timeout_ms)

    is_away = False


def follows(followed):
    with pytest.raises(UserError) as ended:
        for _ in clients.follow(KafkaSettings(bootstrap_servers="a:1"), "logdir.alerts"):
            pass
    assert followed.polls <= 2 * STALLED_S + CHECK_S
    return str(ended.value)


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (TopicAuthorizationFailedError("logdir.alerts"), "refuses: .*an ACL is missing"),
        (UnknownTopicOrPartitionError("logdir.alerts"), "UnknownTopicOrPartition"),
        (CorruptRecordError("crc"), "CorruptRecord"),
        (UnsupportedCodecError("snappy"), "UnsupportedCodec"),
        (KafkaConnectionError("111 ECONNREFUSED"), "connection refused"),
    ],
    ids=lambda each: type(each).__name__,
)
def test_whoever_follows_a_topic_that_cannot_be_read_hears_of_it(monkeypatch, error, said):
    followed = Followed(monkeypatch)
    followed.error = error
    assert re.search(said, follows(followed))


def test_whoever_follows_a_topic_hears_that_the_cluster_does_not_answer(monkeypatch):
    followed = Followed(monkeypatch)
    followed.is_away = True
    assert "cannot be reached: no answer" in follows(followed)


@pytest.mark.parametrize("end", [11, 3], ids=["records arrive", "the topic was deleted and created again"])
def test_whoever_follows_a_topic_hears_that_nothing_of_it_is_read(monkeypatch, end):
    followed = Followed(monkeypatch)
    followed.ends[ALERTS] = end
    assert "none was read" in follows(followed)


def test_whoever_follows_a_topic_hears_that_it_was_deleted(monkeypatch):
    followed = Followed(monkeypatch)
    followed.config = {"bootstrap_servers": ["a:1"]}
    monkeypatch.setattr(followed, "partitions_for_topic", lambda _: {0} if followed.polls < 3 else None)
    assert "topic logdir.alerts does not exist" in follows(followed)
    assert followed.polls == 3


def test_a_topic_that_gets_more_partitions_is_followed_in_all_of_them(monkeypatch):
    followed, assigned = Followed(monkeypatch), []
    followed.is_away = True
    monkeypatch.setattr(followed, "partitions_for_topic", lambda _: {0} if followed.polls < 3 else {0, 1})
    monkeypatch.setattr(followed, "beginning_offsets", lambda parts: dict.fromkeys(parts, 0))
    monkeypatch.setattr(followed, "assign", assigned.append)
    follows(followed)
    assert assigned == [[ALERTS], [ALERTS, TopicPartition(ALERTS.topic, 1)]]
