"""Every part over TLS with exactly the ACLs that docs/security.md grants it, and with each one of them taken away."""

import json
import re
import time
from contextlib import ExitStack, contextmanager, nullcontext

import pytest
import yaml
from kafka import OffsetAndMetadata, TopicPartition
from kafka.admin import NewTopic

from logdirwatch.kafka import clients, telemetry_topics
from logdirwatch.kafka.settings import KafkaSettings
from logdirwatch.model import topics
from logdirwatch.model.records import TopicRecord
from logdirwatch.model.vocabulary import ActionKind, PollStatus
from logdirwatch.plan.cluster.assignment import Assignment, to_json
from logdirwatch.plan.commands import operations
from logdirwatch.plan.commands.throttles import within_brokers
from logdirwatch.settings import Settings
from logdirwatch_lab.config import CLUSTER, INTERPRETED
from logdirwatch_lab.demo.services import Service
from tests.kafka.acls import commands, documented, grant, without
from tests.kafka.applying import places, published
from tests.kafka.collecting import Collector, run, write_config
from tests.kafka.secured import PASSWORD
from tests.kafka.telemetry import Message, Run, fresh_topics, send, send_records
from tests.support.waiting import DEADLINE_S, wait_until
from tests.unit.notify.receivers import receiving
from tests.unit.report.builders import action, alert

pytestmark = pytest.mark.long

FIRST = 2
"""How many of several ACLs are taken away in CI, one after the other; the others before a release."""


def each(*values):
    """The parameters of a test, of which CI takes the first ones; an Acl, which is a named tuple, is one value."""
    later = (one if type(one) is tuple else (one,) for one in values[FIRST:])
    return [*values[:FIRST], *(pytest.param(*one, marks=pytest.mark.release) for one in later)]


WATCHED = [acl for acl in documented("collector") if acl.operation != "Write"]
TELLING = [acl for acl in documented("collector") if acl.operation == "Write"]


@pytest.fixture(scope="module")
def secured(secured):
    """The secured broker with telemetry topics, records in them, a consumer group, and the ACLs of the pages."""
    settings = Settings(telemetry=secured.admin)
    grant(secured, commands())
    fresh_topics(settings)
    send_records(settings, topics.ALERTS, alert("a", 1))
    send_records(settings, topics.ACTIONS, action("c1"))
    part = TopicPartition(topics.ALERTS, 0)
    with clients.consumer(secured.admin, group_id="readers") as reader:
        reader.assign([part])
        reader.commit({part: OffsetAndMetadata(0, "", -1)})
    return secured


def as_user(secured, user):
    return KafkaSettings(bootstrap_servers=secured.sasl_tls, client=secured.sasl_tls_client(user))


def configured(path, secured, user, **content):
    path.write_text(yaml.safe_dump({"telemetry": as_user(secured, user).model_dump(), **content}))
    return path


def watching(collected_cluster, secured, folder):
    client = secured.sasl_tls_client("collector")
    return Collector(collected_cluster.telemetry, secured.sasl_tls, folder, client=client)


def is_complete(record):
    return record.configs is not None and record.partitions is not None and record.log_dirs[0].replica_count


def test_the_collector_knows_everything_with_what_is_documented(collected_cluster, secured, tmp_path):
    with watching(collected_cluster, secured, tmp_path) as collector:
        collector.metrics_where(0, is_complete, "complete")

        def told():
            of_alerts = [record for record in collector.inventory(TopicRecord) if record.topic == topics.ALERTS]
            return of_alerts and of_alerts[-1]

        record = collector.waits_for(told, "the topic")
        assert record.configs["cleanup.policy"] == "compact,delete"
        assert [part.groups for part in record.partitions if part.partition == 0] == [1]
        assert collector.stop() == 0
        assert "not known" not in collector.log


UNKNOWN = {
    ("Describe", "cluster"): lambda record: record.status is PollStatus.UNAUTHORIZED and record.log_dirs == [],
    ("Describe", "topic"): lambda record: record.partitions is None,
    ("DescribeConfigs", "cluster"): lambda record: record.status is PollStatus.OK and record.configs is None,
}


@pytest.mark.parametrize("acl", each(*WATCHED), ids=str)
def test_the_collector_names_what_it_lacks_on_the_watched_cluster(collected_cluster, secured, tmp_path, acl):
    resource = {"cluster": "the cluster", "topic": "topics", "group": "groups"}[acl.kind]
    with without(secured, acl), watching(collected_cluster, secured, tmp_path) as collector:
        line = collector.says(f"the user lacks the ACL {acl.operation} on {resource}")
        assert "AuthorizationFailedError" in line
        after_ms = time.time() * 1_000
        is_unknown = UNKNOWN.get((acl.operation, acl.kind), lambda record: True)
        collector.metrics_where(0, lambda r: r.timestamp_ms > after_ms and is_unknown(r), "what is not known")
        told = collector.inventory(TopicRecord)
        if acl.kind == "group":
            assert {part.groups for record in told for part in record.partitions} == {None}
        elif acl.operation == "DescribeConfigs":
            assert any(record.configs for record in told) is (acl.kind == "cluster")
        assert collector.stop() == 0
        assert "Traceback" not in collector.log


def test_the_collector_writes_with_what_is_documented(collected_cluster, secured, tmp_path):
    config = telling(collected_cluster, secured, tmp_path)
    done = run(config, "collect", "--once")
    assert (done.returncode, done.stderr) == (0, "")


def telling(collected_cluster, secured, folder):
    return write_config(
        folder / "telling.yaml",
        secured.sasl_tls,
        collected_cluster.bootstrap_servers,
        telemetry_client=secured.sasl_tls_client("collector"),
        canary_interval_ms=1_000,
        metrics_interval_ms=500,
    )


@pytest.mark.parametrize("acl", each(*TELLING), ids=str)
def test_the_collector_keeps_what_it_may_not_write(collected_cluster, secured, tmp_path, acl):
    config = telling(collected_cluster, secured, tmp_path)
    collector = Service("collect", ["--config", str(config), "collect"], tmp_path / "collect.log")
    with without(secured, acl):
        collector.start()
        try:
            line = says(collector, "publish.target.failed|publish.records.set_aside")
        finally:
            code = collector.stop()
    assert code == 0
    assert "TopicAuthorizationFailedError" in line
    assert acl.name in line
    check_log(collector.log_file)


def check_log(path):
    text = path.read_text()
    assert "Traceback" not in text
    assert PASSWORD not in text


def says(service, text):
    """Wait for a line of a service's log."""

    def found():
        service.check()
        return next((line for line in service.log_file.read_text().splitlines() if re.search(text, line)), None)

    return wait_until(found, DEADLINE_S, lambda: f"a line with {text}; {service.tail()}")


def test_the_stream_runs_with_what_is_documented(watched, secured, tmp_path):
    """All queries, from records to alerts, states, actions, tables and what the stream tells of itself."""
    settings = watched.model_copy(update={"telemetry": as_user(secured, "stream")})
    overrides = {
        "stream": {
            "driver_memory": "1g",
            "pipeline_interval_ms": 500,
            "store_trigger": "2 seconds",
            "store_inventory_trigger": "2 seconds",
            "fleet_trigger": "1 second",
            "stop_timeout_ms": 1_000,
            "shuffle_partitions": 1,
            "driver_java_options": "-XX:TieredStopAtLevel=1",
            "extra": INTERPRETED,
        }
    }
    queries = ("fast_lane", "detect", "fleet", "store", "store_inventory", "recommend")
    stream = Run(tmp_path / "run", settings, overrides, queries=queries)
    at_ms = time.time_ns() // 1_000_000
    directory = {"path": "/d1", "error_code": 56}
    sample = {"version": 1, "cluster": "p", "broker": 1, "timestamp_ms": at_ms, "status": "ok", "log_dirs": [directory]}
    failure = {"version": 1, "cluster": "p", "broker": 1, "event": "LogDirFailure", "timestamp_ms": at_ms - 1}
    stream.start()
    try:
        garbage = [Message(topics.EVENTS, b"garbage", at_ms) for _ in range(12)]
        records = [
            Message(topics.EVENTS, json.dumps(failure).encode(), at_ms - 1),
            Message(topics.METRICS, json.dumps(sample | {"collector": "c", "interval_ms": 1_000}).encode(), at_ms),
        ]
        send(Settings(telemetry=secured.admin), [*records, *garbage])
        stream.wait_for(lambda: ("p", 1) in stream.states(), "the broker judged", DEADLINE_S)
        lanes = [json.loads(value)["lane"] for values in stream.alerts().values() for value in values]
        assert {"fast", "stateful"} <= set(lanes)
        stream.wait_for(lambda: stream.rows("broker_state"), "the tables written", DEADLINE_S)
        stream.wait_for(lambda: proposed(stream), "an action proposed", DEADLINE_S)
        own = "what the stream tells of itself"
        stream.wait_for(lambda: any(k.startswith(b"pipeline/") for k, _ in written(secured)), own, DEADLINE_S)
        assert stream.stop() == 0
        log = (stream.folder / "stream.log").read_text()
        assert "Authorization" not in log
        assert PASSWORD not in log
    finally:
        stream.stop()


def proposed(stream):
    return [value for _, value in stream.values(topics.ACTIONS) if json.loads(value)["cluster"] == "p"]


def written(secured):
    return [(record.key or b"", record.value) for record in clients.read_all(secured.admin, topics.METRICS)]


@pytest.mark.parametrize("operation", ["Read", "Write"])
def test_the_stream_refuses_to_start_and_names_all_that_it_lacks(watched, secured, tmp_path, operation):
    config = configured(tmp_path / "stream.yaml", secured, "stream", home=str(watched.home_path))
    lacking = [acl for acl in documented("stream") if acl.operation == operation]
    with without(secured, *lacking):
        done = run(config, "stream", deadline_s=DEADLINE_S)
    assert done.returncode == 1
    assert done.stderr == (
        f"logdirwatch: stream: its user lacks these ACLs on the telemetry cluster: {operation} on "
        f"{', '.join(sorted(acl.name for acl in lacking))}; see docs/security.md\n"
    )


@contextmanager
def notifying(secured, folder):
    with receiving() as receiver:
        notify = {
            "receivers": {"ops": {"urls": [f"json://127.0.0.1:{receiver.port}?rate=0"]}},
            "group_wait_ms": 200,
            "group_interval_ms": 200,
            "heartbeat": {"timeout_ms": 0},
        }
        config = configured(folder / "notify.yaml", secured, "notifier", notify=notify)
        service = Service("notify", ["--config", str(config), "notify"], folder / "notify.log").start()
        try:
            yield service, receiver
        finally:
            assert service.stop() == 0
            check_log(service.log_file)


# What it says when it may not do an operation.
LACKS = {"Read": "notify.telemetry.failed", "Write": "publish.target.failed"}


def told(secured):
    return list(clients.read_all(secured.admin, topics.NOTIFICATIONS))


@pytest.mark.parametrize("acl", each(*documented("notifier")), ids=str)
def test_notify_says_what_it_lacks_and_tells_with_what_is_documented(secured, tmp_path, acl):
    """What it could not keep of what it told is kept once the ACL is there again."""
    before = len(told(secured))
    send_records(Settings(telemetry=secured.admin), topics.ALERTS, alert(f"{acl.operation}-{acl.name}", 1))
    with ExitStack() as lacking:
        lacking.enter_context(without(secured, acl))
        with notifying(secured, tmp_path) as (service, receiver):
            assert acl.name in says(service, LACKS[acl.operation])
            lacking.close()
            wait_until(lambda: receiver.posted, DEADLINE_S, lambda: f"the alert to be told; {service.tail()}")
            wait_until(lambda: len(told(secured)) > before, DEADLINE_S, lambda: f"that to be kept; {service.tail()}")


READ, WRITE = "Read", "Write"


@pytest.mark.parametrize(
    ("user", "words", "needs"),
    each(
        ("reader", "alerts --json", {(READ, topics.ALERTS), (READ, topics.DECISIONS)}),
        ("decider", "actions accept c1 --by ada --reason now", {(READ, topics.ACTIONS), (WRITE, topics.DECISIONS)}),
        ("reader", "actions --json", {(READ, topics.ACTIONS)}),
        ("reader", "actions show c1", {(READ, topics.ACTIONS)}),
        ("decider", "alerts ack a --by ada --reason mine", {(READ, topics.ALERTS), (WRITE, topics.DECISIONS)}),
    ),
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_command_works_with_what_is_documented_and_says_what_it_lacks(secured, tmp_path, user, words, needs):
    config = configured(tmp_path / "user.yaml", secured, user)
    # The stream of another test closed it: no alert asks for it.
    send_records(Settings(telemetry=secured.admin), topics.ACTIONS, action("c1", 100))
    done = run(config, *words.split())
    assert (done.returncode, said_by(done)) == (0, [])
    missed = [acl for acl in documented(user) if (acl.operation, acl.name) in needs]
    assert len(missed) == len(needs)
    for acl in missed:
        with without(secured, acl):
            done = run(config, *words.split())
        (line,) = said_by(done)
        assert acl.name in line
        assert "docs/security.md" in line


def said_by(done):
    """What a command says, but for the clusters that are not heard of: here no collector and no stream run."""
    return [line for line in done.stderr.splitlines() if "HEARTBEAT" not in line]


@pytest.fixture
def cut_and_move(secured):
    """An accepted action that sets a topic's retention and moves its replica under a throttle, with all its calls."""
    name = f"applied-{time.time_ns()}"
    with clients.admin(secured.admin) as admin:
        admin.create_topics([NewTopic(name, 1, 1)])
        here = wait_until(lambda: places(admin, name, (0,)).get(0), DEADLINE_S, "the replica to be there")
        paths = [one["log_dir"] for answer in admin.describe_log_dirs([name]) for one in answer["log_dirs"]]
        there = next(path for path in paths if path != here)
        old, new = (to_json([Assignment(name, 0, (0,), (path,))]) for path in (here, there))
        limits = within_brokers([0], 1 << 30)
        made = published(
            Settings(telemetry=secured.admin),
            kind=ActionKind.MOVE_LOG_DIR,
            operations=operations.as_data(
                [
                    operations.topic_config(name, "retention.ms", "7200000", now="604800000", old=None),
                    operations.reassign(new, old, "f.json", limits=limits, back=limits),
                    operations.elect_leaders({"partitions": [{"topic": name, "partition": 0}]}, "f.json"),
                ]
            ),
        )
        yield made, lambda: places(admin, name, (0,)).get(0) == there
        admin.delete_topics([name])


# What only the service uses: it writes decisions, looks at consumer groups, and is a member of one.
NOT_BY_APPLY = {
    ("Write", "topic", topics.DECISIONS),
    ("Describe", "group", "*"),
    ("Read", "group", "logdirwatch-autopilot-"),
}
CHANGING = {
    user: [acl for acl in documented(user) if (acl.operation, acl.kind, acl.name) not in NOT_BY_APPLY]
    for user in ("applier", "autopilot")
}


@pytest.mark.parametrize(
    ("user", "acl"),
    [
        *((user, None) for user in CHANGING),
        *each(*(("applier", acl) for acl in CHANGING["applier"])),
        # The same as those of the applier.
        *(pytest.param("autopilot", acl, marks=pytest.mark.release) for acl in CHANGING["autopilot"]),
    ],
    ids=str,
)
def test_apply_needs_what_is_documented_and_no_less(secured, tmp_path, cut_and_move, user, acl):
    made, is_there = cut_and_move
    content = {"clusters": {CLUSTER: as_user(secured, user).model_dump()}}
    config = configured(tmp_path / "apply.yaml", secured, user, **content)
    with without(secured, acl) if acl else nullcontext():
        done = run(config, "apply", made.action_id, "--yes")
    said = done.stdout + done.stderr
    assert (done.returncode, is_there()) == ((0, True) if acl is None else (1, False)), said
    assert acl is None or "uthoriz" in said or "ACL" in said or acl.name in said, said


@pytest.mark.parametrize("acl", each(None, *documented("maker")), ids=str)
def test_topics_are_made_with_what_is_documented_and_no_less(secured, tmp_path, acl):
    config = configured(tmp_path / "maker.yaml", secured, "maker")
    with clients.admin(secured.admin) as admin:
        admin.delete_topics([topics.DECISIONS])
        wait_until(lambda: topics.DECISIONS not in admin.list_topics(), DEADLINE_S, "the topic to be gone")
    try:
        with without(secured, acl) if acl else nullcontext():
            done = run(config, "topics", "create")
    finally:
        telemetry_topics.create_missing(Settings(telemetry=secured.admin))
    if acl is None:
        assert (done.returncode, done.stderr) == (0, "")
        assert f"{topics.DECISIONS}: created" in done.stdout
    else:
        (line,) = done.stderr.splitlines()
        assert done.returncode == 1
        assert "AuthorizationFailedError" in line
