"""``actions check`` and ``actions --accuracy`` over a scripted telemetry and a scripted cluster."""

import json

import msgspec
import pytest
import yaml
from kafka.protocol.admin import DescribeLogDirsRequest

from logdirwatch.cli.actions import check as action_check
from logdirwatch.collect.kafka.answers import Configs, LogDirAnswer, LogDirsAnswer, Node, Quorum, Topic
from logdirwatch.collect.kafka.live import LiveCluster
from logdirwatch.kafka import clients
from logdirwatch.model import topics
from logdirwatch.model.records import PartitionInfo, Placement, StateRecord
from logdirwatch.model.vocabulary import ActionKind, ActionStatus, PollStatus
from tests.support.kafka_records import kafka_record
from tests.unit.fleet.builders import log_dir, state
from tests.unit.report.builders import action

GIB = 1 << 30
FAR_MS, FOUND_MS = 9_000_000_000_000, 1_700_000_000_000
PLAN = {"version": 1, "partitions": [{"topic": "t", "partition": 0, "replicas": [3, 2], "log_dirs": ["/d1", "any"]}]}
BACK = {"version": 1, "partitions": [{"topic": "t", "partition": 0, "replicas": [1, 2], "log_dirs": ["/d1", "any"]}]}


@pytest.fixture
def told(monkeypatch):
    """What the topics of actions and of states hold."""
    records = []
    messages = lambda settings, topic: iter(  # noqa: E731
        [
            kafka_record(topic, b"k", msgspec.json.encode(r), n, r.at_ms)
            for n, r in enumerate(records)
            if isinstance(r, StateRecord) == (topic == topics.STATE)
        ]
    )
    monkeypatch.setattr(clients, "read_all", messages)
    return records


def rebuild(**fields):
    values = {
        "kind": ActionKind.REASSIGN,
        "target": {"broker": 1, "log_dir": "/d1"},
        "alert": {"rule": "log_dir_offline", "severity": "critical", "cause": "failed"},
        "reassignment": PLAN,
        "undo": {"reassignment": BACK, "commands": ["echo back"], "text": "later"},
        "expires_at_ms": FAR_MS,
        "preconditions": [{"name": "strays", "text": "the old copies are strays", "holds": None}],
        "expected": {"frees_bytes": 0, "needs_ms": 1000, "on": [], "copies_bytes": GIB},
    }
    return action("r1", **{**values, **fields})


def disks(*, code=0, replicas=()):
    size = (None, None) if code else (100 * GIB, 50 * GIB)
    return LogDirsAnswer(PollStatus.OK, None, (LogDirAnswer("/d1", code, *size, None, tuple(replicas)),))


UNSIZED = LogDirsAnswer(PollStatus.OK, None, (LogDirAnswer("/d1", 0, None, None, None, ()),))


def live(**fields):
    placed = Placement(topic="t", partition=0, size_bytes=GIB)
    info = PartitionInfo(partition=0, leader=2, replicas=[1, 2], isr=[2], offline_replicas=[1], adding=[], removing=[])
    values = {
        "at_ms": 1,
        "nodes": {number: Node(number, "h", 9, None, False) for number in (1, 2, 3)},
        "lists_fenced": True,
        "log_dirs": {1: disks(code=56), 2: disks(replicas=[placed]), 3: disks()},
        "broker_configs": {},
        "topics": (Topic("t", False, (info,)),),
        "topic_configs": Configs({"t": {}}),
        "reassignments": {},
        "quorum": Quorum(1, {1: True, 2: True, 3: True}),
    }
    return LiveCluster(**(values | fields))


@pytest.fixture
def check(run, told, monkeypatch, tmp_path):
    """Run ``actions check r1`` against a cluster that answers as told."""
    config = tmp_path / "logdirwatch.yaml"
    config.write_text(yaml.safe_dump({"clusters": {"prod": {"bootstrap_servers": "h:9"}}}))

    def checked(record, *states, **answers):
        told[:] = [record, *states]
        monkeypatch.setattr(action_check, "seen", lambda cluster, settings: live(**answers))
        return run("--config", str(config), "actions", "check", "r")

    return checked


class TestCheck:
    def test_what_still_holds_says_so_and_what_is_left_to_see(self, check):
        ended = check(rebuild())
        assert (ended.exit_code, ended.err) == (0, "")
        assert ended.out.splitlines() == [
            "holds: reassign r1 on cluster prod",
            "check yourself: the old copies are strays",
        ]

    def test_what_holds_no_more_says_why_one_reason_a_line_and_fails(self, check):
        answers = {1: disks(), 2: disks(replicas=[Placement(topic="t", partition=0, size_bytes=GIB)])}
        ended = check(rebuild(), log_dirs={**answers, 3: LogDirsAnswer(PollStatus.TIMEOUT, "no answer")})
        assert ended.exit_code == 1
        assert ended.out.splitlines() == [
            "no longer holds: /d1 of broker 1 serves again",
            "no longer holds: broker 3 is not known to be alive",
        ]

    def test_what_could_not_be_asked_is_said_beside_it(self, check):
        ended = check(rebuild(), reassignments=None, unknown={"reassignments": "TimeoutError"})
        assert "not known: reassignments: TimeoutError" in ended.err

    def test_sizes_that_an_old_release_does_not_report_are_named_with_the_remedy_in_one_line(self, check):
        old = {DescribeLogDirsRequest.API_KEY: 2}
        ended = check(rebuild(), log_dirs={1: disks(code=56), 2: disks(), 3: UNSIZED}, api_versions={2: old, 3: old})
        (line,) = ended.err.splitlines()
        assert line.startswith("not known: the size of 1 log directory: Kafka before 3.3 does not report it")
        assert line.endswith("or run watch-host on the brokers and plan from the tables (without --live)")
        new = check(rebuild(), log_dirs={1: disks(code=56), 2: disks(), 3: disks()}, api_versions={3: old})
        assert new.err == "", "a configured size is known"

    @pytest.mark.parametrize(
        ("used", "at_ms", "why"),
        [
            (0.5, FOUND_MS, None),
            (0.849, FOUND_MS, "to 85.9 %, above 85.0 %"),
            (0.5, FOUND_MS - 91_000, "the free space of /d1 on broker 3 is not known"),
        ],
        ids=["room", "no room", "too old"],
    )
    def test_sizes_that_an_old_release_does_not_report_are_those_of_watch_host(self, check, used, at_ms, why):
        told = state(3, log_dir("/d1", used, total_bytes=100 * GIB, capacity_source="host"), at_ms=at_ms)
        answers = {
            1: disks(code=56),
            2: disks(replicas=[Placement(topic="t", partition=0, size_bytes=GIB)]),
            3: UNSIZED,
        }
        old = {DescribeLogDirsRequest.API_KEY: 2}
        ended = check(rebuild(), told, at_ms=FOUND_MS, log_dirs=answers, api_versions={3: old})
        assert ended.exit_code == (why is not None)
        assert (why or "holds: reassign r1 on cluster prod") in ended.out

    def test_a_closed_action_holds_no_more(self, check):
        ended = check(rebuild(status=ActionStatus.WITHDRAWN, status_reason="its alert is gone"))
        assert (ended.exit_code, ended.out) == (1, "no longer holds: it is withdrawn: its alert is gone\n")

    def test_a_cluster_that_is_not_configured_cannot_be_asked(self, run, told):
        told[:] = [rebuild()]
        ended = run("actions", "check", "r1")
        assert ended.exit_code == 2
        assert "cluster prod is not in the configuration" in ended.err

    def test_a_cluster_that_is_away_is_one_line_and_a_failure(self, run, told, tmp_path):
        config = tmp_path / "logdirwatch.yaml"
        collect = {"request_timeout_ms": 200, "inventory_timeout_ms": 200}
        clusters = {"prod": {"bootstrap_servers": "localhost:1"}}
        config.write_text(yaml.safe_dump({"clusters": clusters, "collect": collect}))
        told[:] = [rebuild()]
        ended = run("--config", str(config), "actions", "check", "r1")
        assert ended.exit_code == 1
        assert ended.err.startswith("logdirwatch: Kafka at localhost:1 cannot be reached")
        assert len(ended.err.splitlines()) == 1


class TestAccuracy:
    def test_without_any_action_there_is_no_track_record(self, run, told):
        ended = run("actions", "--accuracy")
        assert (ended.exit_code, ended.out) == (
            0,
            "No action has been recommended yet.\n",
        )

    def test_it_is_a_table_for_people_and_records_for_programs(self, run, told):
        seen = {"copies_bytes": GIB // 2, "took_ms": 2000}
        told[:] = [rebuild(), rebuild(revision=2, status=ActionStatus.DONE, observed=seen)]
        assert "512 MiB of 1 GiB expected, 50 %" in run("actions", "--accuracy").out
        (record,) = map(json.loads, run("actions", "--accuracy", "--json").out.splitlines())
        assert (record["kind"], record["done"]) == ("reassign", 1)
        assert record["time"] == {"actions": 1, "expected": 1000, "observed": 2000, "ratio": 2.0}

    def test_the_table_keeps_what_the_topic_has_compacted_away(self, run, told, tmp_path):
        import pyarrow as pa
        from deltalake import write_deltalake

        done = rebuild(revision=2, status=ActionStatus.DONE, observed={})
        rows = {"record": [msgspec.json.encode(rebuild()).decode(), msgspec.json.encode(done).decode(), None]}
        write_deltalake(tmp_path / "home" / "tables" / "actions", pa.table(rows))
        told[:] = [done]
        (record,) = map(json.loads, run("actions", "--accuracy", "--json").out.splitlines())
        assert (record["proposed"], record["done"]) == (1, 1)


@pytest.mark.parametrize("other", ["--follow", "--all"])
def test_how_actions_ended_is_not_followed(run, other):
    assert run("actions", "--accuracy", other).exit_code == 2
