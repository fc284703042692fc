"""Every process that reads topics or stored records, with the same bad records: counted, skipped, without effect.

What a consumer makes of records must be the same with and without unreadable ones between them.
"""

import ast
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import msgspec
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from pyspark.sql import Row
from pyspark.sql.streaming.tws_tester import TwsTester

from logdirwatch.autopilot.feed import Feed
from logdirwatch.cli.actions import deciding
from logdirwatch.cli.reading import plan_source
from logdirwatch.cli.reading.live_alerts import LiveAlerts
from logdirwatch.cli.reading.records import follow_into, read_into
from logdirwatch.console import reading as console
from logdirwatch.detect.settings import DetectSettings
from logdirwatch.execute import journal
from logdirwatch.fleet.settings import FleetSettings
from logdirwatch.jobs.policy import policy_for
from logdirwatch.jobs.processors import ClusterProcessor
from logdirwatch.jobs.queries import recommend, start_state
from logdirwatch.kafka import clients
from logdirwatch.model import topics
from logdirwatch.model.records import DecisionRecord, NotificationRecord
from logdirwatch.model.vocabulary import Decision
from logdirwatch.notify.reader import Reader, told_before
from logdirwatch.parse.reading import RecordReader
from logdirwatch.parse.records import RECORDS, Rejected, parse
from logdirwatch.report.folding import LatestDecisions, latest_actions, latest_alerts, message_of
from logdirwatch.report.status import snapshot
from logdirwatch.settings import Settings
from logdirwatch.store.schema.definitions import ALERTS
from logdirwatch.store.writing.intake import Belief, Position, thin_rows
from logdirwatch_lab.demo import watch
from tests.support import bad
from tests.support.generated import spoilt
from tests.support.kafka_records import Topics
from tests.support.properties import examples
from tests.unit.detect.standin import stand_in
from tests.unit.report.builders import NOW_MS, action, alert, execution

PACKAGE = Path(__file__).parents[2] / "streaming" / "logdirwatch"
SKEW_MS = 60_000
BROKER = {"version": 1, "cluster": "prod", "broker": 7}


def _decision(name: str, decision: Decision = Decision.ACCEPT) -> DecisionRecord:
    return DecisionRecord(version=1, id=name, decision=decision, by="ada", reason="known", at_ms=NOW_MS, cluster="prod")


def _told(name: str) -> NotificationRecord:
    return NotificationRecord(version=1, receiver=name, route="r", group={}, told={})


def _state(sequence: int) -> dict[str, Any]:
    return {**bad.STATE, "sequence": sequence, "at_ms": NOW_MS, "log_dirs": [], "machine": "m"}


def _sample(at_ms: int) -> dict[str, Any]:
    return {**bad.METRICS, "timestamp_ms": at_ms}


def _event(event: str) -> dict[str, Any]:
    return {**BROKER, "event": event, "timestamp_ms": NOW_MS, "log_dir": "/d1"}


def _scan(name: str) -> dict[str, Any]:
    return {"version": 1, "type": "topic", "cluster": "prod", "collector": "c", "timestamp_ms": NOW_MS, "topic": name,
            "partitions": [], "part": 0, "parts": 1}  # fmt: skip


GOOD: dict[str, tuple[Any, Any]] = {
    topics.METRICS: (_sample(NOW_MS), _sample(NOW_MS + 10_000)),
    topics.EVENTS: (_event("LogDirFailure"), _event("LogDirReset")),
    topics.INVENTORY: (_scan("t"), _scan("u")),
    topics.STATE: (_state(1), _state(2)),
    topics.ALERTS: (alert("a"), alert("b")),
    topics.ACTIONS: (action("a"), action("b")),
    topics.DECISIONS: (_decision("a"), _decision("b", Decision.SILENCE)),
    topics.NOTIFICATIONS: (_told("ops"), _told("chat")),
    topics.EXECUTIONS: (execution("a"), execution("b", cluster="other")),
}
"""Two records of each topic; the second one is read after what nobody can read."""
VALUES = {topic: [msgspec.json.encode(record) for record in records] for topic, records in GOOD.items()}
KEYS = {topic: (b"prod/7", b"prod/7") if topic == topics.STATE else (b"a", b"b") for topic in GOOD}


class Consumer(NamedTuple):
    """One way in which a process reads a topic.

    ``run`` returns what it makes of the records, and how many it could not read; None if ``store`` counts them.
    """

    name: str
    topic: str
    run: Any


def _fold(make: Any) -> Any:
    def run(world: Topics, topic: str) -> tuple[Any, int]:
        fold = make()
        list(fold.take_all(map(message_of, world.of(topic))))
        return fold.records, fold.unreadable

    return run


def _command(make: Any) -> Any:
    def run(_world: Topics, _topic: str) -> tuple[Any, int]:
        fold = make()
        read_into(fold, "telemetry")
        assert list(follow_into(fold, "telemetry")) == []  # nothing new, and nothing counted twice
        return fold.records, fold.unreadable

    return run


def _recommender(world: Topics, topic: str) -> tuple[Any, int]:
    rows = [(r.topic, r.key, r.value, r.timestamp, r.partition, r.offset) for r in world.of(topic)]
    published: list[Any] = []
    keeper = recommend.Recommender(
        read=lambda: rows,
        facts=lambda _: None,
        publish=published.extend,
        policy=lambda name: policy_for(Settings(), name),
        skew_ms=SKEW_MS,
    )
    keeper.take(rows, NOW_MS)
    keeper.look(NOW_MS)
    return [(a.kind, a.status, a.alert_id) for a in published], keeper.reader.unreadable.total()


def _notify(world: Topics, topic: str) -> tuple[Any, int]:
    reader = Reader(SimpleNamespace(history=lambda _: None, hear=lambda *_: None), 10**9, SKEW_MS)
    reader.read_steps(is_there=True)
    reader.start(world)
    assert reader.poll(world, NOW_MS)
    reader.start(world)  # as after an outage of the telemetry cluster
    reader.poll(world, NOW_MS)
    alerts = reader.alerts(["a", "b"])
    return [
        reader.member_of(one, NOW_MS) for one in [*alerts, alert("a"), alert("b")]
    ], reader.records.unreadable.total()


def _sent(world: Topics, topic: str) -> tuple[Any, int]:
    reader = RecordReader()
    return told_before("telemetry", reader), reader.unreadable.total()


def _autopilot(world: Topics, topic: str) -> tuple[Any, int]:
    reader = RecordReader()
    feed = Feed(world, SKEW_MS, reader)
    feed.catch_up()
    return (feed.actions, feed.executions, feed.said(), feed.pauses(10**9, NOW_MS)), reader.unreadable.total()


def _journal(world: Topics, topic: str) -> tuple[Any, int]:
    reader = RecordReader()
    return journal.read("telemetry", "other", reader), reader.unreadable.total()


def _console(world: Topics, topic: str) -> tuple[Any, int]:
    live = LiveAlerts("telemetry", SKEW_MS, lambda records, _: records)
    for fold in (live._alerts, live._decisions):
        live.follow(fold)
    return (live.alerts(), live.handling()), live.records.unreadable.total()


def _demo(world: Topics, topic: str) -> tuple[Any, int]:
    followed = watch.Watch("telemetry", lambda _: None, lambda _: None)
    kept: list[Any] = []
    followed._follow(topic, RECORDS[topic][0], kept, None)
    return [seen.record for seen in kept], followed.records.unreadable.total()


def _start(world: Topics, topic: str) -> tuple[Any, int]:
    values = [(r.key, r.offset, r.value) for r in world.of(topic)]
    batch = pa.RecordBatch.from_pylist([dict(zip(("key", "offset", "value"), row, strict=True)) for row in values])
    (read,) = start_state.readable_batches(iter([batch]), topic)
    return read.column("record").to_pylist(), len(values) - read.num_rows


def _detect(world: Topics, topic: str) -> tuple[Any, int | None]:
    tester = stand_in(DetectSettings(), NOW_MS - 1)
    place = {"cluster": "prod", "broker": 7}
    rows = [
        Row(topic=topic, partition=0, offset=r.offset, timestamp_ms=NOW_MS, value=r.value, **place)
        for r in world.of(topic)
    ]
    written = tester.test(("prod", 7), rows)
    return [_without_offsets(row.value) for row in written], None


def _fleet(world: Topics, topic: str) -> tuple[Any, int | None]:
    tester = TwsTester(ClusterProcessor(FleetSettings(), DetectSettings()), timeMode="ProcessingTime")
    tester.setProcessingTime(NOW_MS - 1)
    rows = [
        Row(
            topic=topic, partition=0, offset=r.offset, timestamp_ms=NOW_MS, key=b"prod/7", value=r.value, cluster="prod"
        )
        for r in world.of(topic)
    ]
    return tester.test("prod", rows), None


def _without_offsets(value: str) -> Any:
    """A state record says up to which offset it covers its input, and that goes on."""
    return {name: one for name, one in msgspec.json.decode(value).items() if name not in {"positions", "machine"}}


def _store(world: Topics, topic: str) -> tuple[Any, int]:
    rows = [
        thin
        for r in world.of(topic)
        for thin in thin_rows(Position(topic, 0, r.offset, NOW_MS, r.key, r.value), Belief("home", 2**63))
    ]
    rejected = [row for row in rows if row.kind == "rejected"]
    assert all(row.reason for row in rejected)
    return [row for row in rows if row.kind != "rejected"], len(rejected)


def _texts(world: Topics, topic: str) -> list[dict[str, Any]]:
    return [
        {"record": r.value.decode(), "cluster": "prod", "source_offset": r.offset}
        for r in world.of(topic)
        if r.value is not None
    ]


def _console_tables(world: Topics, topic: str) -> tuple[Any, int]:
    rows = _texts(world, topic)
    reader = console.Reader(lambda table, query: iter(rows), lambda table: [])
    read = {
        topics.ALERTS: lambda: (reader.open_alerts(), reader.alert("a"), reader.alert_changes(0, 1)),
        topics.ACTIONS: lambda: (reader.open_actions(), reader.action("a"), reader.actions_of("a")),
        topics.EXECUTIONS: lambda: (reader.executions(), reader.execution("a"), reader.execution_changes(0, 1)),
    }[topic]()
    return read, reader.records.unreadable.total()


def _status(world: Topics, topic: str) -> tuple[Any, int]:
    reader = RecordReader()
    return snapshot._known_executions(_texts(world, topic), reader), reader.unreadable.total()


def _plan(world: Topics, topic: str) -> tuple[Any, int]:
    fold = latest_alerts()
    tables = SimpleNamespace(select=lambda table, query: iter(_texts(world, topic)))
    plan_source._take_stored(fold, tables, ALERTS, "alert_id", "prod")
    return fold.records, fold.unreadable


def _accuracy(world: Topics, topic: str) -> tuple[Any, int]:
    reader = RecordReader()
    return list(deciding.every_revision(None, "telemetry", reader)), reader.unreadable.total()


CONSUMERS = [
    *(
        Consumer(name, topic, run)
        for topic, make in (
            (topics.ALERTS, latest_alerts),
            (topics.ACTIONS, latest_actions),
            (topics.DECISIONS, lambda: LatestDecisions(SKEW_MS)),
        )
        for name, run in (("fold", _fold(make)), ("command", _command(make)))
    ),
    *(Consumer("recommend", topic, _recommender) for topic in (topics.ALERTS, topics.ACTIONS, topics.DECISIONS)),
    *(Consumer("notify", topic, _notify) for topic in (topics.ALERTS, topics.ACTIONS, topics.DECISIONS)),
    Consumer("notify at its start", topics.NOTIFICATIONS, _sent),
    *(Consumer("autopilot", topic, _autopilot) for topic in (topics.ACTIONS, topics.DECISIONS, topics.EXECUTIONS)),
    Consumer("journal", topics.EXECUTIONS, _journal),
    *(Consumer("console", topic, _console) for topic in (topics.ALERTS, topics.DECISIONS)),
    *(Consumer("tables", t, _console_tables) for t in (topics.ALERTS, topics.ACTIONS, topics.EXECUTIONS)),
    Consumer("status", topics.EXECUTIONS, _status),
    Consumer("plan", topics.ALERTS, _plan),
    Consumer("accuracy", topics.ACTIONS, _accuracy),
    *(Consumer("demo", topic, _demo) for topic in (topics.ALERTS, topics.ACTIONS, topics.STATE)),
    *(Consumer("start", topic, _start) for topic in (topics.STATE, topics.ALERTS)),
    *(Consumer("detect", topic, _detect) for topic in (topics.METRICS, topics.EVENTS, topics.DECISIONS)),
    Consumer("fleet", topics.STATE, _fleet),
    *(Consumer("store", topic, _store) for topic in topics.STREAMED),
]
each_consumer = pytest.mark.parametrize("consumer", CONSUMERS, ids=lambda one: f"{one.name}-{one.topic}")

READS = {
    "autopilot/feed.py": "autopilot",
    "autopilot/service.py": "autopilot",
    "cli/actions/command.py": "command",
    "cli/actions/deciding.py": "accuracy",
    "cli/alerts/command.py": "command",
    "cli/alerts/decisions.py": "command",
    "cli/commands/status.py": "command",
    "cli/deciding.py": "command",
    "cli/reading/live_alerts.py": "console",
    "cli/reading/plan_source.py": "plan",
    "cli/reading/records.py": "command",
    "console/reading.py": "tables",
    "detect/spark/judge.py": "detect",
    "execute/journal.py": "journal",
    "fleet/judge.py": "fleet",
    "jobs/queries/recommend.py": "recommend",
    "jobs/queries/start_state.py": "start",
    "notify/reader.py": "notify",
    "plan/lifecycle/action_tracker.py": "recommend",
    "report/folding.py": "fold",
    "report/status/snapshot.py": "status",
    "store/writing/intake.py": "store",
}
"""The modules that read records of topics, each with the consumer above that tests it."""

_READING = {
    "logdirwatch.parse.reading",
    "logdirwatch.parse.records.parse",
    "logdirwatch.report.folding.latest_alerts",
    "logdirwatch.report.folding.latest_actions",
    "logdirwatch.report.folding.LatestDecisions",
    "clients.read_all",
    "clients.follow",
    "clients.consumer",
}
_OTHERS = {
    "alone/judges.py": "reads what detect and fleet have just written",
    "autopilot/board.py": "passes on what could not be read",
    "autopilot/facts.py": "passes on what could not be read",
    "cli/autopilot/command.py": "reads by the feed of the autopilot",
    "cli/commands/apply.py": "reads by the feed of the autopilot",
    "jobs/small_fleet.py": "reads offsets only",
    "kafka/turn.py": "is a member of a group only",
    "notify/service.py": "reads by its reader",
    "observe/log_dir_metrics.py": "reads what the process itself has just written",
    "observe/series.py": "shows what could not be read",
    "jobs/pipeline.py": "reads offsets only",
}
"""The modules that have to do with records or a consumer, but read none themselves."""


def _reads(path: Path) -> bool:
    """Tell whether a module imports what reads records, or a client of topics."""
    nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
    imports = [
        (str(node.module), alias.name) for node in nodes if isinstance(node, ast.ImportFrom) for alias in node.names
    ]
    names = {name for module, imported in imports for name in (module, f"{module}.{imported}")}
    attributes = [node for node in nodes if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)]
    names |= {f"{node.value.id}.{node.attr}" for node in attributes}
    return bool(_READING & {name.replace("logdirwatch.kafka.", "") for name in names})


def test_every_module_that_reads_records_has_a_consumer_in_this_test():
    reading = {
        module
        for path in PACKAGE.rglob("*.py")
        if (module := path.relative_to(PACKAGE).as_posix()).split("/")[0] != "parse" and _reads(path)
    }
    assert reading == {*READS, *_OTHERS}
    assert set(READS.values()) <= {consumer.name for consumer in CONSUMERS}


@pytest.fixture
def world(monkeypatch):
    """Topics, and no tables beside them."""
    topics_read = Topics(monkeypatch)
    monkeypatch.setattr(watch, "follow", clients.follow)
    monkeypatch.setattr(deciding, "_stored", lambda settings: [])
    return topics_read


def _run(consumer: Consumer, world: Topics, *between: tuple[bytes | None, bytes | None]) -> tuple[Any, int | None]:
    """Return what a consumer makes of two good records with others between them."""
    (first, last), (key, last_key) = VALUES[consumer.topic], KEYS[consumer.topic]
    world.clear()
    for each_key, value in ((key, first), *between, (last_key, last)):
        world.write(consumer.topic, each_key, value, NOW_MS)
    return consumer.run(world, consumer.topic)


@each_consumer
@pytest.mark.parametrize("key", [b"a", *bad.KEYS.values()], ids=["its key", *bad.KEYS])
def test_what_nobody_can_read_is_counted_and_changes_nothing(consumer, key, world):
    harm = [make(VALUES[consumer.topic][0]) for make in bad.UNREADABLE.values()]
    if consumer.name in {"tables", "status", "plan"}:  # a column of text holds UTF-8
        harm = [value for value in harm if value.decode(errors="replace").encode() == value]
    expected, none = _run(consumer, world)
    found, unreadable = _run(consumer, world, *((key, value) for value in harm))
    assert found == expected
    assert none in {0, None}
    if unreadable is not None:
        assert unreadable == len(harm)


@each_consumer
def test_what_only_looks_strange_is_read(consumer, world):
    first, _ = VALUES[consumer.topic]
    _, unreadable = _run(consumer, world, *((b"a", make(first)) for make in bad.READABLE.values()))
    assert unreadable in {0, None}


@each_consumer
@given(data=st.data())
@examples(5, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_whatever_happened_to_a_record_the_consumer_goes_on(consumer, world, data):
    kind = data.draw(st.sampled_from(RECORDS[consumer.topic]))
    key, value = data.draw(st.sampled_from([None, b"a", b"\xff"])), data.draw(spoilt(kind) | st.binary(max_size=40))
    if consumer.name in {"tables", "status", "plan"}:
        value = value.decode(errors="replace").encode()
    _, unreadable = _run(consumer, world, (key, value))
    if unreadable is not None:
        assert unreadable == isinstance(parse(consumer.topic, key, value, NOW_MS, "home"), Rejected)
