"""The dashboards: what Grafana mounts is what the code makes, links lead somewhere, nothing unknown looks good."""

import json
import re
import subprocess
from pathlib import Path

import pytest
import yaml

from dashboards import __main__ as command
from dashboards import bundle, fields, prometheus, sql
from dashboards.boards import BOARDS
from dashboards.engines import DATA_SOURCE_UID, ENGINES
from dashboards.panels import Kind
from logdirwatch.model.vocabulary import ActionStatus, BrokerStatus, LogDirStatus, Severity
from logdirwatch.settings import Settings

FOLDER = Path(command.__file__).parent
FILES = [f"{engine.name}/{board.name}.json" for engine in ENGINES for board in BOARDS]
OF_PROMETHEUS = [f"{prometheus.NAME}/{board.name}.json" for board in prometheus.boards()]
PROVISIONED = sorted((FOLDER / "provisioning").rglob("*.yaml"))


@pytest.fixture(scope="session")
def made():
    return dict(command.files(Settings(), {}))


def test_the_committed_files_are_what_the_code_makes_for_trino_and_prometheus_and_no_others(made):
    command = ["git", "ls-files", "-z", "*.json"]
    listed = subprocess.run(command, cwd=FOLDER, capture_output=True, check=True, text=True).stdout
    committed = {name: (FOLDER / name).read_text() for name in listed.split("\0") if name}
    assert set(committed) == {name for name in made if not name.startswith("databricks/")}
    stale = [name for name, text in committed.items() if made[name] != text]
    assert not stale, "run: make dashboards"


@pytest.mark.parametrize("name", FILES + OF_PROMETHEUS)
def test_panels_fill_the_width_and_do_not_overlap(made, name):
    taken = set()
    for panel in json.loads(made[name])["panels"]:
        at = panel["gridPos"]
        squares = {(x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])}
        assert not squares & taken
        assert at["x"] + at["w"] <= 24
        taken |= squares


@pytest.mark.parametrize("name", FILES)
def test_every_query_asks_the_provisioned_data_source(made, name):
    document = json.loads(made[name])
    targets = [target for panel in document["panels"] for target in panel["targets"]]
    variables = [each for each in document["templating"]["list"] if each["type"] == "query"]
    marks = [mark["target"] for mark in document["annotations"].get("list", [])]
    for asking in [*targets, *variables, *marks]:
        assert asking["datasource"]["uid"] == DATA_SOURCE_UID


@pytest.mark.parametrize("name", FILES)
def test_every_variable_that_a_query_reads_is_one_of_the_dashboard(made, name):
    document = json.loads(made[name])
    there = {each["name"] for each in document["templating"]["list"]}
    assert set(re.findall(r"\$\{(\w+):", json.dumps(document["panels"]).replace("${__data", ""))) <= there


@pytest.mark.parametrize("name", FILES + OF_PROMETHEUS)
def test_a_missing_value_is_never_shown_as_good(made, name):
    for panel in json.loads(made[name])["panels"]:
        defaults = panel["fieldConfig"]["defaults"]
        assert defaults["noValue"]
        missing = [m for m in defaults["mappings"] if m["type"] == "special"]
        assert [m["options"]["result"]["text"] for m in missing] == [fields.UNKNOWN]
        for override in panel["fieldConfig"]["overrides"]:
            own = [p["value"] for p in override["properties"] if p["id"] == "mappings"]
            for special in (m for mappings in own for m in mappings if m["type"] == "special"):
                assert special["options"]["result"]["color"] != fields.GREEN


def test_links_lead_to_dashboards_that_are_there():
    there = {board.uid for board in BOARDS}
    assert set(re.findall(r"logdirwatch-\w+", sql.PLACE)) <= there
    for uid, names in re.findall(r"'(logdirwatch-\w+)\?([^']*)'", sql.PLACE):
        board = next(board for board in BOARDS if board.uid == uid)
        assert set(re.findall(r"var-(\w+)=", names)) <= set(board.variables)


def test_an_alert_leads_to_its_place(made):
    for name in FILES:
        for panel in json.loads(made[name])["panels"]:
            if panel["title"] == "Open alerts" and panel["type"] == "table":
                links = [
                    p["value"] for o in panel["fieldConfig"]["overrides"] for p in o["properties"] if p["id"] == "links"
                ]
                assert links
                assert {link["url"] for each in links for link in each} == {"/d/${__data.fields.place:raw}"}


def test_every_status_and_severity_has_a_colour_and_only_good_ones_are_green():
    words = {str(word) for words in (LogDirStatus, BrokerStatus, Severity) for word in words}
    assert words <= set(fields.COLOURS)
    green = {word for word, colour in fields.COLOURS.items() if colour == fields.GREEN}
    assert green == {"online", "none", "yes", str(ActionStatus.DONE)}


def test_every_query_is_shown_somewhere():
    shown = {panel.query for board in BOARDS for panel in board.panels} | {board.marks for board in BOARDS}
    shown |= {query for _, query, _ in bundle.ALERTS.values()}
    chosen = {f"variable_{column}" for board in BOARDS for column in board.variables}
    assert set(sql.names()) == (shown | chosen) - {None}


def test_lines_and_bars_begin_with_time_and_nothing_else_has_it():
    for board in BOARDS:
        for panel in board.panels:
            is_series = panel.kind in (Kind.LINES, Kind.BARS)
            assert (sql.columns(panel.query)[0] == "time") == is_series, panel.title


@pytest.mark.parametrize("path", PROVISIONED, ids=lambda path: str(path.relative_to(FOLDER)))
def test_provisioning_names_the_data_source_of_the_dashboards(path):
    content = yaml.safe_load(path.read_text())
    plugins = {engine.name: engine.plugin for engine in ENGINES}
    for source in content.get("datasources", []):
        engine = path.parent.parent.name
        assert (source["uid"], source["type"]) == (DATA_SOURCE_UID, plugins[engine])
        secrets = source.get("secureJsonData", {})
        assert all(value.startswith("$") for value in secrets.values())


def test_the_command_takes_other_tables_and_a_configuration(tmp_path, monkeypatch):
    config = tmp_path / "c.yaml"
    config.write_text("{detect: {thresholds: {filling_ratio: 0.61}}, decisions: {longest_ms: 123456}}\n")
    arguments = ["dashboards", "--config", str(config), "--out", str(tmp_path / "out"), "--trino", "lake.kafka"]
    arguments += ["--bundle", str(tmp_path / "bundle")]
    monkeypatch.setattr("sys.argv", arguments)
    command.main()
    text = (tmp_path / "out" / "trino" / "fleet.json").read_text()
    tables = next(v for v in json.loads(text)["templating"]["list"] if v["name"] == "tables")
    assert tables["query"] == "lake.kafka"
    assert '"value": 0.61' in text
    assert "at_ms + 123456" in text
    assert "at_ms + 123456" in (tmp_path / "bundle" / "dashboards" / "logdirwatch.lvdash.json").read_text()
