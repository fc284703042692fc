"""A consumer that gets nothing is told apart from one for which nothing arrives."""

import pytest
from kafka import TopicPartition
from kafka.errors import KafkaTimeoutError

from logdirwatch.errors import UserError
from logdirwatch.notify.unread import CHECK_S, STALLED_S, Unread
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
