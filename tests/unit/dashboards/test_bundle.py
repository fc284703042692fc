"""The dashboard, alerts and Genie space of the bundle: the same queries and panels, as Databricks wants them."""

import json
import re
from functools import cache

import pytest
import sqlglot
import yaml
from sqlglot.optimizer.qualify import qualify

from dashboards import __main__ as command
from dashboards import bundle, lakeview, sql
from dashboards.boards import BOARDS
from dashboards.panels import Kind
from logdirwatch.settings import Settings
from logdirwatch.store.schema.definitions import TABLES

SCHEMA = {table.name: {column.name: column.kind for column in table.columns} for table in TABLES.values()}
FILES = dict(bundle.files(command.limits(Settings())))
DASHBOARD = json.loads(FILES[f"dashboards/{lakeview.FILE}"])
DATASETS = {dataset["name"]: dataset for dataset in DASHBOARD["datasets"]}
ALERTS = yaml.safe_load(FILES["resources/alerts.yml"])["resources"]["alerts"]
GENIE = yaml.safe_load(FILES["resources/genie_space.yml"])["resources"]["genie_spaces"]["fleet"]["serialized_space"]
WIDGETS = [(page["name"], each["widget"]) for page in DASHBOARD["pages"] for each in page["layout"]]


@cache
def planned(text):
    """A query that parses and whose every column is one of a table or of its own."""
    filled = re.sub(r":(time\.(min|max)|\w+)", "'1'", text.replace(f"{bundle.SCHEMA}.", ""))
    query = sqlglot.parse_one(filled, dialect=sql.WRITTEN_IN)
    assert sql.own_tables(query) <= set(SCHEMA)
    return qualify(query, schema=SCHEMA, dialect=sql.WRITTEN_IN, validate_qualify_columns=True)


def text_of(dataset):
    return "".join(dataset["queryLines"])


@pytest.mark.parametrize("name", sorted(FILES))
def test_the_committed_files_are_what_the_code_makes(name):
    assert (bundle.FOLDER / name).read_text() == FILES[name], "run: make dashboards"


@pytest.mark.parametrize("name", sorted(DATASETS))
def test_every_dataset_reads_tables_and_columns_that_there_are(name):
    planned(text_of(DATASETS[name]))


@pytest.mark.parametrize("name", sorted(DATASETS))
def test_a_dataset_takes_the_parameters_that_its_query_names(name):
    dataset = DATASETS[name]
    used = set(re.findall(r":([a-z_]+)", text_of(dataset)))
    assert {parameter["keyword"] for parameter in dataset["parameters"]} == used
    assert "${" not in text_of(dataset)


def test_every_panel_of_grafana_is_on_its_page():
    for board, page in zip(BOARDS, DASHBOARD["pages"], strict=True):
        shown = [each["widget"] for each in page["layout"] if not each["widget"]["spec"]["widgetType"].startswith("f")]
        asked = [widget["queries"][0]["query"]["datasetName"] for widget in shown]
        expected = []
        for panel in board.panels:
            count = len(lakeview.shown(panel.query)) if panel.kind is Kind.NUMBERS else 1
            expected += [f"{board.name}_{panel.query}"] * count
        assert asked == expected


@pytest.mark.parametrize(("page", "widget"), WIDGETS, ids=[widget["name"] for _, widget in WIDGETS])
def test_a_widget_shows_columns_of_its_dataset(page, widget):
    fields = {}
    for query in widget["queries"]:
        dataset = DATASETS[query["query"]["datasetName"]]
        assert dataset["name"].startswith(f"{page}_")
        assert {one["keyword"] for one in query["query"].get("parameters", [])} <= {
            one["keyword"] for one in dataset["parameters"]
        }
        names = {field["name"] for field in query["query"].get("fields", [])}
        assert names <= set(planned(text_of(dataset)).named_selects)
        fields[query["name"]] = names
    encoded = re.findall(r'"fieldName": "(\w+)"', json.dumps(widget["spec"]))
    assert set(encoded) == set().union(*fields.values())
    assert widget["spec"]["frame"]["title"]


def test_widgets_do_not_overlap_and_their_names_are_their_own():
    names = [widget["name"] for _, widget in WIDGETS]
    assert len(set(names)) == len(names)
    for page in DASHBOARD["pages"]:
        taken = set()
        for at in (each["position"] for each in page["layout"]):
            squares = {(at["x"] + x, at["y"] + y) for x in range(at["width"]) for y in range(at["height"])}
            assert not squares & taken
            assert at["x"] + at["width"] <= lakeview.COLUMNS
            taken |= squares


@pytest.mark.parametrize("name", sorted(ALERTS))
def test_an_alert_counts_rows_of_its_query(name):
    alert = ALERTS[name]
    evaluation = alert["evaluation"]
    assert evaluation["source"]["name"] in planned(alert["query_text"]).named_selects
    assert (evaluation["source"]["aggregation"], evaluation["empty_result_state"]) == ("COUNT", "OK")
    assert alert["query_text"].count(bundle.SCHEMA)


def test_alerts_wake_for_what_pages_what_is_critical_and_silence():
    texts = {name: alert["query_text"] for name, alert in ALERTS.items()}
    assert texts.keys() == {"firing_page", "firing_critical", "silence"}
    assert all(
        f"WHERE severity = '{name.removeprefix('firing_')}'" in texts[name] for name in texts if "firing" in name
    )


def test_genie_knows_every_table_and_answers_what_people_ask_with_the_queries_of_the_dashboards():
    identifiers = [table["identifier"] for table in GENIE["data_sources"]["tables"]]
    assert identifiers == sorted(f"{bundle.SCHEMA}.{name}" for name in TABLES)
    assert all(table.comment and all(column.comment for column in table.columns) for table in TABLES.values())
    asked = GENIE["instructions"]["example_question_sqls"]
    assert {question for one in asked for question in one["question"]} == set(bundle.QUESTIONS)
    for one in asked:
        planned("".join(one["sql"]))
    for listed in (asked, GENIE["config"]["sample_questions"]):
        ids = [one["id"] for one in listed]
        assert ids == sorted(set(ids))
        assert all(re.fullmatch("[0-9a-f]{32}", each) for each in ids)
