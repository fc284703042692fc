"""The publisher keeps what it cannot send, says so once, and drops only what it must."""

import threading

import pytest

from logdirwatch.collect.publish import publisher as publisher_module
from logdirwatch.collect.publish.backoff import Backoff
from logdirwatch.collect.publish.buffer import Outgoing
from logdirwatch.collect.publish.channel import Delivery
from logdirwatch.collect.publish.publisher import BATCH_RECORDS, Arrivals, Publisher
from logdirwatch.model import topics
from tests.support.clocks import Clock
from tests.support.waiting import DEADLINE_S, wait_until
from tests.unit.collect.publish.test_buffer import event, metric, numbers, replicas


class Telemetry:
    """Stands where the telemetry cluster is: takes batches, unless it is away."""

    def __init__(self):
        self.batches = []
        self.is_away = False
        self.refuses = set()
        self.fails = set()
        self.failing_keys = set()
        self.shut = set()
        self.opened = 0
        self.closed = 0

    def connect(self):
        if self.is_away:
            raise ConnectionError("nobody there")
        self.opened += 1
        return self

    def send(self, batch):
        if self.is_away:
            return Delivery(failed=list(batch), error="gone")
        delivery = Delivery()
        for record in batch:
            number = int(record.value)
            if number in self.refuses:
                delivery.refused.append(record)
            elif number in self.fails or record.key in self.failing_keys or record.topic in self.shut:
                delivery.failed.append(record)
                delivery.shut |= {record.topic} & self.shut
                delivery.error = "one partition"
            else:
                delivery.delivered.append(record)
        self.batches.append(numbers(delivery.delivered))
        return delivery

    def close(self):
        self.closed += 1

    @property
    def taken(self):
        return [number for batch in self.batches for number in batch]


@pytest.fixture
def telemetry():
    return Telemetry()


@pytest.fixture
def publish(telemetry, logged):
    """Start a publisher with a buffer of five; whatever a test leaves is stopped."""
    publisher = Publisher(telemetry.connect, capacity=5, backoff_max_ms=1)
    publisher.start()
    yield publisher
    publisher.stop(DEADLINE_S)


def arrived(telemetry, *expected):
    wait_until(lambda: telemetry.taken == list(expected), DEADLINE_S, f"records {expected}", pause_s=0.005)


def away(logged):
    wait_until(
        lambda: any(line["event"] == "publish.target.failed" for line in logged), DEADLINE_S, "the line", pause_s=0.005
    )


def test_records_arrive_in_order_and_are_counted_by_topic(publish, telemetry, logged):
    publish.put([metric(1), event(2), metric(3, waits=True)])
    arrived(telemetry, 1, 2, 3)
    assert publish.stop(DEADLINE_S) == 0
    assert dict(publish.sent) == {"logdir.metrics": 2, "logdir.events": 1}
    assert logged == []


def test_what_was_acknowledged_and_nothing_else_is_passed_on(publish, telemetry):
    seen = []
    publish.arrived = lambda record: seen.append(int(record.value))
    telemetry.refuses = {2}
    publish.put([metric(1), metric(2), event(3)])
    arrived(telemetry, 1, 3)
    assert publish.stop(DEADLINE_S) == 0
    assert seen == [1, 3]


def test_a_thread_with_nothing_to_send_makes_progress_and_one_that_hangs_in_a_batch_does_not(telemetry, monkeypatch):
    monkeypatch.setattr(publisher_module, "IDLE_S", 0.001)
    publisher, is_over = Publisher(telemetry.connect, capacity=5, backoff_max_ms=1_000), threading.Event()
    assert publisher.beat.longest_s == 61.0
    publisher.start()
    publisher.beat.last_s = before_s = 0.0
    wait_until(lambda: publisher.beat.last_s > before_s, DEADLINE_S, "a pass", pause_s=0.001)
    telemetry.send = lambda batch: is_over.wait() and Delivery(delivered=list(batch))
    publisher.put([metric(1)])
    wait_until(lambda: publisher._in_flight, DEADLINE_S, "the batch in flight", pause_s=0.001)
    publisher.beat.last_s = 0.0
    publisher.put([metric(2)])
    assert publisher.beat.last_s == 0.0
    is_over.set()
    publisher.stop(DEADLINE_S)
    assert publisher.beat.last_s > 0.0


def test_an_event_is_acknowledged_before_its_record_is_sent(publish, telemetry):
    publish.put([event(1), metric(2, waits=True)])
    arrived(telemetry, 1, 2)
    assert telemetry.batches == [[1], [2]]


def test_what_came_while_the_cluster_was_away_arrives_and_two_lines_say_so(publish, telemetry, logged):
    telemetry.is_away = True
    publish.put([metric(1), metric(2)])
    away(logged)
    publish.put([metric(3)])
    telemetry.is_away = False
    arrived(telemetry, 1, 2, 3)
    publish.stop(DEADLINE_S)
    first, second = logged
    assert first["event"] == "publish.target.failed"
    assert (second["event"], second["kept"], second["dropped"]) == ("publish.target.recovered", 3, 0)


def test_a_publisher_calls_what_it_writes_to_by_its_name(telemetry, logged):
    publisher = Publisher(telemetry.connect, 5, 1, "topic logdir.notifications")
    publisher.start()
    telemetry.is_away = True
    publisher.put([metric(1)])
    away(logged)
    telemetry.is_away = False
    arrived(telemetry, 1)
    publisher.stop(DEADLINE_S)
    first, second = logged
    assert (first["event"], first["target"]) == ("publish.target.failed", "topic logdir.notifications")
    assert (second["event"], second["target"], second["kept"]) == (
        "publish.target.recovered",
        "topic logdir.notifications",
        1,
    )


def test_a_full_buffer_drops_the_oldest_and_says_how_many(publish, telemetry, logged):
    telemetry.is_away = True
    publish.put([event(0)])
    away(logged)
    publish.put([metric(number) for number in range(1, 9)])
    telemetry.is_away = False
    arrived(telemetry, 0, 5, 6, 7, 8)
    publish.stop(DEADLINE_S)
    assert (logged[-1]["kept"], logged[-1]["dropped"]) == (5, 4)


def test_more_than_fits_at_once_is_said_even_when_the_cluster_is_there(telemetry, logged):
    publisher = Publisher(telemetry.connect, capacity=5, backoff_max_ms=1)
    publisher.put([metric(number) for number in range(8)])
    publisher.start()
    arrived(telemetry, 3, 4, 5, 6, 7)
    assert publisher.stop(DEADLINE_S) == 0
    assert [line["dropped"] for line in logged] == [3]


def test_one_record_that_fails_is_sent_again_on_another_connection(publish, telemetry, logged):
    telemetry.fails = {2}
    publish.put([metric(1), metric(2), metric(3)])
    wait_until(lambda: telemetry.opened > 1, DEADLINE_S, "another connection", pause_s=0.005)
    telemetry.fails = set()
    arrived(telemetry, 1, 3, 2)
    publish.stop(DEADLINE_S)
    assert telemetry.closed == telemetry.opened


@pytest.fixture
def patient(telemetry, logged):
    """A publisher that holds many records and is not started yet."""
    publisher = Publisher(telemetry.connect, capacity=10_000, backoff_max_ms=1)
    yield publisher
    publisher.stop(DEADLINE_S)


def test_keys_that_cannot_be_written_keep_nobody_else_from_being_sent(patient, telemetry, logged):
    telemetry.failing_keys = {b"dead"}
    dead = [metric(number, key=b"dead") for number in range(3 * BATCH_RECORDS)]
    patient.put(dead)
    patient.start()
    patient.put([metric(9_000), event(9_001)])
    arrived(telemetry, 9_000, 9_001)
    opened = telemetry.opened
    patient.put([metric(9_999, key=b"dead"), metric(9_002)])
    wait_until(lambda: 9_002 in telemetry.taken, DEADLINE_S, "the others", pause_s=0.005)
    wait_until(lambda: telemetry.opened > opened, DEADLINE_S, "another attempt", pause_s=0.005)
    assert (patient.pending, patient.dropped, patient.is_away) == (3 * BATCH_RECORDS + 1, 0, False)
    telemetry.failing_keys = set()
    wait_until(lambda: patient.pending == 0, DEADLINE_S, "all", pause_s=0.005)
    assert telemetry.taken[3:] == [*range(3 * BATCH_RECORDS), 9_999]
    wait_until(lambda: logged[-1]["event"] == "publish.records.recovered", DEADLINE_S, "the line", pause_s=0.005)
    assert sum(line["event"] == "publish.records.set_aside" for line in logged) == 1


def test_a_topic_that_cannot_be_written_keeps_no_other_from_being_sent(patient, telemetry):
    telemetry.shut = {topics.INVENTORY}
    patient.put([replicas(number, f"prod/topic{number}".encode()) for number in range(5 * BATCH_RECORDS)])
    patient.put([metric(9_000)])
    patient.start()
    arrived(telemetry, 9_000)
    telemetry.shut = set()
    wait_until(lambda: patient.pending == 0, DEADLINE_S, "all", pause_s=0.005)
    assert sorted(telemetry.taken) == [*range(5 * BATCH_RECORDS), 9_000]


def test_stopping_gives_up_what_cannot_be_written_when_time_is_up(patient, telemetry):
    telemetry.failing_keys = {b"dead"}
    patient.put([metric(1, key=b"dead"), metric(2)])
    patient.start()
    arrived(telemetry, 2)
    assert patient.stop(0.2) == 1


def test_what_is_refused_for_good_is_counted(publish, telemetry):
    telemetry.refuses = {1}
    publish.put([metric(1), metric(2)])
    arrived(telemetry, 2)
    assert publish.refused == 1


def test_a_record_that_no_cluster_will_take_does_not_stand_in_the_way(publish, telemetry, logged):
    telemetry.refuses = {1}
    publish.put([metric(1), metric(2)])
    arrived(telemetry, 2)
    assert publish.stop(DEADLINE_S) == 0
    assert [line["event"] for line in logged] == ["publish.record.refused"]


def test_an_unforeseen_error_of_the_client_loses_nothing(publish, telemetry, logged):
    telemetry.send, send = lambda batch: 1 / 0, telemetry.send
    publish.put([metric(1)])
    away(logged)
    telemetry.send = send
    arrived(telemetry, 1)


def test_stopping_while_the_cluster_is_away_ends_at_once_and_tells_what_is_left(publish, telemetry, logged):
    telemetry.is_away = True
    publish.put([metric(1), metric(2)])
    away(logged)
    assert publish.stop(DEADLINE_S) == 2


def test_stopping_sends_what_is_there_first(publish, telemetry):
    gate = threading.Event()
    send = telemetry.send
    telemetry.send = lambda batch: (gate.wait(DEADLINE_S), send(batch))[1]
    publish.put([metric(1)])
    publish.put([metric(2)])
    gate.set()
    assert publish.stop(DEADLINE_S) == 0
    assert telemetry.taken == [1, 2]


def test_pauses_double_up_to_their_limit_and_begin_anew_after_success():
    backoff = Backoff(max_ms=3_000)
    assert [backoff.failed() for _ in range(5)] == [500, 1_000, 2_000, 3_000, 3_000]
    assert backoff.is_away
    backoff.worked()
    assert not backoff.is_away
    assert backoff.failed() == 500


INTERVAL_MS = 5_000


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def arrivals(clock):
    return Arrivals(["prod", "a/b"], INTERVAL_MS, clock)


def sample(key=b"prod/1", topic=topics.METRICS):
    return Outgoing(topic, key, b"{}")


def test_a_sample_is_overdue_after_two_intervals_without_any(arrivals, clock):
    clock.now_s += 10
    assert arrivals.overdue_ms("prod") == 0
    clock.now_s += 0.5
    assert arrivals.overdue_ms("prod") == 500
    arrivals.note(sample())
    assert arrivals.overdue_ms("prod") == 0
    clock.now_s += 70
    assert arrivals.overdue_ms("prod") == 60_000


def test_each_cluster_is_counted_by_itself_whatever_its_name(arrivals, clock):
    clock.now_s += 70
    arrivals.note(sample(b"a/b/12"))
    assert (arrivals.overdue_ms("prod"), arrivals.overdue_ms("a/b")) == (60_000, 0)
    arrivals.note(sample(b"elsewhere/1"))
    assert arrivals.overdue_ms("prod") == 60_000


@pytest.mark.parametrize("record", [sample(b"prod/heartbeat"), sample(topic=topics.EVENTS), sample(b"prod")], ids=str)
def test_what_is_no_sample_proves_nothing(arrivals, clock, record):
    clock.now_s += 70
    arrivals.note(record)
    assert arrivals.overdue_ms("prod") == 60_000
