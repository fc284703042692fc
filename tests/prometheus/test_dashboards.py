"""Every expression of the dashboards has an answer in a real Prometheus, and shows what is there."""

import json
import re
import time

import pytest

from dashboards.__main__ import files
from dashboards.prometheus import INPUT, LEVELS, NAME
from logdirwatch.settings import Settings
from tests.support.waiting import DEADLINE_S, wait_until

CHOSEN = {"cluster": "prod", "broker": "1", "log_dir": ".*"}
BOARDS = {
    name.removeprefix(f"{NAME}/").removesuffix(".json"): json.loads(text)
    for name, text in files(Settings(), {})
    if name.startswith(f"{NAME}/")
}
TARGETS = [
    (f"{board}: {panel['title']} {target['refId']}", target)
    for board, content in BOARDS.items()
    for panel in content["panels"]
    for target in panel["targets"]
]
# Nothing counted the replicas.
NOTHING_KNOWN = {"directory: Log directories F"}


def filled(text, **chosen):
    """Fill in as Grafana does."""
    return re.sub(r"\$\{(\w+)\}", lambda name: {**CHOSEN, **chosen}[name[1]], text)


def answer(server, board, title, ref="A"):
    target = dict(TARGETS)[f"{board}: {title} {ref}"]
    return server.get("query", query=filled(target["expr"]))["result"]


@pytest.fixture(scope="module")
def server(scraping):
    wait_until(lambda: scraping.get("query", query="logdirwatch_log_dir_status")["result"], DEADLINE_S, "no series")
    return scraping


@pytest.mark.parametrize(("name", "target"), TARGETS, ids=[name for name, _ in TARGETS])
def test_every_expression_has_an_answer(server, name, target):
    query = filled(target["expr"])
    now_s = time.time()
    times = {"start": now_s - 30, "end": now_s, "step": 1}
    found = server.get("query", query=query) if target["instant"] else server.get("query_range", query=query, **times)
    assert bool(found["result"]) == (name not in NOTHING_KNOWN)


def test_directories_are_counted_by_their_state(server):
    counts = [answer(server, "fleet", "Log directories", ref)[0]["value"][1] for ref in "ABCDE"]
    assert counts == ["1", "1", "1", "0", "1"]
    assert [answer(server, "fleet", "Brokers", ref)[0]["value"][1] for ref in "AB"] == ["1", "1"]
    assert [answer(server, "fleet", "Open alerts", ref)[0]["value"][1] for ref in "ABC"] == ["2", "0", "0"]


def test_a_level_over_time_is_a_status(server):
    found = answer(server, "fleet", "Every log directory over time")
    levels = {series["metric"]["log_dir"]: LEVELS[int(series["value"][1])] for series in found}
    assert levels == {"/offline": "offline", "/saturated": "saturated", "/critical": "critical", "/good": "online"}


def test_where_nothing_is_known_nothing_is_zero(serving):
    empty = serving({})
    assert [name for name, target in TARGETS if empty.get("query", query=filled(target["expr"]))["result"]] == []


@pytest.mark.parametrize("board", BOARDS)
def test_variables_name_labels_that_there_are(server, board):
    for variable in BOARDS[board]["templating"]["list"]:
        if variable["type"] == "query":
            series, label = re.fullmatch(r"label_values\((.*), (\w+)\)", variable["query"]).groups()
            found = server.get("series", **{"match[]": filled(series)})
            assert {each[label] for each in found}, variable["query"]


@pytest.mark.parametrize("board", BOARDS)
def test_a_dashboard_can_be_imported_and_provisioned(board):
    content = BOARDS[board]
    assert [(each["name"], each["pluginId"]) for each in content["__inputs"]] == [(INPUT, "prometheus")]
    assert [v["name"] for v in content["templating"]["list"] if v["type"] == "datasource"] == [INPUT]
    assert {target["datasource"]["uid"] for _, target in TARGETS} == {f"${{{INPUT}}}"}
