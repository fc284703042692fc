"""``tables optimize``: what it says of tables, and what it refuses before Spark is started."""

import pytest
from typer.testing import CliRunner

from logdirwatch.cli.main import app
from logdirwatch.errors import UserError
from logdirwatch.store.schema.definitions import ALERTS, TABLES
from logdirwatch.store.settings import MaintainSettings, RetentionSettings
from logdirwatch.store.upkeep.results import Upkept, line


@pytest.mark.parametrize("command", [["tables", "optimize"], ["maintain"]])
def test_a_table_that_is_none_is_refused_at_once(command):
    ended = CliRunner().invoke(app, [*command, "--table", "alert"])
    assert isinstance(ended.exception, UserError)
    assert (ended.exception.exit_code, "no table is named alert" in str(ended.exception)) == (2, True)
    assert ALERTS.name in str(ended.exception)


def test_the_earlier_name_maintain_is_accepted_and_reported_as_deprecated(monkeypatch):
    monkeypatch.setattr("logdirwatch.cli.commands.tables._optimized", lambda *_, is_dry_run: iter(()))
    ended = CliRunner().invoke(app, ["maintain", "--dry-run"])
    assert (ended.exit_code, ended.stdout) == (0, "")
    assert "logdirwatch: maintain is deprecated, use: logdirwatch tables optimize\n" in ended.stderr


def test_every_history_has_a_retention_and_nothing_else_has():
    histories = {f"{table.name}_ms" for table in TABLES.values() if table.time is not None}
    assert set(RetentionSettings.model_fields) == histories


def test_a_log_that_is_shorter_than_what_it_speaks_of_is_refused():
    with pytest.raises(ValueError, match="must not be less than deleted_files_ms"):
        MaintainSettings(table_log_ms=3_600_000)


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (Upkept(table="a", is_there=False), "a: does not exist yet"),
        (Upkept(table="a", error="no"), "a: no"),
        (
            Upkept(table="a", expired_rows=3, files_before=2, bytes_before=2048),
            "a: 2 files, 2 KiB; 3 rows are past their retention",
        ),
        (
            Upkept(table="a", expired_rows=3, files_before=9, bytes_before=2048, files_after=1, bytes_after=1024),
            "a: 3 rows deleted; 9 files, 2 KiB before, 1 file, 1 KiB now",
        ),
    ],
)
def test_a_line_says_what_became_of_a_table(found, said):
    assert line(found) == said
