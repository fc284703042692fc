"""The same panels as an AI/BI dashboard of Databricks, a page each board: what its bundle deploys.

What is chosen reaches a query as a named parameter. Databricks has no units of bytes or of time spans, so the values
are brought into one unit each, which the title names; it colours no cell, so words and signs tell a status.
"""

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from dashboards import fields, sql
from dashboards.boards import BOARDS, Board
from dashboards.fields import FIELDS, Field, Limits
from dashboards.panels import PLACE, WHOLE_WIDTH, Kind, Panel

FILE = "logdirwatch.lvdash.json"
COLUMNS = 6
"""Of the grid of a page, in which Grafana has 24."""
ROWS_HIGH = 2
"""Rows of Grafana's grid in one of this."""
TIME = "time"
_FROM, _TO = (f"unix_millis(CAST(:{TIME}.{end} AS TIMESTAMP))" for end in ("min", "max"))
HOST = sql.Host(
    None,
    ":%s",
    {"from_ms": _FROM, "to_ms": _TO, "interval_ms": f"CAST(GREATEST(60000, FLOOR(({_TO} - {_FROM}) / 200)) AS BIGINT)"},
)
UNITS: Mapping[str, tuple[str, str, str]] = {
    fields.AGO: ("TIMESTAMP_MILLIS(CAST({0} AS BIGINT))", "", "datetime"),
    fields.SPAN: ("ROUND({0} / 3.6E6, 1)", " (h)", "float"),
    fields.BYTES: ("ROUND({0} / POW(2, 30), 1)", " (GiB)", "float"),
    fields.RATE: ("ROUND({0} / POW(2, 20), 2)", " (MiB/s)", "float"),
    fields.RATIO: ("ROUND({0} * 100, 1)", " (%)", "float"),
    fields.NUMBER: ("{0}", "", "integer"),
    "none": ("{0}", "", "integer"),
}
"""How a value is written, what its title says of it, and its type."""

Json = dict[str, Any]


def dashboard(limits: Limits) -> Json:
    """Return the whole dashboard."""
    pages = [_page(board) for board in BOARDS]
    datasets = [each for board in BOARDS for each in _datasets(board, limits)]
    return {"datasets": datasets, "pages": pages}


def shown(query: str) -> list[str]:
    """Return the columns of a query that a page shows."""
    return [name for name in sql.columns(query) if name != PLACE]


def _datasets(board: Board, limits: Limits) -> Iterator[Json]:
    variables = frozenset(board.variables)
    for name in dict.fromkeys(panel.query for panel in board.panels):
        inner = sql.rendered(name, sql.WRITTEN_IN, variables, limits.numbers, HOST)
        yield _dataset(board, name, f"SELECT {', '.join(selected(name))}\nFROM (\n{inner}\n)")
    for column in board.variables:
        inner = sql.rendered(f"variable_{column}", sql.WRITTEN_IN, variables, limits.numbers, HOST)
        every = f"SELECT '{sql.ALL}' AS {column}\nUNION ALL\nSELECT CAST({column} AS STRING) FROM (\n{inner}\n)"  # noqa: S608 - the names are ours
        yield _dataset(board, f"variable_{column}", every)


def _dataset(board: Board, query: str, text: str) -> Json:
    chosen = [name for name in board.variables if f":{name}" in text]
    times = [TIME] if f":{TIME}." in text else []
    return {
        "name": f"{board.name}_{query}",
        "displayName": f"{board.title}: {query}",
        "queryLines": text.splitlines(keepends=True),
        "parameters": [_parameter(name) for name in chosen] + [_range(board) for _ in times],
    }


def _parameter(name: str) -> Json:
    values = {"dataType": "STRING", "values": [{"value": sql.ALL}]}
    return {"displayName": name, "keyword": name, "dataType": "STRING", "defaultSelection": {"values": values}}


def _range(board: Board) -> Json:
    begin = {"dataType": "DATETIME", "min": {"value": f"{board.time[0]}/h"}, "max": {"value": "now/h"}}
    return {
        "displayName": TIME,
        "keyword": TIME,
        "dataType": "DATETIME",
        "complexType": "RANGE",
        "defaultSelection": {"range": begin},
    }


def selected(query: str) -> Iterator[str]:
    """Return what a page selects of a query: each column in its unit, or a row for each of several lines."""
    names = shown(query)
    if _is_wide(query):
        pairs = ", ".join(f"'{FIELDS[name].title}', {_written(name)}" for name in names[1:])
        return iter((names[0], f"STACK({len(names) - 1}, {pairs}) AS (series, value)"))
    return (f"{_written(name)} AS {name}" for name in names)


def _is_wide(query: str) -> bool:
    """Whether each column but the time is a line of its own."""
    names = shown(query)
    return names[0] == "time" and len(names) > 3


def _written(name: str) -> str:
    return UNITS.get(FIELDS[name].unit or "", ("{0}", "", ""))[0].format(name)


def _title(field: Field) -> str:
    return field.title + UNITS.get(field.unit or "", ("", "", ""))[1]


def _page(board: Board) -> Json:
    widgets = [*_filters(board), *(one for panel in board.panels for one in _widgets(board, panel))]
    layout, x, y, high = [], 0, 0, 0
    for number, (widget, width, height) in enumerate(widgets):
        if x + width > COLUMNS:
            x, y, high = 0, y + high, 0
        named = {"name": f"{board.name}-{number}", **widget}
        layout.append({"widget": named, "position": {"x": x, "y": y, "width": width, "height": height}})
        x, high = x + width, max(high, height)
    return {"name": board.name, "displayName": board.title, "pageType": "PAGE_TYPE_CANVAS", "layout": layout}


def _filters(board: Board) -> Iterator[tuple[Json, int, int]]:
    for name in board.variables:
        values = {"name": name, "query": {"datasetName": f"{board.name}_variable_{name}", "fields": [_field(name)]}}
        yield _filter(board, name, "filter-single-select", [values], [{"fieldName": name, "queryName": name}]), 1, 1
    if _asking(board, f":{TIME}."):
        yield _filter(board, TIME, "filter-date-range-picker", [], []), 2, 1


def _filter(board: Board, name: str, kind: str, queries: list[Json], encoded: list[Json]) -> Json:
    for query in _asking(board, f":{TIME}." if name == TIME else f":{name}"):
        asked = {"datasetName": f"{board.name}_{query}", "parameters": [{"name": name, "keyword": name}]}
        queries.append({"name": f"{query}_{name}", "query": {**asked, "disaggregated": False}})
        encoded.append({"parameterName": name, "queryName": f"{query}_{name}"})
    title = {"log_dir": "directory"}.get(name, name)
    frame = {"showTitle": True, "title": title}
    spec = {"version": 2, "widgetType": kind, "encodings": {"fields": encoded}, "frame": frame}
    return {"queries": queries, "spec": spec}


def _asking(board: Board, parameter: str) -> list[str]:
    """Return the queries of a board that take a parameter."""
    names = dict.fromkeys([*(panel.query for panel in board.panels), *(f"variable_{name}" for name in board.variables)])
    variables = frozenset(board.variables)
    return [name for name in names if parameter in _with_any_numbers(name, variables)]


@cache
def _with_any_numbers(query: str, variables: frozenset[str]) -> str:
    """Return a query whose parameters are asked for; each board asks once for each of its filters."""
    return sql.rendered(query, sql.WRITTEN_IN, variables, dict.fromkeys(Limits.NUMBERS, 1), HOST)


def _widgets(board: Board, panel: Panel) -> Iterator[tuple[Json, int, int]]:
    """Yield the widgets of a panel with their widths and heights: of numbers one a column."""
    height = max(2, panel.height // ROWS_HIGH)
    about = {"showDescription": True, "description": sql.description(panel.query), "showTitle": True}
    if panel.kind is Kind.NUMBERS:
        for name in shown(panel.query):
            title = f"{panel.title}: {_title(FIELDS[name])}"
            value = {"value": {"fieldName": name, "displayName": _title(FIELDS[name])}}
            yield _widget(board, panel, [name], "counter", 2, value, about | {"title": title}), 1, 2
        return
    kind, version = {Kind.LISTING: ("table", 1), Kind.LINES: ("line", 3), Kind.BARS: ("bar", 3)}[panel.kind]
    names = ["time", "series", "value"] if _is_wide(panel.query) else shown(panel.query)
    encodings = _table(names) if kind == "table" else _series(panel.query, names)
    width = panel.width * COLUMNS // WHOLE_WIDTH
    yield _widget(board, panel, names, kind, version, encodings, about | {"title": panel.title}), width, height


def _widget(
    board: Board, panel: Panel, names: list[str], kind: str, version: int, encodings: Json, frame: Json
) -> Json:
    asked = {"datasetName": f"{board.name}_{panel.query}", "fields": [_field(name) for name in names]}
    return {
        "queries": [{"name": "main_query", "query": {**asked, "disaggregated": True}}],
        "spec": {"version": version, "widgetType": kind, "encodings": encodings, "frame": frame},
    }


def _field(name: str) -> Json:
    return {"name": name, "expression": f"`{name}`"}


def _table(names: list[str]) -> Json:
    return {"columns": [_column(name, number) for number, name in enumerate(names)]}


def _column(name: str, number: int) -> Json:
    field = FIELDS[name]
    kind = UNITS.get(field.unit or "", ("", "", "string"))[2]
    shown_as = {"float": "number", "integer": "number"}.get(kind, kind)
    title = _title(field)
    return {
        "fieldName": name,
        "type": kind,
        "displayAs": shown_as,
        "visible": True,
        "order": number,
        "title": title,
        "displayName": title,
        "alignContent": "right" if shown_as == "number" else "left",
    }


def _series(query: str, names: list[str]) -> Json:
    time, *labels, value = names
    field = FIELDS[value if value in FIELDS else sql.columns(query)[1]]
    encodings = {
        "x": {"fieldName": time, "scale": {"type": "temporal"}, "displayName": "time"},
        "y": {"fieldName": value, "scale": {"type": "quantitative"}, "displayName": _title(field)},
    }
    if labels:
        encodings["color"] = {"fieldName": labels[0], "scale": {"type": "categorical"}, "displayName": labels[0]}
    return encodings
