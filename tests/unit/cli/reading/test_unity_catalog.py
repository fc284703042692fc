"""Tables of Unity Catalog by Databricks' connector, against a stand-in for a warehouse (tests/support/databricks.py).

The engine behind it is deltalake's.
"""

import json
import re
import sys

import pyarrow as pa
import pytest
import yaml
from databricks.sql.auth import retry
from deltalake import DeltaTable, QueryBuilder
from deltalake.exceptions import TableNotFoundError

from logdirwatch.cli.commands import backtest, status
from logdirwatch.cli.reading.tables.delta_files import DeltaFiles
from logdirwatch.cli.reading.tables.opening import table_reader
from logdirwatch.cli.reading.tables.reader import COLUMNS, QUERIES
from logdirwatch.console.reading import Reader
from logdirwatch.errors import UserError
from logdirwatch.model.vocabulary import ExecutionState
from logdirwatch.settings import Settings
from logdirwatch.store.schema.definitions import TABLES
from logdirwatch.store.sql import quoted
from tests.support.databricks import (
    CLIENT_ID,
    CLIENT_SECRET,
    HTTP_PATH,
    PAGE,
    TOKEN,
    StatementError,
    Warehouse,
    names_in,
    serving,
)
from tests.support.delta import Written
from tests.support.hostile import NAMES
from tests.unit.report.builders import NOW_MS, action, alert, execution, heartbeat
from tests.unit.report.rows import broker, log_dir, partition

CATALOG, SCHEMA = "main", "log`dirs"


class Engine:
    """Runs a warehouse's statements on tables of a folder."""

    def __init__(self, root):
        self.root = root

    def __call__(self, statement, parameters):
        catalog, schema, *table = names_in(statement)
        if catalog != CATALOG:
            raise StatementError(f"[NO_SUCH_CATALOG_EXCEPTION] Catalog '{catalog}' was not found. SQLSTATE: 42704")
        if schema != SCHEMA:
            raise StatementError(f"[SCHEMA_NOT_FOUND] The schema `{schema}` cannot be found. SQLSTATE: 42704")
        if not table:
            there = sorted(log.parent.name for log in self.root.glob("*/_delta_log"))
            return pa.table({"database": [schema] * len(there), "tableName": there}).cast(LISTED)
        try:
            delta = DeltaTable(self.root / table[0])
        except TableNotFoundError:
            raise StatementError("[TABLE_OR_VIEW_NOT_FOUND] The table or view cannot be found.\n== SQL ==") from None
        source = f"`{CATALOG}`.`{SCHEMA.replace('`', '``')}`.`{table[0]}`"
        query = re.sub(r":(p\d+)", lambda name: quoted(parameters[name[1]]), statement.replace(source, "stored"))
        return pa.table(QueryBuilder().register("stored", delta).execute(query).read_all())


LISTED = pa.schema([("database", pa.string()), ("tableName", pa.string())])


@pytest.fixture
def tables(tmp_path):
    """Tables of a folder, which the warehouse finds in its schema."""
    return Written(tmp_path / "tables")


@pytest.fixture
def warehouse(tables, tmp_path, monkeypatch):
    with serving(Warehouse(Engine(tables.root)), tmp_path, monkeypatch) as found:
        yield found
    assert found.open_sessions == 0


def settings_of(warehouse, catalog=CATALOG, schema=SCHEMA, **changed):
    section = {"server_hostname": warehouse.address, "http_path": HTTP_PATH, "token": TOKEN, **changed}
    told = {name: value for name, value in section.items() if value is not None}
    return Settings(tables={"catalog": catalog, "table_schema": schema, "databricks": told})


def reader_of(warehouse, **changed):
    return table_reader(settings_of(warehouse, **changed))


def written(tables, brokers=2 * PAGE + 1):
    tables.write("broker_state", *(broker(number, not_reported=["capacity"]) for number in range(brokers)))
    tables.write("log_dir_state", log_dir(status="offline"), without=("capacity_source",))
    tables.write("topic_state", partition("a", is_leaderless=True), partition("b"))
    place = {"cluster": "prod", "broker": 7, "partition": 0, "log_dir": "/d", "topic": "a"}
    tables.write("replica_state", {**place, "status": "offline", "cause": "directory", "is_future": False})
    scans = [{"broker": 7, "log_dir": "/d"}, {"broker": None, "log_dir": None}]
    tables.write("log_dir_inventory", *({"cluster": "prod", "inventory_at_ms": NOW_MS, **scan} for scan in scans))
    tables.executions(execution("e"), execution("over", action_id="c", state=ExecutionState.DONE))


@pytest.mark.parametrize("table", [*COLUMNS, *QUERIES])
def test_what_the_status_needs_is_read_as_from_the_files(tables, warehouse, table):
    written(tables)
    found = reader_of(warehouse).rows(table)
    assert sorted(map(repr, found)) == sorted(map(repr, DeltaFiles(str(tables.root)).rows(table)))
    assert found
    assert warehouse.sessions == 1


def test_a_table_that_was_never_written_has_no_rows(warehouse):
    reader = reader_of(warehouse)
    assert reader.rows("broker_state") is None
    assert reader.rows("topic_state") is None
    assert list(reader.select_columns("broker_state", ["broker"], "true")) == []


def test_a_schema_that_is_not_there_has_no_tables_and_no_list_of_them(tables, warehouse):
    written(tables)
    assert reader_of(warehouse).names() == sorted(log.parent.name for log in tables.root.glob("*/_delta_log"))
    for place in ({"schema": "other"}, {"catalog": "other"}):
        assert reader_of(warehouse, **place).rows("broker_state") is None
        assert reader_of(warehouse, **place).names() is None


def test_literals_travel_as_parameters(tables, warehouse):
    tables.write("broker_state", *(broker(number, name) for number, name in enumerate(NAMES)))
    reader = reader_of(warehouse)
    for number, name in enumerate(NAMES):
        query = f"SELECT broker FROM t WHERE cluster = {quoted(name)} AND status = 'online'"
        assert [row["broker"] for row in reader.select("broker_state", query)] == [number]
        statement, parameters = warehouse.statements[-1]
        assert parameters == {"p0": name, "p1": "online"}
        assert "'" not in statement


def test_pages_of_the_console_read_it(tables, warehouse):
    written(tables)
    tables.alerts(alert("x", 1), alert("x", 2), alert("y", 1, status="resolved"))
    tables.actions(action("c", 1, alert_id="x"))
    place = {"cluster": "prod", "broker": 7, "log_dir": "/data/d1"}
    sample = {**place, "kind": "log_dir", "error_code": 0, "total_bytes": 100, "usable_bytes": 25}
    tables.write("log_dir_samples", {**sample, "timestamp_ms": NOW_MS})
    tables.write("transitions", {**place, "at_ms": NOW_MS, "to_status": "offline"})
    by_sql, by_files = (
        Reader(reader.select, reader.rows) for reader in (reader_of(warehouse), DeltaFiles(str(tables.root)))
    )
    for read in (
        lambda reader: reader.snapshot(),
        lambda reader: reader.open_alerts(),
        lambda reader: reader.alert("x"),
        lambda reader: reader.action("c"),
        lambda reader: reader.actions_of("x"),
        lambda reader: reader.directory("prod", 7, "/data/d1"),
        lambda reader: reader.history("prod", 7, "/data/d1", NOW_MS - 1000, NOW_MS + 1000),
        lambda reader: reader.transitions("prod", 7, "/data/d1"),
        lambda reader: reader.replicas("prod", 7, "/d"),
        lambda reader: reader.executions(),
        lambda reader: reader.executions("c"),
        lambda reader: reader.execution("e"),
        lambda reader: reader.actions_named(["c", "nobody"]),
    ):
        assert _sorted(read(by_sql)) == _sorted(read(by_files))
        assert read(by_files)


def _sorted(found):
    """Rows come in no order where none is asked for."""
    return sorted(map(repr, found)) if isinstance(found, list) else "".join(sorted(repr(found)))


def configured(warehouse, tmp_path, **changed):
    file = tmp_path / "catalog.yaml"
    told = settings_of(warehouse, **changed).tables.model_dump(exclude_none=True)
    section = {k: v.get_secret_value() if hasattr(v, "get_secret_value") else v for k, v in told["databricks"].items()}
    file.write_text(yaml.safe_dump({"tables": {**told, "databricks": section}}))
    return str(file)


def test_the_commands_read_it(run, telemetry, tables, warehouse, tmp_path, monkeypatch):
    for command in (status, backtest):
        monkeypatch.setattr(command, "now_ms", lambda: NOW_MS)
    telemetry.topics["logdir.alerts"] = [heartbeat()]
    config = configured(warehouse, tmp_path)
    missing = run("--config", config, "status")
    assert missing.exit_code == 1
    assert f"no tables broker_state, log_dir_state in main.{SCHEMA}, which has no tables; Unity Catalog" in missing.err
    assert "stream has another tables.catalog and tables.table_schema" in missing.err
    written(tables)
    ended = run("--config", config, "status", "--json")
    assert ended.exit_code == 0, ended.err
    (cluster,) = json.loads(ended.out)["clusters"]
    assert len(cluster["brokers"]) == 2 * PAGE + 1
    assert cluster["partitions_at_risk"] or cluster["last_partitions_at_risk"]
    tables.actions(action("gone", 1))
    assert run("--config", config, "actions", "--accuracy").err == ""
    tables.write("log_dir_samples")
    assert "No alert would have fired" in run("--config", config, "backtest", "--from", "24h").out


def test_a_token_may_be_in_a_file(tables, warehouse, tmp_path):
    written(tables)
    (tmp_path / "token").write_text(f"{TOKEN}\n")
    assert reader_of(warehouse, token=None, token_file=str(tmp_path / "token")).rows("broker_state")
    with pytest.raises(UserError, match=r"token_file /nowhere: No such file"):
        reader_of(warehouse, token=None, token_file="/nowhere").rows("broker_state")


def test_a_service_principal_gets_tokens_and_uses_one_for_several_queries(tables, warehouse):
    written(tables)
    reader = reader_of(warehouse, token=None, client_id=CLIENT_ID, client_secret=CLIENT_SECRET)
    assert reader.rows("broker_state")
    assert reader.rows("topic_state")
    assert warehouse.tokens == {TOKEN, "granted-1"}
    wrong = reader_of(warehouse, token=None, client_id=CLIENT_ID, client_secret="no")
    with pytest.raises(UserError, match=r"broker_state in .* the token endpoint answers 401") as refused:
        wrong.rows("broker_state")
    assert CLIENT_ID not in str(refused.value)


def test_what_the_warehouse_refuses_is_one_line_without_a_secret(tables, warehouse, caplog):
    def refused(statement, parameters):
        raise StatementError("[INSUFFICIENT_PERMISSIONS] User lacks SELECT. SQLSTATE: 42501\nat line 1")

    with pytest.raises(UserError, match=r"Invalid access token") as ended:
        reader_of(warehouse, token="dapi-wrong").rows("broker_state")
    assert "dapi-wrong" not in str(ended.value)
    warehouse.run = refused
    with pytest.raises(UserError) as ended:
        reader_of(warehouse).rows("broker_state")
    assert "table broker_state in main.log`dirs cannot be read by 127.0.0.1:" in str(ended.value)
    assert "[INSUFFICIENT_PERMISSIONS] User lacks SELECT" in str(ended.value)
    assert "\n" not in str(ended.value)
    assert TOKEN not in caplog.text


def test_a_warehouse_that_still_starts_is_waited_for(tables, warehouse, monkeypatch):
    written(tables)
    pauses = []
    monkeypatch.setattr(retry.time, "sleep", pauses.append)
    warehouse.waiting = 3
    assert reader_of(warehouse).rows("topic_state")
    assert pauses == [5] * 3


def test_nobody_listening_is_one_line(warehouse):
    reader = reader_of(warehouse, server_hostname="127.0.0.1:1", timeout_ms=1_000)
    with pytest.raises(UserError, match=r"cannot be read by 127\.0\.0\.1:1: "):
        reader.rows("broker_state")


def test_without_the_connector_one_line_says_what_to_install(warehouse, monkeypatch):
    monkeypatch.setitem(sys.modules, "databricks", None)
    with pytest.raises(UserError, match=r"pip install 'logdirwatch\[databricks\]'"):
        reader_of(warehouse).rows("broker_state")


@pytest.mark.parametrize("name", list(TABLES))
def test_every_table_can_be_read_whole(tables, warehouse, name):
    tables.write(name)
    assert list(reader_of(warehouse).select(name, "SELECT * FROM t")) == []


@pytest.mark.parametrize(
    ("changed", "wrong"),
    [
        ({"token": None}, "needs one of token"),
        ({"token_file": "/f"}, "needs one of token"),
        ({"client_id": "a"}, "client_id and its secret belong together"),
        ({"token": None, "client_secret": "a"}, "client_id and its secret belong together"),
        ({"server_hostname": "https://host"}, "server_hostname"),
    ],
)
def test_credentials_that_do_not_fit_are_refused(run, tmp_path, changed, wrong):
    section = {"server_hostname": "host", "http_path": HTTP_PATH, "token": TOKEN, **changed}
    told = {name: value for name, value in section.items() if value is not None}
    (tmp_path / "c.yaml").write_text(yaml.safe_dump({"tables": {"catalog": "main", "databricks": told}}))
    ended = run("--config", str(tmp_path / "c.yaml"), "config", "check")
    assert ended.exit_code == 2
    assert wrong in ended.err
    assert TOKEN not in ended.out + ended.err


def test_a_catalog_without_a_schema_is_one_line(run, tmp_path, monkeypatch):
    told = {"server_hostname": "host", "http_path": HTTP_PATH}
    (tmp_path / "c.yaml").write_text(yaml.safe_dump({"tables": {"catalog": "main", "databricks": told}}))
    monkeypatch.setenv("LOGDIRWATCH_TABLES__DATABRICKS__TOKEN", TOKEN)
    ended = run("--config", str(tmp_path / "c.yaml"), "status")
    assert ended.exit_code == 2
    assert ended.err == "logdirwatch: tables.catalog needs tables.table_schema: name the schema of the tables\n"
    shown = run("--config", str(tmp_path / "c.yaml"), "config", "check")
    assert TOKEN not in shown.out
    assert "token: '********'" in shown.out
