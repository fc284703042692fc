"""What a command waits for Kafka in all: one budget, whatever hangs."""

import socket
import subprocess
import sys
import threading
import time
from contextlib import ExitStack, contextmanager

import pytest
from kafka import TopicPartition

from logdirwatch.errors import UserError
from logdirwatch.kafka import clients, deadline
from logdirwatch.kafka.deadline import ANSWER_MS, LEAST_MS, SHARE_MS, Deadline, answers_by, begun
from logdirwatch.kafka.settings import KafkaSettings
from tests.support.clocks import Clock
from tests.support.waiting import DEADLINE_S


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def ends(clock):
    return Deadline(clock(), monotonic_s=clock)


def test_every_question_gets_what_the_earlier_ones_left(clock, ends):
    left = []
    with answers_by(ends):
        for _ in range(3):
            left.append(deadline.at_most_ms(60_000))
            clock.now_s += 1
    assert left == [ANSWER_MS, ANSWER_MS - 1_000, ANSWER_MS - 2_000]


def test_a_question_keeps_a_limit_of_its_own_that_is_shorter(ends):
    with answers_by(ends):
        assert deadline.at_most_ms(200) == 200


def test_a_slow_start_leaves_kafka_enough_to_refuse_credentials(clock):
    started_s = clock()
    clock.now_s += 3_600
    with answers_by(Deadline(started_s, monotonic_s=clock)):
        assert deadline.at_most_ms(60_000) == SHARE_MS


def test_every_question_gets_a_little_even_when_the_time_is_over(clock, ends):
    clock.now_s += 3_600
    with answers_by(ends):
        assert deadline.at_most_ms(60_000) == LEAST_MS


def test_services_have_no_deadline_and_it_can_be_lifted(ends):
    assert (deadline.is_set(), deadline.at_most_ms(60_000)) == (False, 60_000)
    with answers_by(ends), answers_by(None):
        assert not deadline.is_set()


def test_a_thread_that_asks_has_the_same_deadline_also_when_its_starter_goes_on(ends):
    goes_on = threading.Event()

    def ask():
        goes_on.wait(DEADLINE_S)
        return deadline.at_most_ms(60_000)

    with answers_by(ends):
        answer = begun(ask)
    goes_on.set()
    assert answer.result(DEADLINE_S) == ANSWER_MS
    assert not deadline.is_set()


def test_what_a_thread_raises_is_raised_where_its_answer_is_wanted():
    def ask():
        raise UserError("away")

    with pytest.raises(UserError, match="away"):
        begun(ask).result(DEADLINE_S)


class Consumer:
    """Kafka's client as a script: what limits it was given, and each answer takes a second of the clock."""

    def __init__(self, clock, asked, **arguments):
        self.clock, self.asked = clock, asked
        self._took("connect", arguments["bootstrap_timeout_ms"])
        self.config = {"bootstrap_servers": ["a:1"]}

    def _took(self, what, limit_ms):
        self.asked[what] = limit_ms
        self.clock.now_s += 1

    def partitions_for_topic(self, topic):
        return {0}

    def end_offsets(self, partitions, timeout_ms):
        self._took("end", timeout_ms)
        return {TopicPartition("t", 0): 5}

    def beginning_offsets(self, partitions, timeout_ms):
        self._took("begin", timeout_ms)
        return {TopicPartition("t", 0): 0}

    def assign(self, partitions):
        self.asked["polls"] = 0

    def seek_to_beginning(self):
        pass

    def poll(self, timeout_ms):
        self.asked["polls"] += 1
        return {}

    def position(self, partition):
        return 0

    def close(self, **_):
        pass


def test_each_question_of_a_read_is_given_what_remains(monkeypatch, clock):
    asked = {}
    monkeypatch.setattr(clients, "KafkaConsumer", lambda **arguments: Consumer(clock, asked, **arguments))
    with answers_by(Deadline(clock(), 8_000, clock)), pytest.raises(UserError, match="no answer for partitions"):
        list(clients.read_all(KafkaSettings(bootstrap_servers="a:1"), "t"))
    assert asked == {"connect": 4_000, "end": 4_000, "begin": 4_000, "polls": 11}
    with answers_by(Deadline(clock(), 4_000, clock)), pytest.raises(UserError, match="no answer for partitions"):
        list(clients.read_all(KafkaSettings(bootstrap_servers="a:1"), "t"))
    assert asked == {"connect": 4_000, "end": 3_000, "begin": 2_000, "polls": 1 + LEAST_MS // clients.POLL_TIMEOUT_MS}


@contextmanager
def silent():
    """Yield the address of what takes connections and never says a word, as a stopped broker does."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"127.0.0.1:{server.getsockname()[1]}"


@contextmanager
def full():
    """Yield the address of what does not even take connections, as behind a firewall that drops packets."""
    with ExitStack() as stack:
        server = stack.enter_context(socket.create_server(("127.0.0.1", 0), backlog=0))
        for _ in range(8):
            client = stack.enter_context(socket.socket())
            client.setblocking(False)
            client.connect_ex(server.getsockname())
        yield f"127.0.0.1:{server.getsockname()[1]}"


@contextmanager
def unlisted():
    yield "127.0.0.1:1"


@pytest.fixture
def sleeping_name_server(monkeypatch):
    woken = threading.Event()

    def getaddrinfo(*_, **__):
        woken.wait(DEADLINE_S)
        raise socket.gaierror("asleep")

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    yield
    woken.set()


WITHIN_MS = 300


@pytest.fixture
def hurried(monkeypatch):
    monkeypatch.setattr(deadline, "LEAST_MS", 1)
    with answers_by(Deadline(time.monotonic(), WITHIN_MS)):
        yield


@pytest.mark.parametrize("client", [{}, {"security.protocol": "SSL"}], ids=["plaintext", "tls"])
@pytest.mark.parametrize("peer", [silent, full], ids=["silent", "dropped"])
def test_what_never_answers_is_given_up(hurried, client, peer):
    with peer() as address, pytest.raises(UserError, match=r"cannot be reached: no answer: is the host down"):
        list(clients.read_all(KafkaSettings(bootstrap_servers=address, client=client), "t"))


def test_a_name_server_that_never_answers_is_given_up(hurried, sleeping_name_server):
    with pytest.raises(UserError, match=r"cannot be reached: no answer: is the host down"):
        list(clients.read_all(KafkaSettings(bootstrap_servers="broker.example:9092"), "t"))


def test_where_nothing_listens_is_not_waited_for(monkeypatch):
    with answers_by(Deadline(time.monotonic(), 3_600_000)), unlisted() as address:
        monkeypatch.setattr(clients, "READ_CONNECT_TIMEOUT_MS", 3_600_000)
        with pytest.raises(UserError, match="connection refused"):
            list(clients.read_all(KafkaSettings(bootstrap_servers=address), "t"))


def test_one_server_that_refuses_does_not_speak_for_another(hurried):
    with silent() as address, pytest.raises(UserError, match="cannot be reached"):
        list(clients.read_all(KafkaSettings(bootstrap_servers=f"127.0.0.1:1,{address}"), "t"))


IMPORTED = """
import sys
from logdirwatch.cli.main import application, main
sys.argv = ["logdirwatch", *sys.argv[1:]]
application(sys.argv[1])
print(" ".join(sorted({name.partition(".")[0] for name in sys.modules})))
"""
HEAVY = {"pandas", "pyspark", "py4j", "pyarrow", "deltalake", "numpy", "requests", "aiohttp", "flask", "apprise", "jgo"}


@pytest.mark.parametrize("command", ["status", "alerts", "actions", "doctor"])
def test_a_command_has_asked_kafka_before_it_imports_what_takes_long(command):
    line = [sys.executable, "-c", IMPORTED, command]
    done = subprocess.run(line, capture_output=True, text=True, timeout=DEADLINE_S, check=True)
    assert HEAVY & set(done.stdout.split()) == set()
