"""``logdirwatch report``: who uses how much, what it costs, and how it grew."""

import csv
import io
import json

import pytest
import yaml

from logdirwatch.cli.report import command as report
from logdirwatch.config.section import DAY_MS, HOUR_MS
from tests.support.delta import Written
from tests.unit.report.builders import NOW_MS

TB = 10**12
MONTH = report.month_of(None, NOW_MS)


@pytest.fixture
def lake(tmp_path, monkeypatch):
    monkeypatch.setenv("LOGDIRWATCH_TABLES__PATH", str(tmp_path / "tables"))
    monkeypatch.setattr(report, "now_ms", lambda: NOW_MS)
    config = {
        "plan": {
            "topics": [{"topic": "pay-*", "owner": "payments"}, {"cluster": "prod", "topic": "log", "owner": "ops"}]
        },
        "report": {"cost_per_tb_month": 50},
    }
    (tmp_path / "logdirwatch.yaml").write_text(yaml.safe_dump(config))
    return Written(tmp_path / "tables")


def replica(topic, size, cluster="prod", **fields):
    place = {"cluster": cluster, "broker": 7, "topic": topic, "partition": 0, "log_dir": "/d1", "is_future": False}
    return {**place, "size_bytes": size, **fields}


def sample(at_ms, used, log_dir="/d1", **fields):
    place = {"cluster": "prod", "broker": 7, "log_dir": log_dir, "collector": "c", "kind": "log_dir", "error_code": 0}
    return {**place, "timestamp_ms": at_ms, "total_bytes": 10 * TB, "usable_bytes": 10 * TB - used, **fields}


@pytest.fixture
def prod(lake):
    lake.write(
        "replica_state",
        replica("pay-in", 2 * TB),
        replica("pay-in", 2 * TB, broker=8),
        replica("pay-in", TB, is_future=True),
        replica("pay-out", TB),
        replica("log", 3 * TB),
        replica("other", None),
    )
    begin, end = MONTH.from_ms, MONTH.to_ms
    lake.write(
        "log_dir_samples",
        *(sample(begin + at, used) for at, used in ((0, 4 * TB), (HOUR_MS - 1, 6 * TB), (2 * HOUR_MS, 9 * TB))),
        sample(end - 1, 7 * TB),
        sample(end, 9 * TB),
        sample(end - 1, 9 * TB, error_code=56),
        sample(end - 1, TB, log_dir="/new"),
    )
    return lake


def test_people_read_bytes_and_cost_by_owner_and_topic(run, prod):
    ended = run("report")
    assert (ended.exit_code, ended.err) == (0, "")
    lines = [line.split() for line in ended.out.splitlines()]
    assert ["payments", "2", "4.5", "TiB", "-", "250.00"] in lines
    assert ["pay-in", "payments", "3.6", "TiB", "-", "200.00"] in lines
    assert ["other", "nobody", "0", "B", "-", "0.00"] in lines
    assert "its disks grew by +1.8 TiB (1 directory measured at both ends)" in ended.out


def test_programs_read_the_same(run, prod):
    told = json.loads(run("report", "--json").out)
    (cluster,) = told["clusters"]
    assert (cluster["used_growth_bytes"], cluster["measured_log_dirs"]) == (2 * TB, 1)
    assert [(one["owner"], one["bytes"]) for one in cluster["owners"]] == [
        ("payments", 5 * TB),
        ("ops", 3 * TB),
        (None, 0),
    ]
    rows = list(csv.DictReader(io.StringIO(run("report", "--csv").out)))
    assert [row["topic"] for row in rows] == ["pay-in", "log", "pay-out", "other"]
    assert (rows[0]["owner"], rows[0]["replicas"], rows[0]["bytes"]) == ("payments", "2", str(4 * TB))


def test_an_earlier_report_shows_how_topics_and_owners_grew(run, prod, tmp_path):
    (tmp_path / "october.json").write_text(run("report", "--json").out)
    prod.write("replica_state", replica("log", TB, broker=9), replica("brand-new", TB))
    (cluster,) = json.loads(run("report", "--since", "october.json", "--json").out)["clusters"]
    assert {one["topic"]: one["growth_bytes"] for one in cluster["topics"]} == {
        "pay-in": 0,
        "pay-out": 0,
        "other": 0,
        "log": TB,
        "brand-new": TB,
    }
    assert {one["owner"]: one["growth_bytes"] for one in cluster["owners"]} == {"payments": 0, "ops": TB, None: TB}


def test_without_samples_the_growth_is_not_known(run, lake):
    lake.write("replica_state", replica("log", TB))
    assert "is not known: no directory was measured at both ends" in run("report").out


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["--month", "November"], "'November' is not a month; write 2026-11"),
        (["--month", "2999-01"], "is still to come"),
        (["--since", "none.json"], "none.json cannot be read: No such file"),
        (["--since", "logdirwatch.yaml"], "is no report; write one with: logdirwatch report --json"),
        (["--cluster", "prd"], "no cluster prd in the tables; did you mean prod?"),
        (["--json", "--csv"], "cannot be combined"),
    ],
)
def test_what_cannot_be_reported_is_one_line(run, prod, arguments, why):
    ended = run("report", *arguments)
    assert (ended.exit_code, ended.out) == (2, "")
    assert why in ended.err
    assert ended.err.count("\n") == 1


def test_without_tables_it_says_what_to_start(run, lake):
    ended = run("report")
    assert ended.exit_code == 1
    assert "run logdirwatch collect and logdirwatch stream" in ended.err


def test_a_month_ends_where_the_next_begins():
    december = report.month_of("2025-12", NOW_MS * 2)
    assert december.to_ms - december.from_ms == 31 * DAY_MS
    assert december.to_ms == report.month_of("2026-01", NOW_MS * 2).from_ms
