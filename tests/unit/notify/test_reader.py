"""What is read of the topics: which alerts fire, what was decided, which signs of life count."""

from types import SimpleNamespace

import msgspec
import pytest
from kafka import TopicPartition

from logdirwatch.kafka import clients
from logdirwatch.model import topics
from logdirwatch.model.records import DecisionRecord, NotificationRecord
from logdirwatch.model.vocabulary import ActionStatus, AlertStatus, Decision, Severity
from logdirwatch.notify.reader import POLL_MS, NextSteps, Reader, told_before
from tests.unit.report.builders import NOW_MS, action, alert, heartbeat, message

DAY_MS = 24 * 3_600_000
SKEW_MS = 60_000


class Switch:
    """Keeps what it was told as history and as heard."""

    def __init__(self):
        self.before, self.heard = [], []

    def history(self, sign):
        self.before.append(sign.alert_id)

    def hear(self, sign, now_ms):
        self.heard.append((sign.alert_id, now_ms))


class Consumer:
    """Topics of partitions as lists of (key, value); each poll gives at most ``at_once`` records of a partition."""

    def __init__(self, at_once=1_000):
        self.parts = {TopicPartition(name, 0): [] for name in (topics.ALERTS, topics.DECISIONS)}
        self.begins, self.positions, self.at_once, self.timeouts_ms = {}, {}, at_once, set()

    def beginning_offsets(self, partitions):
        return {part: self.begins.get(part, 0) for part in partitions}

    def end_offsets(self, partitions, timeout_ms=None):
        return {part: len(self.parts[part]) for part in partitions}

    def assign(self, partitions):
        self.positions = dict.fromkeys(partitions, 0)

    def seek(self, part, offset):
        self.positions[part] = offset

    def position(self, part):
        return self.positions[part]

    def poll(self, timeout_ms):
        self.timeouts_ms.add(timeout_ms)
        found = {}
        for part, position in self.positions.items():
            new = self.parts[part][position : position + self.at_once]
            self.positions[part] += len(new)
            found[part] = [
                SimpleNamespace(topic=part.topic, partition=part.partition, offset=offset, key=k, value=v, timestamp=at)
                for offset, (k, v, at) in enumerate(new, position)
            ]
        return found

    def write(self, record, topic=topics.ALERTS, partition=0, at_ms=NOW_MS):
        part = self.parts.setdefault(TopicPartition(topic, partition), [])
        part.append((record.alert_id.encode() if topic == topics.ALERTS else b"k", msgspec.json.encode(record), at_ms))

    def write_raw(self, key, value):
        self.parts[TopicPartition(topics.ALERTS, 0)].append((key, value, NOW_MS))


@pytest.fixture
def client(monkeypatch):
    consumer = Consumer()
    monkeypatch.setattr(clients, "partitions_of", lambda client, topic: [p for p in client.parts if p.topic == topic])
    return consumer


@pytest.fixture
def switch():
    return Switch()


def reading(client, switch, polls=1):
    reader = Reader(switch, 7 * DAY_MS, SKEW_MS)
    reader.start(client)
    for _ in range(polls):
        reader.poll(client, NOW_MS)
    return reader


def names(reader, known=()):
    return [found.alert_id for found in reader.alerts(known)]


def over(name, revision=2):
    return alert(name, revision, status=AlertStatus.RESOLVED)


def said(what, name="a", at_ms=NOW_MS, **fields):
    return DecisionRecord(version=1, id=name, decision=what, by="ada", reason="known", at_ms=at_ms, **fields)


def test_what_fires_is_given_and_what_ended_only_to_who_knows_it(client, switch):
    for record in (alert("a"), alert("b"), over("b"), over("c")):
        client.write(record)
    reader = reading(client, switch)
    assert names(reader) == ["a"]
    assert [(found.alert_id, str(found.status)) for found in reader.alerts(["a", "b", "gone"])] == [
        ("a", "firing"),
        ("b", "resolved"),
    ]
    assert client.timeouts_ms == {POLL_MS}


def test_the_latest_revision_counts_not_the_last_that_arrived(client, switch):
    for record in (alert("a", 2, severity=Severity.PAGE), alert("a", 1), over("b", 3), alert("b", 2)):
        client.write(record)
    reader = reading(client, switch)
    assert [(found.alert_id, found.severity) for found in reader.alerts([])] == [("a", Severity.PAGE)]


def test_an_alert_that_the_topic_forgot_fires_no_more(client, switch):
    client.write(alert("a"))
    client.write(alert("b"))
    client.write_raw(b"a", None)
    client.write_raw(None, None)
    assert names(reading(client, switch), ["a"]) == ["b"]


def test_a_record_that_nobody_can_read_ends_nothing(client, switch):
    client.write(alert("a"))
    client.write_raw(b"a", b"{")
    assert names(reading(client, switch)) == ["a"]


def test_all_is_read_once_every_partition_is_read_up_to_where_it_ended_at_the_start(client, switch):
    client.at_once = 1
    for name in "abc":
        client.write(alert(name))
    client.write(alert("d"), partition=1)
    reader = Reader(switch, 7 * DAY_MS, SKEW_MS)
    reader.start(client)
    client.write(alert("e"))
    assert [reader.poll(client, NOW_MS) for _ in range(4)] == [False, False, True, True]


def test_an_empty_topic_is_read_at_once(client, switch):
    part = TopicPartition(topics.ALERTS, 0)
    client.write(alert("deleted by the retention"))
    client.begins[part] = 1
    reader = Reader(switch, 7 * DAY_MS, SKEW_MS)
    reader.start(client)
    assert client.position(part) == 1
    assert reader.poll(client, NOW_MS) is True
    assert names(reader) == []


def test_a_new_partition_is_read_from_its_beginning(client, switch):
    client.write(alert("a"))
    reader = reading(client, switch)
    client.write(alert("b"), partition=1)
    reader.poll(client, NOW_MS)
    assert sorted(names(reader)) == ["a", "b"]


def test_only_a_sign_that_came_after_the_start_is_heard(client, switch):
    client.at_once = 1
    for name in ("before1", "before2"):
        client.write(heartbeat(collector=name))
    reader = Reader(switch, 7 * DAY_MS, SKEW_MS)
    reader.start(client)
    client.write(heartbeat(collector="after"))
    for later_ms in range(4):
        reader.poll(client, NOW_MS + later_ms)
    assert switch.before == ["beat-before1", "beat-before2"]
    assert switch.heard == [("beat-after", NOW_MS + 2)]
    assert names(reader) == [], "a sign of life is no alert"


def test_a_sign_after_the_start_is_heard_while_other_partitions_are_still_read(client, switch):
    client.at_once = 1
    client.parts[TopicPartition(topics.ALERTS, 1)] = []
    for name in "abc":
        client.write(alert(name))
    reader = Reader(switch, 7 * DAY_MS, SKEW_MS)
    reader.start(client)
    client.write(heartbeat(collector="new"), partition=1)
    assert reader.poll(client, NOW_MS) is False
    assert (switch.before, switch.heard) == ([], [("beat-new", NOW_MS)])


@pytest.mark.parametrize(
    ("decision", "acknowledged", "silenced"),
    [(None, False, False), (Decision.ACKNOWLEDGE, True, False), (Decision.SILENCE, False, True)],
)
def test_an_alert_comes_with_what_was_decided_about_it(client, switch, decision, acknowledged, silenced):
    client.write(alert("a"))
    if decision is not None:
        client.write(said(decision), topics.DECISIONS)
        client.write(said(decision, "other"), topics.DECISIONS)
    reader = reading(client, switch)
    (found,) = reader.alerts([])
    member = reader.member_of(found, NOW_MS + 1)
    assert member.alert is found
    assert ((member.decided.acknowledged is not None), (member.decided.silenced is not None)) == (
        acknowledged,
        silenced,
    )


@pytest.mark.parametrize(("after_ms", "holds"), [(7 * DAY_MS - 1, True), (7 * DAY_MS, False)])
def test_a_decision_without_an_end_lasts_as_long_as_the_settings_allow(client, switch, after_ms, holds):
    client.write(said(Decision.SILENCE), topics.DECISIONS)
    found = reading(client, switch).member_of(alert("a"), NOW_MS + after_ms)
    assert (found.decided.silenced is not None) is holds


@pytest.mark.parametrize(
    ("severities", "holds"), [([Severity.WARNING], True), ([Severity.PAGE, Severity.WARNING], False)]
)
def test_an_acknowledgement_ends_when_the_alert_gets_louder_than_it_covers(client, switch, severities, holds):
    client.write(alert("a", 1, severity=Severity.WARNING))
    client.write(said(Decision.ACKNOWLEDGE, severity=Severity.WARNING, revision=1), topics.DECISIONS)
    for revision, severity in enumerate(severities, 2):
        client.write(alert("a", revision, severity=severity))
    reader = reading(client, switch)
    (found,) = reader.alerts([])
    assert (reader.member_of(found, NOW_MS + 1).decided.acknowledged is not None) is holds


def test_a_decision_of_a_clock_that_is_ahead_counts_from_kafkas_time(client, switch):
    ahead_ms = NOW_MS + SKEW_MS + DAY_MS
    client.write(said(Decision.SILENCE, at_ms=ahead_ms, until_ms=ahead_ms + 1_000), topics.DECISIONS)
    reader = reading(client, switch)
    assert [reader.member_of(alert("a"), NOW_MS + ms).decided.silenced is not None for ms in (999, 1_000)] == [
        True,
        False,
    ]


def test_before_anything_is_read_nothing_fires_and_a_poll_starts_by_itself(client, switch):
    client.write(alert("a"))
    reader = Reader(switch, 7 * DAY_MS, SKEW_MS)
    assert names(reader, ["a"]) == []
    assert reader.poll(client, NOW_MS) is True
    assert names(reader) == ["a"]


def test_what_was_told_before_is_the_last_record_of_each_group(monkeypatch):
    def record(name, told):
        return NotificationRecord(
            version=1, receiver=name, route="all", group={}, told=told, owed=[], quiet=[], sent_at_ms=NOW_MS
        )

    def written(name, value):
        return SimpleNamespace(
            key=name.encode(), value=value, topic=topics.NOTIFICATIONS, partition=0, offset=0, timestamp=-1
        )

    first, last, other = record("ops", {}), record("ops", {"a": Severity.PAGE}), record("chat", {})
    values = [("ops", msgspec.json.encode(first)), ("ops", msgspec.json.encode(last))]
    values += [("old", b'{"version": 0}'), ("chat", msgspec.json.encode(other)), ("torn", b"{")]
    asked = []

    def read_all(settings, topic):
        asked.append((settings, topic))
        return (written(name, value) for name, value in values)

    monkeypatch.setattr(clients, "read_all", read_all)
    assert told_before("settings") == [last, other]
    assert asked == [("settings", topics.NOTIFICATIONS)]


ALERT = "a" * 32
VETO = {"name": "space", "reason": "too full"}


def step_of(*actions, alert_id=ALERT):
    steps = NextSteps()
    for found in actions:
        steps.take(message(found, found.action_id))
    chosen = steps.of(alert_id, NOW_MS)
    return None if chosen is None else chosen.action_id


def test_it_is_the_first_in_the_recommended_order_that_can_be_done_now():
    vetoed = action("vetoed", position=0, vetoes=[VETO])
    assert step_of(vetoed, action("third", position=3), action("second", position=2)) == "second"


def test_it_is_of_the_alert_itself():
    assert step_of(action("x"), alert_id="other") is None


def test_what_is_closed_or_expired_is_no_step():
    assert step_of(action("x"), action("x", 2, status=ActionStatus.DONE)) is None
    assert step_of(action("x", expires_at_ms=NOW_MS - 1)) is None


def test_an_action_that_got_a_veto_is_no_step():
    assert step_of(action("x"), action("x", 2, vetoes=[VETO])) is None
