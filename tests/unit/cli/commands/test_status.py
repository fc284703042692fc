"""``status`` over Delta tables that another writer than Spark made; Spark's own are read in tests/spark."""

import json

import msgspec
import pytest

from logdirwatch.cli.commands import status as command
from logdirwatch.errors import UserError
from logdirwatch.kafka import clients
from tests.support.delta import Written
from tests.support.kafka_records import kafka_record
from tests.unit.report.builders import NOW_MS, alert, heartbeat
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
        numbered = enumerate(alerts)
        return iter([kafka_record(topic, b"k", msgspec.json.encode(a), offset, a.at_ms) for offset, a in numbered])

    monkeypatch.setattr(clients, "read_all", read_all)
    return alerts


def test_no_tables_are_one_line_that_says_what_to_do(run, tables, topic):
    ended = run("status")
    assert ended.exit_code == 1
    assert ended.out == ""
    assert "run logdirwatch collect and logdirwatch stream" in ended.err
    assert ended.err.count("\n") == 1


def test_a_folder_that_is_not_there_is_told_from_tables_that_are_missing(run, tables, topic, tmp_path):
    assert "the folder" in run("status").err
    tables("alerts")
    assert f"no tables broker_state, log_dir_state at {tmp_path / 'tables'}, which has only alerts" in run("status").err


def test_while_collect_and_stream_run_nobody_is_told_to_start_them(run, tables, topic):
    topic.append(heartbeat())
    ended = run("status")
    assert ended.exit_code == 1
    assert "collect and stream run, since heartbeats arrive: the tables are written within 30 seconds" in ended.err
    assert "run logdirwatch" not in ended.err
    assert "brokers: unknown" in ended.out


def test_a_heartbeat_that_stopped_is_no_sign_that_they_run(run, tables, topic):
    topic.append(heartbeat(60_000))
    assert "run logdirwatch collect and logdirwatch stream" in run("status").err


def test_whether_they_run_is_not_known_without_the_telemetry_cluster(run, tables, topic):
    topic.append(UserError("Kafka at localhost:9092 cannot be reached"))
    ended = run("status")
    assert "whether stream runs is unknown" in ended.err
    assert ended.err.endswith("logdirwatch: Kafka at localhost:9092 cannot be reached\n")


def garbage(data):
    return b"garbage"


def half(data):
    return data[: len(data) // 2]


def zeros(data):
    return bytes(200) + data[200:]


@pytest.mark.parametrize("damage", [garbage, half, zeros, None], ids=["garbage", "half", "zeros", "gone"])
@pytest.mark.parametrize("table", ["broker_state", "log_dir_state", "topic_state"])
def test_a_damaged_table_is_one_line_and_hides_nothing_else(run, tables, topic, tmp_path, table, damage):
    topic += [alert("x"), heartbeat()]
    rows = {"broker_state": broker(), "log_dir_state": log_dir(), "topic_state": partition(is_leaderless=True)}
    for name, row in rows.items():
        tables(name, row)
    (file,) = (tmp_path / "tables" / table).glob("*.parquet")
    if damage is None:
        file.unlink()
    else:
        file.write_bytes(damage(file.read_bytes()))
    ended = run("status")
    assert ended.exit_code == 1
    assert ended.err.count("\n") == 1
    assert (
        f"table {table} at {tmp_path / 'tables'} cannot be read: its file {file.name} is damaged or gone" in ended.err
    )
    assert "docs/troubleshooting.md" in ended.err
    assert "alerts     1 critical" in ended.out
    assert ("broker 7" in ended.out) == (table != "broker_state")
    document = json.loads(run("status", "--json").out)
    assert list(document["table_errors"]) == [table]
    assert document["clusters"][0]["open_alerts"] == {"critical": 1}


def test_a_damaged_log_of_a_table_is_one_line(run, tables, topic, tmp_path):
    tables("broker_state", broker())
    tables("log_dir_state", log_dir())
    (tmp_path / "tables" / "log_dir_state" / "_delta_log" / f"{0:020}.json").write_text("no JSON\n")
    ended = run("status")
    assert ended.err.count("\n") == 1
    assert "table log_dir_state" in ended.err
    assert "its log is damaged" in ended.err


def test_programs_are_told_nothing_old_as_healthy(run, tables, topic):
    topic.append(heartbeat(40_000))
    tables("broker_state", broker())
    tables("log_dir_state", log_dir())
    scans = [{"broker": 7, "log_dir": "/data/d1"}, {"broker": None, "log_dir": None}]
    tables("log_dir_inventory", *({"cluster": "prod", "inventory_at_ms": NOW_MS - 9_000, **scan} for scan in scans))
    for table in ("replica_state", "topic_state"):
        tables(table)
    (cluster,) = json.loads(run("status", "--json").out)["clusters"]
    assert cluster["is_past"]
    assert [one["status"] for one in cluster["brokers"]] == ["unknown"]
    assert [one["status"] for one in cluster["brokers"][0]["log_dirs"]] == ["unknown"]
    assert (cluster["offline_replicas"], cluster["partitions_at_risk"]) == (None, None)
    assert (cluster["last_offline_replicas"], cluster["brokers"][0]["last_status"]) == ([], "online")


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
    assert "offline replicas: unknown" in ended.out


def test_tables_that_are_there_and_empty_are_not_taken_for_health(run, tables, topic):
    for table in ("broker_state", "log_dir_state", "replica_state", "topic_state", "log_dir_inventory"):
        tables(table)
    assert "No broker in the tables" in run("status").out
    assert json.loads(run("status", "--json").out)["clusters"] == []


def test_the_json_holds_everything_that_the_tables_and_the_topic_say(run, tables, topic):
    topic += [alert("x"), heartbeat()]
    tables("broker_state", broker(status="degraded"))
    tables("log_dir_state", log_dir(status="offline"))
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


def test_watching_shows_it_again_until_ctrl_c(run, tables, topic, monkeypatch):
    pauses = []

    def sleep(pause_s):
        pauses.append(pause_s)
        if len(pauses) == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr(command.time, "sleep", sleep)
    tables("broker_state", broker())
    tables("log_dir_state", log_dir())
    ended = run("status", "--watch")
    assert (ended.exit_code, pauses) == (0, [5, 5])
    assert ended.out.count("cluster prod") == 2
    assert run("status", "--watch", "--json").exit_code == 2


def test_watching_goes_on_while_the_telemetry_cluster_is_away(run, tables, topic, monkeypatch):
    topic.append(UserError("Kafka at localhost:9092 cannot be reached"))
    monkeypatch.setattr(command.time, "sleep", lambda pause_s: (_ for _ in ()).throw(KeyboardInterrupt))
    tables("broker_state", broker())
    tables("log_dir_state", log_dir())
    ended = run("status", "--watch")
    assert ended.exit_code == 0
    assert ended.err == "logdirwatch: Kafka at localhost:9092 cannot be reached\n"


def test_a_cluster_that_is_not_there_is_named(run, tables, topic):
    tables("broker_state", broker())
    tables("log_dir_state", log_dir())
    ended = run("status", "--cluster", "prd")
    assert ended.exit_code == 2
    assert "no cluster prd in the tables; did you mean prod?" in ended.err
    assert "cluster prod" in run("status", "--cluster", "prod").out
