"""Backtest over a real table: the rows that ``store`` writes, replayed with other settings."""

import json

import pyarrow as pa
import pytest
import yaml
from deltalake import write_deltalake
from typer.testing import CliRunner

from logdirwatch.cli.main import app
from logdirwatch.store.schema.definitions import LOG_DIR_SAMPLES

T0 = 1_700_000_000_000
POLL_MS = 5_000
TOTAL = 1_000 << 30
TYPES = {
    "string": pa.string(),
    "int": pa.int32(),
    "bigint": pa.int64(),
    "double": pa.float64(),
    "boolean": pa.bool_(),
    "map<string,double>": pa.map_(pa.string(), pa.float64()),
    "map<string,string>": pa.map_(pa.string(), pa.string()),
}
SCHEMA = pa.schema([(column.name, TYPES[column.kind.lower()]) for column in LOG_DIR_SAMPLES.columns])


def source(poll, broker=7, topic="logdir.metrics"):
    at_ms = T0 + poll * POLL_MS
    place = {"source_topic": topic, "source_partition": broker % 6, "source_offset": poll}
    return {"cluster": "prod", "broker": broker, "timestamp_ms": at_ms, "kafka_timestamp_ms": at_ms} | place


def poll_rows(poll, used, broker=7, **fields):
    common = source(poll, broker) | {"collector": "c1", "interval_ms": POLL_MS, "status": "ok"}
    whole = common | {"kind": "poll", "metrics": [("m", 1.0)], "configs": [("log.dirs", "/d1")]}
    usable = round(TOTAL * (1 - used))
    log_dir = {"kind": "log_dir", "log_dir": "/d1", "error_code": 0, "total_bytes": TOTAL, "usable_bytes": usable}
    return [whole, common | log_dir | fields]


def failure_row(poll, broker=7):
    said = {"kind": "event", "log_dir": "/d1", "event": "LogDirFailure", "collector": "c1/LogDirFailure"}
    return source(poll, broker, "logdir.events") | said


@pytest.fixture
def backtest(tmp_path):
    config = tmp_path / "logdirwatch.yaml"
    config.write_text(yaml.safe_dump({"tables": {"path": str(tmp_path / "tables")}}))

    def run(rows, *arguments, begin="2023-11-14T22:00", end="2023-11-15T00:00"):
        if rows:
            named = [{name: row.get(name) for name in SCHEMA.names} for row in rows]
            write_deltalake(tmp_path / "tables" / LOG_DIR_SAMPLES.name, pa.Table.from_pylist(named, SCHEMA))
        command = ["--config", str(config), "backtest", "--from", begin, "--to", end, *arguments]
        return CliRunner().invoke(app, command)

    return run


def rising(broker=7):
    return [row for poll in range(12) for row in poll_rows(poll, 0.66 + poll / 100, broker)]


def fired(result):
    assert result.exit_code == 0, result.output
    return [json.loads(line) for line in result.output.splitlines()]


def test_what_the_present_settings_would_have_fired_and_when(backtest):
    (alert,) = fired(backtest(rising(), "--json"))
    assert (alert["rule"], alert["severity"], alert["log_dir"]) == ("log_dir_space", "page", "/d1")
    assert alert["opened_at_ms"] == T0 + 10 * POLL_MS, "0.75 at poll 9, and once more"
    assert alert["ended_at_ms"] is None


def test_other_settings_fire_sooner_and_are_compared_with_the_present_ones(backtest):
    (alert,) = fired(backtest(rising(), "--json", "--set", "filling_ratio=0.7", "--set", "debounce_samples=1"))
    assert alert["opened_at_ms"] == T0 + 4 * POLL_MS
    shown = backtest([], "--set", "filling_ratio=0.78").output
    assert "No alert would have fired." in shown
    assert "With --set: 0 alerts (none). As configured: 1 (1 page)." in shown


def test_every_broker_and_the_events_between_the_polls_are_replayed(backtest):
    rows = [*rising(1), *rising(2), failure_row(13, 2), *poll_rows(14, 0.7, 2, error_code=56)]
    found = fired(backtest(rows, "--json"))
    assert [(a["rule"], a["broker"]) for a in found] == [
        ("log_dir_space", 1),
        ("log_dir_space", 2),
        ("log_dir_offline", 2),
    ]
    assert found[1]["reason"] == "offline"


def test_only_the_range_and_the_cluster_that_were_asked_for(backtest):
    assert fired(backtest(rising(), "--json", "--cluster", "it's another")) == []
    assert fired(backtest([], "--json", end="2023-11-14T22:13:40+00:00")) == []


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--set", "filling_ratio"], "--set filling_ratio: expected name=value"),
        (["--set", "filing_ratio=0.7"], "--set filing_ratio: there is no such key; did you mean filling_ratio?"),
        (["--set", "filling_ratio=high"], "--set thresholds.filling_ratio: Input should be a valid number"),
        (["--from", "yesterday"], "'yesterday' is not a time"),
        (["--from", "1h", "--to", "2h"], "--from must be before --to"),
    ],
)
def test_wrong_use_is_one_line(backtest, arguments, said):
    result = backtest([], *arguments)
    assert result.exit_code != 0
    assert said in str(result.exception)


def test_no_table_yet_is_said(backtest):
    assert "no samples are stored" in str(backtest([]).exception)


@pytest.mark.parametrize("option", [["--select", "a=b"], ["--capacity", "1TiB"], ["--rule", "up"]], ids=str)
def test_what_goes_with_prometheus_is_refused_without_it(run, option):
    ended = run("backtest", "--from", "1h", *option)
    assert (ended.exit_code, "go with --prometheus" in ended.err) == (2, True)
