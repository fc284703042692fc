"""One journal for all executions of a process: one transaction after the other, and what is lost is lost for all."""

import threading

import pytest
from kafka.errors import KafkaError, KafkaTimeoutError, ProducerFencedError

from logdirwatch.errors import UserError
from logdirwatch.execute import journal
from logdirwatch.execute.journal import FencedError, SharedJournal
from logdirwatch.executions import BEAT_MS
from logdirwatch.kafka.settings import KafkaSettings
from tests.unit.autopilot.world import execution, move

ONE, OTHER = execution(move(), execution_id="1"), execution(move(), execution_id="2")


class Producer:
    """A transactional producer that takes one transaction at a time, and fails as it is told to."""

    def __init__(self):
        self.written, self.fails, self.abort_fails, self.is_open, self.is_closed = [], None, None, False, False

    def init_transactions(self):
        pass

    def begin_transaction(self):
        assert not self.is_open, "two transactions at once"
        self.is_open = True

    def send(self, _topic, key, value):
        self.pending = key.decode()
        return self

    def get(self, timeout):
        if self.fails is not None:
            raise self.fails

    def commit_transaction(self):
        self.written.append(self.pending)
        self.is_open = False

    def abort_transaction(self):
        if self.abort_fails is not None:
            raise self.abort_fails
        self.is_open = False

    def close(self, timeout):
        self.is_closed = True


class World:
    def __init__(self, monkeypatch):
        self.producers, self.at_ms = [], 0
        monkeypatch.setattr(journal.clients, "producer", lambda *_, **__: self.made())
        monkeypatch.setattr(journal, "monotonic_ms", lambda: self.at_ms)
        self.shared = SharedJournal(KafkaSettings(), "c")

    def made(self):
        self.producers.append(Producer())
        return self.producers[-1]


@pytest.fixture
def world(monkeypatch):
    return World(monkeypatch)


def test_it_is_opened_for_the_first_closed_after_the_last_and_opened_again(world):
    with world.shared.opened() as first:
        with world.shared.opened() as second:
            assert first is second
        assert not world.producers[0].is_closed
    assert world.producers[0].is_closed
    with world.shared.opened() as third:
        assert third is not first
    assert len(world.producers) == 2


def test_threads_write_one_transaction_after_the_other(world):
    with world.shared.opened() as noted:
        threads = [
            threading.Thread(target=lambda one=one: [noted.write(one) for _ in range(50)]) for one in (ONE, OTHER)
        ]
        for one in threads:
            one.start()
        for one in threads:
            one.join()
    assert sorted(world.producers[0].written) == ["1"] * 50 + ["2"] * 50


def test_each_execution_shows_that_it_lives(world):
    with world.shared.opened() as noted:
        world.at_ms = BEAT_MS - 1
        noted.write(ONE)
        noted.beat(OTHER)
        world.at_ms = BEAT_MS
        noted.beat(ONE)
        noted.beat(OTHER)
    assert world.producers[0].written == ["1", "2"]


def test_once_fenced_no_execution_writes_or_waits_and_the_next_opens_another_one(world):
    with world.shared.opened() as noted:
        world.producers[0].fails = ProducerFencedError("gone")
        with pytest.raises(FencedError, match="took over cluster c"):
            noted.write(ONE)
        for acts in (noted.write, noted.beat):
            with pytest.raises(FencedError, match="took over cluster c"):
                acts(OTHER)
        with world.shared.opened() as again:
            again.write(ONE)
            assert not world.producers[0].is_closed
    assert [one.is_closed for one in world.producers] == [True, True]


@pytest.mark.parametrize("is_lost", [False, True])
def test_what_cannot_be_written_once_is_written_later_unless_its_transaction_cannot_be_ended(world, is_lost):
    with world.shared.opened() as noted:
        world.producers[0].fails = KafkaTimeoutError("late")
        world.producers[0].abort_fails = KafkaError("also") if is_lost else None
        with pytest.raises(UserError, match="the journal cannot be written"):
            noted.write(ONE)
        world.producers[0].fails = None
        if is_lost:
            noted.beat(OTHER)
            with pytest.raises(UserError, match="the journal cannot be written"):
                noted.write(OTHER)
        else:
            noted.write(OTHER)
        with world.shared.opened() as again:
            assert (again is noted) is not is_lost
