"""The dashboards of disks over Prometheus: the same boards, panels, titles and colours, asked in PromQL.

Of a board those panels are there that :data:`QUERIES` answers, and those of :data:`OVER_TIME`, which need series.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import takewhile
from string import Template
from typing import Any

from grafana_foundation_sdk.builders import dashboard as builders
from grafana_foundation_sdk.models import dashboard as model

from dashboards import fields, sql
from dashboards.boards import BOARDS, Board, begun
from dashboards.engines import TargetBuilder
from dashboards.fields import Limits
from dashboards.panels import STYLES, Builder, Kind, Panel, changed, with_columns

NAME = "prometheus"
INPUT = "DS_PROMETHEUS"
SOURCE = model.DataSourceRef(type_val=NAME, uid=f"${{{INPUT}}}")
"""Grafana's import replaces it by what the user chose; provisioned, it is a variable of the dashboard."""
GRAFANA_VERSION = "11.0.0"

_PLACE = "cluster, broker, log_dir"
_USED = (
    f"max by ({_PLACE}) (1 - logdirwatch_log_dir_usable_bytes{{$where}} / logdirwatch_log_dir_total_bytes{{$where}})"
)
_ONLINE = f"min by ({_PLACE}) (logdirwatch_log_dir_online{{$where}})"
_ANSWERS = "min by (cluster, broker) (logdirwatch_broker_answers{$where})"
_FULL_IN_MS = f"1000 * (min by ({_PLACE}) (logdirwatch_log_dir_full_timestamp_seconds{{$where}}) - time())"
_GROWTH = f"max by ({_PLACE}) (logdirwatch_log_dir_growth_bytes_per_second{{$where}})"


def _count(series: str, condition: str) -> str:
    """Return an expression of how many series meet a condition: 0 only where some are known."""
    return f"count({series} {condition}) or 0 * count({series})"


def _alerts(severity: str) -> str:
    """Return an expression of how many alerts are open: 0 only while something that judges is scraped."""
    firing = f'sum(logdirwatch_alerts_firing{{$cluster,severity="{severity}"}})'
    judged = 'count(logdirwatch_log_dir_status{$cluster}) or count(logdirwatch_query_active{query="recommend"} == 1)'
    return f"{firing} or 0 * ({judged})"


QUERIES: Mapping[str, Mapping[str, str]] = {
    "state_age": {
        "state_age_ms": "1000 * (time() - min(max by (cluster) (timestamp(logdirwatch_broker_answers{$where}))))"
    },
    "alert_counts": {
        "page": _alerts("page"),
        "critical_alerts": _alerts("critical"),
        "warning": _alerts("warning"),
    },
    "directory_counts": {
        "offline": _count(_ONLINE, "== 0"),
        "saturated": _count(_USED, ">= $saturated"),
        "critical": _count(_USED, ">= $critical < $saturated"),
        "filling": _count(_USED, ">= $filling < $critical"),
        "online": _count(_USED, "< $filling"),
    },
    "broker_counts": {"unknown": _count(_ANSWERS, "== 0"), "online": _count(_ANSWERS, "== 1")},
    "clusters": {
        "brokers": f"count by (cluster) ({_ANSWERS})",
        "log_dirs": f"count by (cluster) ({_ONLINE})",
        "used_ratio": f"max by (cluster) ({_USED})",
    },
    "time_to_full": {
        "used_ratio": f"{_USED} and {_FULL_IN_MS}",
        "full_in_ms": _FULL_IN_MS,
        "growth_bytes_per_s": f"{_GROWTH} and {_FULL_IN_MS}",
    },
    "worst_directory": {
        "used_ratio": f"max({_USED})",
        "usable_bytes": "min(logdirwatch_log_dir_usable_bytes{$where})",
        "full_in_ms": f"min({_FULL_IN_MS})",
        "growth_bytes_per_s": f"max({_GROWTH})",
    },
    "directories_list": {
        "used_ratio": _USED,
        "usable_bytes": f"min by ({_PLACE}) (logdirwatch_log_dir_usable_bytes{{$where}})",
        "total_bytes": f"max by ({_PLACE}) (logdirwatch_log_dir_total_bytes{{$where}})",
        "full_in_ms": _FULL_IN_MS,
        "growth_bytes_per_s": _GROWTH,
        "replica_count": f"max by ({_PLACE}) (logdirwatch_log_dir_replicas{{$where}})",
    },
    "use_over_time": {"used_ratio": _USED},
    "levels": {
        "status": f"({_USED} >= bool $filling) + ({_USED} >= bool $critical) + ({_USED} >= bool $saturated) "
        f"or 4 + ({_ONLINE} == 0)",
    },
    "spread": {"used_ratio": _USED},
}
LEVELS = ("online", "filling", "critical", "saturated", "offline")
"""The words of the numbers of ``levels``."""
ABOUT = {
    "levels": "The status of each log directory by its bytes, without the forecast. A gap means that nobody knew.",
    "spread": "How many log directories are how full.",
}
OVER_TIME: Mapping[str, tuple[Panel, ...]] = {
    "fleet": (
        Panel(Kind.STATES, "Every log directory over time", "levels", height=16),
        Panel(Kind.HEAT, "How full the log directories are", "spread", height=10),
    ),
    "directory": (Panel(Kind.STATES, "Status over time", "levels", 12, 10),),
}


def boards() -> Iterator[Board]:
    """Yield the boards that Prometheus can answer, with the panels that it can."""
    for board in BOARDS:
        if board.name in OVER_TIME:
            panels = tuple(panel for panel in board.panels if panel.query in QUERIES)
            yield replace(board, panels=(*panels, *OVER_TIME[board.name]), marks=None, time=("now-24h", "now"))


def dashboard(board: Board, limits: Limits) -> dict[str, Any]:
    """Return a dashboard's JSON, ready to be imported or provisioned."""
    built = begun(board).with_variable(builders.DatasourceVariable(INPUT).label("Prometheus").type(NAME))
    for name, has_all in board.variables.items():
        built.with_variable(_variable(board, name, has_all=has_all))
    for number, panel in enumerate(board.panels, start=1):
        built.with_panel(_made(panel, board, limits).id(number))
    version = {"type": "grafana", "id": "grafana", "name": "Grafana", "version": GRAFANA_VERSION}
    plugin = {"type": "datasource", "id": NAME, "name": "Prometheus", "version": "1.0.0"}
    chosen = {"name": INPUT, "label": "Prometheus", "type": "datasource", "pluginId": NAME, "pluginName": "Prometheus"}
    return {"__inputs": [chosen], "__requires": [version, plugin], **built.build().to_json()}


def _made(panel: Panel, board: Board, limits: Limits) -> Builder:
    names = QUERIES[panel.query]
    built = (
        STYLES[panel.kind](limits)
        .title(panel.title)
        .description(ABOUT.get(panel.query) or sql.description(panel.query))
        .datasource(SOURCE)
        .span(panel.width)
        .height(panel.height)
        .no_value(panel.empty)
        .mappings(_words() if panel.kind is Kind.STATES else fields.usual_mappings())
    )
    for ref, (column, query) in zip("ABCDEF", names.items(), strict=False):
        built.with_target(TargetBuilder(_target(panel.kind, ref, column, _filled(query, board, limits))))
    if panel.kind is Kind.LISTING:
        renamed = {f"Value #{ref}": column for ref, column in zip("ABCDEF", names, strict=False)}
        built.with_transformation(model.DataTransformerConfig(id_val="merge", options={}))
        built.with_transformation(
            model.DataTransformerConfig(
                id_val="organize", options={"excludeByName": {"Time": True}, "renameByName": renamed}
            )
        )
        with_columns(built, panel.kind, ("cluster", "broker", "log_dir", *names), limits)
        built.override_by_name("log_dir", [changed("links", [_LINK])])
    elif panel.kind is Kind.NUMBERS:
        with_columns(built, panel.kind, tuple(names), limits)
    return built


_LINK = {
    "title": "Go there",
    "url": "/d/logdirwatch-directory?var-cluster=${__data.fields.cluster:percentencode}"
    "&var-broker=${__data.fields.broker:percentencode}&var-log_dir=${__value.raw:percentencode}",
}


def _words() -> list[Any]:
    options = {
        str(level): model.ValueMappingResult(text=word, color=fields.STATUSES[word], index=level)
        for level, word in enumerate(LEVELS)
    }
    return [model.ValueMap(options=options), *fields.usual_mappings()]


def _target(kind: Kind, ref: str, column: str, query: str) -> dict[str, Any]:
    is_now = kind in {Kind.NUMBERS, Kind.LISTING}
    legend = "{{cluster}} {{broker}} {{log_dir}}" if not is_now else column
    return {
        "refId": ref,
        "datasource": SOURCE,
        "expr": query,
        "instant": is_now,
        "range": not is_now,
        "format": "table" if kind is Kind.LISTING else "time_series",
        "legendFormat": legend,
    }


def _filled(query: str, board: Board, limits: Limits) -> str:
    ratios = {
        "filling": limits.filling_ratio,
        "critical": limits.critical_ratio,
        "saturated": limits.saturated_ratio,
    }
    chosen = _chosen(board)
    # A broker has no directory.
    where = ",".join(text for name, text in chosen.items() if name != "log_dir" or "log_dir_" in query)
    return Template(query).substitute(where=where, cluster=chosen["cluster"], **ratios)


def _chosen(board: Board) -> dict[str, str]:
    """Return a matcher for each variable of a board. Grafana's plugin escapes a value that names no format."""
    return {name: f'{name}{"=~" if has_all else "="}"${{{name}}}"' for name, has_all in board.variables.items()}


def _variable(board: Board, name: str, *, has_all: bool) -> builders.QueryVariable:
    before = takewhile(lambda matcher: not matcher.startswith(name), _chosen(board).values())
    built = (
        builders.QueryVariable(name)
        .label({"log_dir": "directory"}.get(name, name))
        .datasource(SOURCE)
        .query(f"label_values(logdirwatch_log_dir_online{{{','.join(before)}}}, {name})")
        .refresh(model.VariableRefresh.ON_TIME_RANGE_CHANGED)
        .sort(model.VariableSort.NATURAL_ASC)
        .include_all(has_all)
    )
    if has_all:
        built.all_value(".*").current(model.VariableOption(selected=True, text="All", value="$__all"))
    return built
