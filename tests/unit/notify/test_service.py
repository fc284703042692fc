"""The loop over a scripted telemetry cluster and receivers that listen on this machine."""

import threading
import time
from contextlib import contextmanager
from itertools import pairwise
from types import SimpleNamespace

import msgspec
import pytest
from kafka import TopicPartition
from structlog.testing import capture_logs

from logdirwatch.errors import UserError
from logdirwatch.kafka import clients
from logdirwatch.model import topics
from logdirwatch.model.records import DecisionRecord, NotificationRecord
from logdirwatch.model.vocabulary import AlertStatus, Decision, Rule, Severity
from logdirwatch.notify import sending, service
from logdirwatch.notify.health import Health
from logdirwatch.notify.heartbeats import Switch
from logdirwatch.notify.reader import Reader
from logdirwatch.notify.senders import senders
from logdirwatch.notify.service import CHECK_MS, Keeper, Notifier
from logdirwatch.notify.settings import SwitchSettings
from logdirwatch.observe.progress import ILL_AFTER, declared_s
from logdirwatch.settings import Settings
from tests.support.clocks import Clock
from tests.support.kafka_records import kafka_record
from tests.support.waiting import DEADLINE_S, wait_until
from tests.unit.notify.receivers import receiving
from tests.unit.report.builders import alert

HOUR_MS = 3_600_000
DAY_MS = 24 * HOUR_MS


class Kafka:
    """Topics of one partition as lists; ``is_away`` makes every call fail as an unreachable cluster does."""

    def __init__(self):
        self.topics = {topics.ALERTS: [], topics.DECISIONS: [], topics.NOTIFICATIONS: []}
        self.is_away = False
        self._positions = {}

    @contextmanager
    def consumer(self, settings, **arguments):
        self._check()
        yield self

    def _check(self):
        if self.is_away:
            raise UserError("Kafka at nowhere cannot be reached")

    def partitions_for_topic(self, topic):
        self._check()
        return {0}

    def beginning_offsets(self, partitions):
        return dict.fromkeys(partitions, 0)

    def end_offsets(self, partitions, timeout_ms=None):
        return {part: len(self.topics[part.topic]) for part in partitions}

    def assign(self, partitions):
        self._positions = dict.fromkeys(partitions, 0)

    def seek(self, partition, offset):
        self._positions[partition] = offset

    def position(self, partition):
        return self._positions[partition]

    def poll(self, timeout_ms):
        self._check()
        found = {}
        for part, position in self._positions.items():
            new = self.topics[part.topic][position:]
            self._positions[part] += len(new)
            found[part] = [self._record(part, position + n, value) for n, value in enumerate(new)]
        if not any(found.values()):
            time.sleep(0.01)
        return found

    def _record(self, part, offset, value):
        place = {"topic": part.topic, "partition": part.partition, "offset": offset}
        return SimpleNamespace(**place, key=b"k", value=value, timestamp=now_ms())

    def read_all(self, settings, topic):
        self._check()
        for offset, (key, value) in enumerate(self.topics[topic]):
            yield kafka_record(topic, key, value, offset)

    def put(self, records):
        if topics.NOTIFICATIONS in self.topics:
            self.topics[topics.NOTIFICATIONS].extend((record.key, record.value) for record in records)

    def exists(self, client, topic):
        self._check()
        return topic in self.topics

    def write(self, record, topic=topics.ALERTS):
        self.topics[topic].append(msgspec.json.encode(record))

    def told(self):
        return [msgspec.json.decode(value, type=NotificationRecord) for _, value in self.topics[topics.NOTIFICATIONS]]


@pytest.fixture
def kafka(monkeypatch):
    fake = Kafka()
    monkeypatch.setattr(clients, "consumer", fake.consumer)
    monkeypatch.setattr(clients, "read_all", fake.read_all)
    monkeypatch.setattr(clients, "exists", fake.exists)
    return fake


@pytest.fixture
def receiver():
    with receiving() as running:
        yield running


def now_ms():
    return time.time_ns() // 1_000_000


def notifier_of(kafka, url, clusters=(), set_by=(0,), **notify):
    values = {
        "receivers": {"ops": {"urls": [url]}},
        "group_wait_ms": 0,
        "group_interval_ms": 0,
        "backoff_max_ms": 500,
        "heartbeat": {"timeout_ms": 0},
        **notify,
    }
    settings = Settings(notify=values, clusters={name: {} for name in clusters})
    switch = Switch(settings.notify.heartbeat, settings.clusters, settings.collect.canary_interval_ms, now_ms())
    reader = Reader(switch, settings.decisions.longest_ms, settings.detect.clock_skew_ms)
    publisher, ways = SimpleNamespace(put=kafka.put), senders(settings.notify)

    def wall_ms():
        return now_ms() + set_by[0]

    return Notifier(settings.notify, settings.telemetry, switch, reader, ways, publisher, wall_ms)


@contextmanager
def notifying(*given, **notify):
    notifier, stop = notifier_of(*given, **notify), threading.Event()
    thread = threading.Thread(target=notifier.run, args=(stop,))
    thread.start()
    try:
        yield notifier.health
    finally:
        stop.set()
        thread.join(DEADLINE_S)
        assert not thread.is_alive()


def url_of(receiver):
    return f"json://127.0.0.1:{receiver.port}?rate=0"


def titles(receiver):
    return [body["title"] for body in receiver.bodies]


def wait_for(receiver, count):
    wait_until(lambda: len(receiver.posted) >= count, DEADLINE_S, f"{count} messages")


def heartbeat(at_ms):
    fields = {"status": AlertStatus.RESOLVED, "evidence": {"collector": "c1"}, "at_ms": at_ms}
    return alert("h", at_ms // 1000, rule=Rule.HEARTBEAT, broker=None, log_dir=None, **fields)


def test_what_fires_and_ends_is_told_and_a_restart_tells_nothing_again(kafka, receiver):
    kafka.write(alert("old", 1, status=AlertStatus.RESOLVED))
    kafka.write(alert("a", 0))
    with notifying(kafka, url_of(receiver)):
        wait_for(receiver, 1)
        kafka.write(alert("a", 1))
        wait_until(kafka.told, DEADLINE_S, "what was told to be kept")
    assert kafka.told()[-1].told == {"a": "critical"}
    with notifying(kafka, url_of(receiver)):
        kafka.write(alert("a", 2, status=AlertStatus.RESOLVED))
        wait_for(receiver, 2)
        wait_until(lambda: kafka.told()[-1].told == {}, DEADLINE_S, "the end to be kept")
    assert titles(receiver) == [
        "[critical] log_dir_offline: prod broker 7 /data/d1",
        "[resolved] log_dir_offline: prod broker 7 /data/d1",
    ]


def test_a_topic_of_what_was_told_that_is_made_anew_gets_all_of_it(kafka, receiver, monkeypatch, capsys):
    monkeypatch.setattr(service, "CHECK_MS", 0)
    kafka.write(alert("a", 1))
    with notifying(kafka, url_of(receiver)):
        wait_for(receiver, 1)
        wait_until(kafka.told, DEADLINE_S, "what was told to be kept")
        del kafka.topics[topics.NOTIFICATIONS]
        wait_until(lambda: "notify.topic.gone" in capsys.readouterr().out, DEADLINE_S, "the line that it is gone")
        kafka.topics[topics.NOTIFICATIONS] = []
        wait_until(kafka.told, DEADLINE_S, "what was told to be written again")
        kafka.topics[topics.NOTIFICATIONS] = []
        wait_until(kafka.told, DEADLINE_S, "a topic made again between two looks to be seen")
    with notifying(kafka, url_of(receiver)):
        kafka.write(alert("a", 2, status=AlertStatus.RESOLVED))
        wait_for(receiver, 2)
    assert [title.partition("]")[0] for title in titles(receiver)] == ["[critical", "[resolved"]


def test_a_start_without_the_topic_of_what_was_told_says_so_and_tells_what_fires(kafka, receiver, capsys):
    del kafka.topics[topics.NOTIFICATIONS]
    kafka.write(alert("a", 1))
    with notifying(kafka, url_of(receiver)):
        wait_for(receiver, 1)
    out = capsys.readouterr().out
    assert "notify.topic.missing" in out
    assert "logdirwatch topics create" in out
    assert "notify.telemetry.failed" not in out


def test_a_receiver_that_comes_back_is_told(kafka, receiver):
    receiver.status = 503
    kafka.write(alert("a"))
    with notifying(kafka, url_of(receiver)):
        wait_until(lambda: receiver.asked >= 2, DEADLINE_S, "two attempts")
        receiver.status = 200
        wait_for(receiver, 1)
    assert len(receiver.posted) == 1


def said(kind, at_ms, until_ms=None):
    return DecisionRecord(
        version=1, id="a", decision=Decision(kind), by="bot", reason="ticket", at_ms=at_ms, until_ms=until_ms
    )


def test_an_acknowledgement_without_an_end_holds_up_nobody(kafka, receiver):
    kafka.write(alert("a", severity=Severity.WARNING))
    with notifying(kafka, url_of(receiver)):
        wait_for(receiver, 1)
        kafka.write(said("acknowledge", now_ms()), topics.DECISIONS)
        kafka.write(alert("b", severity=Severity.PAGE, log_dir="/data/d2"))
        wait_for(receiver, 2)
    assert titles(receiver)[1].startswith("[page] log_dir_offline: prod broker 7 /data/d2 (known: 1 ")
    assert "[acknowledged by bot until 2" in receiver.bodies[1]["message"]


@pytest.mark.parametrize("at_ms", [lambda: now_ms() + 30 * DAY_MS, lambda: now_ms() * 1000])
def test_a_silence_of_a_clock_that_is_ahead_lasts_as_long_as_it_says(kafka, at_ms):
    reader, said_ms = Reader(Switch(SwitchSettings(), (), HOUR_MS, now_ms()), 7 * DAY_MS, 60_000), at_ms()
    kafka.write(said("silence", said_ms, said_ms + 4 * HOUR_MS), topics.DECISIONS)
    reader.start(kafka)
    reader.poll(kafka, now_ms())
    begun_ms = now_ms()
    assert reader.member_of(alert("a"), begun_ms + 3 * HOUR_MS).decided.silenced is not None
    assert reader.member_of(alert("a"), begun_ms + 4 * HOUR_MS).decided.silenced is None


def test_a_heartbeat_that_stops_is_told_and_so_is_its_return(kafka, receiver):
    switch = {"timeout_ms": 4_000}
    with notifying(kafka, url_of(receiver), ["prod"], heartbeat=switch):
        beat = threading.Event()

        def beats():
            while not beat.wait(0.2):
                kafka.write(heartbeat(now_ms()))

        thread = threading.Thread(target=beats)
        thread.start()
        kafka.write(alert("a"))
        wait_for(receiver, 1)
        beat.set()
        thread.join()
        wait_for(receiver, 2)
        kafka.write(heartbeat(now_ms() + 5_000))
        wait_for(receiver, 3)
    assert titles(receiver)[0].startswith("[critical] log_dir_offline")
    assert "[page]" in titles(receiver)[1]
    assert "No heartbeat of cluster prod" in receiver.bodies[1]["message"]
    assert "Heartbeats of cluster prod arrive again" in receiver.bodies[2]["message"]


def test_a_telemetry_cluster_that_is_away_is_a_heartbeat_that_stops(kafka, receiver, capsys):
    kafka.is_away = True
    with notifying(kafka, url_of(receiver), ["prod"], heartbeat={"timeout_ms": 500}):
        wait_for(receiver, 1)
        kafka.is_away = False
        kafka.write(heartbeat(now_ms()))
        wait_until(lambda: "notify.ready" in capsys.readouterr().out, DEADLINE_S, "the topics to be read")
        kafka.write(heartbeat(now_ms() + 60_000))
        wait_for(receiver, 2)
    assert titles(receiver)[0] == "[page] heartbeat: prod"
    assert titles(receiver)[1] == "[resolved] heartbeat: prod"


@pytest.mark.parametrize("away_s", [10, 600, 7_200])
def test_the_telemetry_cluster_is_asked_again_each_half_minute_however_long_it_is_away(
    kafka, monkeypatch, capsys, away_s
):
    tried_s, now_s = [], [0.0]

    def consumer(*_, **__):
        tried_s.append(now_s[0])
        raise UserError("Kafka at nowhere cannot be reached")

    def wait(for_s):
        now_s[0] += for_s

    monkeypatch.setattr(clients, "consumer", consumer)
    monkeypatch.setattr(service, "time", SimpleNamespace(monotonic=lambda: now_s[0]))
    stop = SimpleNamespace(is_set=lambda: now_s[0] >= away_s, wait=wait)
    notifier_of(kafka, "json://127.0.0.1:1", backoff_max_ms=300_000).run(stop)
    assert max(after - before for before, after in pairwise([*tried_s, now_s[0]])) <= 30
    assert capsys.readouterr().out.count("notify.telemetry.failed") == 1


def test_probes_are_told_whether_the_topics_are_read(kafka, receiver):
    kafka.is_away = True
    with notifying(kafka, url_of(receiver)) as health:
        assert health.is_unready() == "the telemetry topics cannot be read"
        kafka.is_away = False
        wait_until(lambda: health.is_unready() is None, DEADLINE_S, "it to be ready")
        kafka.is_away = True
        wait_until(lambda: health.is_unready() is not None, DEADLINE_S, "it to be unready")
        assert health.is_ill() is None


def test_while_all_is_well_an_outside_url_is_asked(kafka, receiver):
    with receiving() as outside:
        ping = f"http://127.0.0.1:{outside.port}/ping"
        with notifying(kafka, url_of(receiver), ["prod"], heartbeat={"timeout_ms": 60_000, "ping_url": ping}):
            kafka.write(heartbeat(now_ms()))
            wait_until(lambda: outside.posted, DEADLINE_S, "the outside URL to be asked")
    assert outside.posted[0][0] == "/ping"
    assert receiver.posted == []


def test_a_page_that_arrives_nowhere_is_told_to_probes_and_by_the_silence_of_the_ping(kafka, receiver, monkeypatch):
    monkeypatch.setattr(sending, "UNHEARD_MS", 0)
    receiver.status = 503
    with receiving() as outside:
        switch = {"timeout_ms": 60_000, "ping_url": f"http://127.0.0.1:{outside.port}/", "ping_interval_ms": 1_000}
        with notifying(kafka, url_of(receiver), ["prod"], heartbeat=switch, backoff_max_ms=1_000) as health:
            kafka.write(heartbeat(now_ms()))
            kafka.write(alert("a"))
            said = lambda: (health.is_unready() or "").startswith("takes no messages: ops for ")  # noqa: E731
            wait_until(said, DEADLINE_S, "the receiver to be named")
            pings, tries = outside.asked, receiver.asked
            wait_until(lambda: receiver.asked >= tries + 4, DEADLINE_S, "more attempts, in four seconds")
            assert outside.asked <= pings + 1
            receiver.status = 200
            wait_until(lambda: health.is_unready() is None, DEADLINE_S, "the receiver to take its message")
            wait_until(lambda: outside.asked >= pings + 2, DEADLINE_S, "the ping to go on")


def test_the_reader_notices_new_partitions(kafka, receiver):
    with notifying(kafka, url_of(receiver)):
        wait_until(lambda: kafka._positions, DEADLINE_S, "the topics to be assigned")
        kafka.partitions_for_topic = lambda topic: {0, 1} if topic == topics.ALERTS else {0}
        kafka.end_offsets = lambda partitions, timeout_ms=None: dict.fromkeys(partitions, 0)
        wait_until(lambda: TopicPartition(topics.ALERTS, 1) in kafka._positions, DEADLINE_S, "the new partition")


@pytest.mark.parametrize("by_ms", [-3_600_000, 3_600_000])
def test_a_wall_clock_that_is_set_delays_no_message_and_raises_no_false_one(kafka, receiver, by_ms):
    set_by = [0]
    heartbeats = {"timeout_ms": 60_000}
    with notifying(kafka, url_of(receiver), ["prod"], set_by, heartbeat=heartbeats, backoff_max_ms=1_000) as health:
        kafka.write(heartbeat(now_ms()))
        wait_until(lambda: health.is_unready() is None, DEADLINE_S, "everything to be read")
        set_by[0] = by_ms
        kafka.is_away = True
        wait_until(lambda: health.is_unready() is not None, DEADLINE_S, "the cluster to be away")
        set_by[0] = 2 * by_ms
        kafka.is_away = False
        wait_until(lambda: health.is_unready() is None, DEADLINE_S, "the cluster to be read again")
        kafka.write(alert("a"))
        wait_for(receiver, 1)
    assert len(titles(receiver)) == 1
    assert "heartbeat" not in titles(receiver)[0].lower()


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def health(clock):
    return Health(clock)


def test_a_loop_without_progress_is_not_ready_at_once_and_ill_when_that_lasts(health, clock):
    health.is_reading(is_reading=True)
    clock.now_s += declared_s("notify")
    assert health.is_unready() is None
    clock.now_s += 1
    assert health.is_unready() == "no progress: notify for 1 min 1 s"
    assert health.is_ill() is None
    clock.now_s += (ILL_AFTER - 1) * declared_s("notify")
    assert health.is_ill() == "no progress: notify for 2 min 1 s"
    health.went_round()
    assert (health.is_ill(), health.is_unready()) == (None, None)


def test_it_is_ready_while_the_topics_are_read(health):
    assert health.is_unready() == "the telemetry topics cannot be read"
    health.is_reading(is_reading=True)
    assert health.is_unready() is None
    health.unheard = {"pager": 360_000}
    assert (health.is_unready(), health.is_ill()) == ("takes no messages: pager for 6 min", None)
    health.is_reading(is_reading=False)
    assert health.is_unready() == "the telemetry topics cannot be read"


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
    kept = Keeper(lambda: written.append(1) or 1, lambda: iter(kept.topic))
    kept.written, kept.topic = written, []
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


@pytest.mark.parametrize(
    ("ours", "there", "is_told"),
    [
        ([b"a", b"b"], [b"a", b"b"], False),
        ([b"a"], [b"a", b"a"], False),
        ([], [b"x"], True),
        ([b"a"], [b"a", b"x"], True),
    ],
    ids=["its own", "one that was sent again", "another's", "another's beside its own"],
)
def test_a_second_notify_is_told_of_by_the_records_that_it_writes(keeper, ours, there, is_told):
    keeper.topic = [kafka_record("logdir.notifications", b"k", b"of an earlier process", 0)]
    keeper.look(Topic(1), 0)
    with capture_logs() as lines:
        for number in (1, 2):
            for value in ours:
                keeper.wrote(value)
            for value in there:
                keeper.topic.append(kafka_record("logdir.notifications", b"k", value, len(keeper.topic)))
            keeper.look(Topic(len(keeper.topic)), number * CHECK_MS)
    assert [line["event"] for line in lines] == ["notify.another"] * is_told
