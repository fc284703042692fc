"""``status`` over Delta tables that another writer than Spark made; Spark's own are read in tests/spark."""

import json
from types import SimpleNamespace

import msgspec
import pytest

from logdirwatch import kafka_clients
from logdirwatch.cli import status as command
from logdirwatch.errors import UserError
from tests.support.delta import Written
from tests.unit.report.builders import NOW_MS, alert
from tests.unit.report.rows import broker, log_dir, partition


def replica(topic, status="offline", cause="directory", is_future=False, **fields):
    place = {"cluster": "prod", "broker": 7, "topic": topic, "partition": 0, "log_dir": "/data/d1"}
    return {**place, "status": status, "cause": cause, "is_future": is_future, **fields}


@pytest.fixture
def tables(tmp_path, monkeypatch):
    """Write rows into a table of the configured folder."""
    root = tmp_path / "tables"
    monkeypatch.setenv("LOGDIRWATCH_TABLES__PATH", str(root))
    monkeypatch.setattr(command, "now_ms", lambda: NOW_MS)

    def write(table: str, *rows):
        Written(root).write(table, *rows)

    return write


@pytest.fixture
def topic(monkeypatch):
    """The records of the alert topic; a UserError put in their place is raised."""
    alerts = []

    def read_all(settings, topic):
        if alerts and isinstance(alerts[0], UserError):
            raise alerts[0]
        if topic != "logdir.alerts":
            return iter([])
        return iter([SimpleNamespace(key=b"k", value=msgspec.json.encode(a), timestamp=a.at_ms) for a in alerts])

    monkeypatch.setattr(kafka_clients, "read_all", read_all)
    return alerts


def test_no_tables_are_one_line_that_says_what_to_do(run, tables, topic):
    ended = run("status")
    assert ended.exit_code == 1
    assert ended.out == ""
    assert "run logdirwatch collect and logdirwatch stream" in ended.err
    assert ended.err.count("\n") == 1


def test_a_catalog_is_refused_in_one_line(run, tables, topic, monkeypatch):
    monkeypatch.setenv("LOGDIRWATCH_TABLES__CATALOG", "main")
    ended = run("status")
    assert ended.exit_code == 1
    assert "only Spark reads" in ended.err


def test_brokers_and_directories_are_shown_before_the_first_inventory(run, tables, topic):
    tables("broker_state", broker())
    tables("log_dir_state", log_dir(status="offline", cause="failed"))
    ended = run("status")
    assert ended.exit_code == 0
    assert "offline (failed)" in ended.out
    assert "offline replicas: not known" in ended.out


def test_tables_that_are_there_and_empty_are_not_taken_for_health(run, tables, topic):
    for table in ("broker_state", "log_dir_state", "replica_state", "topic_state", "log_dir_inventory"):
        tables(table)
    assert "No broker in the tables" in run("status").out
    assert json.loads(run("status", "--json").out)["clusters"] == []


def test_the_json_holds_everything_that_the_tables_and_the_topic_say(run, tables, topic):
    topic.append(alert("x"))
    tables("broker_state", broker(status="degraded"))
    tables("log_dir_state", log_dir())
    tables(
        "replica_state",
        replica("a"),
        replica("a", cause="broker"),
        replica("b", "online"),
        replica("c", is_future=True),
    )
    tables("topic_state", partition("a", is_leaderless=True), partition("b"))
    scans = [{"broker": 7, "log_dir": "/data/d1"}, {"broker": None, "log_dir": None}]
    tables("log_dir_inventory", *({"cluster": "prod", "inventory_at_ms": NOW_MS - 9_000, **scan} for scan in scans))
    ended = run("status", "--json")
    assert ended.exit_code == 0
    document = json.loads(ended.out)
    assert (document["at_ms"], document["telemetry_error"]) == (NOW_MS, None)
    (cluster,) = document["clusters"]
    assert (cluster["data_age_ms"], cluster["inventory_age_ms"]) == (5_000, 9_000)
    assert cluster["open_alerts"] == {"critical": 1}
    assert cluster["brokers"][0]["status"] == "degraded"
    assert cluster["brokers"][0]["log_dirs"][0]["log_dir"] == "/data/d1"
    assert cluster["offline_replicas"] == [{"topic": "a", "directory": 1, "broker": 1, "unknown": 0}]
    assert cluster["partitions_at_risk"]["leaderless"] == {"count": 1, "examples": ["a-0"]}


def test_with_the_telemetry_cluster_away_the_tables_are_shown_and_the_command_fails(run, tables, topic):
    topic.append(UserError("Kafka at localhost:9092 cannot be reached"))
    tables("broker_state", broker())
    tables("log_dir_state", log_dir())
    ended = run("status")
    assert ended.exit_code == 1
    assert "/data/d1" in ended.out
    assert "NO HEARTBEAT CAN BE READ" in ended.out
    assert ended.err == "logdirwatch: Kafka at localhost:9092 cannot be reached\n"


def test_a_cluster_that_is_not_there_is_named(run, tables, topic):
    tables("broker_state", broker())
    tables("log_dir_state", log_dir())
    ended = run("status", "--cluster", "prd")
    assert ended.exit_code == 1
    assert "no cluster prd" in ended.err
