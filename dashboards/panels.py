"""The kinds of panels. What a panel shows follows from the columns of its query, so none needs settings of its own."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, TypeAlias

from grafana_foundation_sdk.builders import common as common_builders
from grafana_foundation_sdk.builders import dashboard as builders
from grafana_foundation_sdk.builders import heatmap, stat, statetimeline, table, timeseries
from grafana_foundation_sdk.models import common
from grafana_foundation_sdk.models import dashboard as model

from dashboards import fields, sql
from dashboards.engines import TABLE, TIME_SERIES, Engine, TargetBuilder
from dashboards.fields import FIELDS, Limits

Builder: TypeAlias = stat.Panel | table.Panel | timeseries.Panel | statetimeline.Panel | heatmap.Panel
WHOLE_WIDTH = 24
# Shorter gaps are what the width of a bucket makes.
GAP_MS = 1_800_000.0
NOWHERE = "nothing is known"

PLACE = "place"
PLACE_URL = "/d/${__data.fields.place:raw}"
LINKED = ("cluster", "broker", "log_dir", "summary", "severity", "status", "reason")
"""The columns whose cells lead to the place of their row, where a query tells it."""


class Kind(Enum):
    """How a panel shows what it found."""

    NUMBERS = "big values side by side, one a column"
    LISTING = "rows, of which words and numbers have their colours"
    LINES = "use over time as lines between the levels, and the band of a forecast"
    BARS = "counts over time as stacked bars, statuses in their colours"
    STATES = "numbers that stand for statuses, over time, a row each"
    HEAT = "how many series had which use, over time"


@dataclass(frozen=True)
class Panel:
    """A panel in words: its kind, the query that it shows, how much room it takes, what it says when it is empty."""

    kind: Kind
    title: str
    query: str
    width: int = WHOLE_WIDTH
    height: int = 8
    empty: str = NOWHERE


@dataclass(frozen=True)
class Making:
    """What panels are made for: an engine, the variables of their dashboard, the limits of the configuration."""

    engine: Engine
    variables: frozenset[str]
    limits: Limits

    def target(self, query: str, form: str, ref: str = "A") -> dict[str, Any]:
        """Return a query as the plugin stores it."""
        return self.engine.target(self.sql(query), form, ref)

    def sql(self, query: str) -> str:
        """Return a query's text."""
        return sql.rendered(query, self.engine.name, self.variables, self.limits.numbers)


def made(panel: Panel, making: Making) -> Builder:
    """Return a panel for the SDK."""
    form = TIME_SERIES if panel.kind in (Kind.LINES, Kind.BARS) else TABLE
    built = (
        STYLES[panel.kind](making.limits)
        .title(panel.title)
        .description(sql.description(panel.query))
        .datasource(making.engine.data_source)
        .span(panel.width)
        .height(panel.height)
        .no_value(panel.empty)
        .mappings(fields.usual_mappings())
        .with_target(TargetBuilder(making.target(panel.query, form)))
    )
    if form == TABLE:
        with_columns(built, panel.kind, sql.columns(panel.query), making.limits)
    elif label := _label(panel.query):
        built.display_name(f"${{__field.labels.{label}}}")
    return built


def _label(query: str) -> str | None:
    """Return the column that tells the lines of a query apart: of three, behind the time."""
    columns = sql.columns(query)
    return columns[1] if len(columns) == 3 else None


def _numbers(limits: Limits) -> Builder:
    del limits
    return (
        stat.Panel()
        .reduce_options(common_builders.ReduceDataOptions().calcs(["lastNotNull"]).fields("/.*/").values(False))
        .color_mode(common.BigValueColorMode.BACKGROUND_SOLID)
        .graph_mode(common.BigValueGraphMode.NONE)
        .text_mode(common.BigValueTextMode.AUTO)
        .thresholds(_thresholds(((None, fields.GREY),)))
    )


def _listing(limits: Limits) -> Builder:
    del limits
    return table.Panel().cell_height(common.TableCellHeight.SM).filterable(True)


def _lines(limits: Limits) -> Builder:
    built = (
        _series(common.GraphDrawStyle.LINE)
        .unit(fields.RATIO)
        .min(0)
        .max(1)
        .thresholds(_thresholds(limits.steps("use")))
        .thresholds_style(common_builders.GraphThresholdsStyleConfig().mode(common.GraphThresholdsStyleMode.DASHED))
        .insert_nulls(GAP_MS)
    )
    for name, style in _BAND.items():
        properties = [changed(key, value) for key, value in style.items()]
        built.override_by_name(name, [changed("displayName", FIELDS[name].title), *properties])
    return built


def _bars(limits: Limits) -> Builder:
    del limits
    built = _series(common.GraphDrawStyle.BARS).unit(fields.NUMBER).min(0).fill_opacity(80)
    built.stacking(common_builders.StackingConfig().mode(common.StackingMode.NORMAL))
    for word, colour in fields.STATUSES.items():
        built.override_by_regexp(f"/\\b{word}$/", [changed("color", _fixed(colour))])
    return built


def _states(limits: Limits) -> Builder:
    del limits
    return statetimeline.Panel().show_value(common.VisibilityMode.NEVER).row_height(0.9).merge_values(True)


def _heat(limits: Limits) -> Builder:
    del limits
    buckets = common_builders.HeatmapCalculationOptions().y_buckets(
        common_builders.HeatmapCalculationBucketConfig().value("0.05")
    )
    return heatmap.Panel().calculate(True).calculation(buckets).unit(fields.RATIO).min(0).max(1)


STYLES: Mapping[Kind, Callable[[Limits], Builder]] = {
    Kind.NUMBERS: _numbers,
    Kind.LISTING: _listing,
    Kind.LINES: _lines,
    Kind.BARS: _bars,
    Kind.STATES: _states,
    Kind.HEAT: _heat,
}


def _series(style: common.GraphDrawStyle) -> timeseries.Panel:
    return (
        timeseries.Panel()
        .draw_style(style)
        .interval("1m")
        .legend(
            common_builders.VizLegendOptions()
            .show_legend(True)
            .display_mode(common.LegendDisplayMode.LIST)
            .placement(common.LegendPlacement.BOTTOM)
        )
        .tooltip(common_builders.VizTooltipOptions().mode(common.TooltipDisplayMode.MULTI))
    )


def _fixed(colour: str) -> dict[str, str]:
    return {"mode": "fixed", "fixedColor": colour}


_BAND: Mapping[str, Mapping[str, object]] = {
    "forecast": {
        "custom.lineStyle": {"fill": "dash", "dash": [10, 10]},
        "custom.lineWidth": 2,
        "color": _fixed(fields.BLUE),
    },
    "slowest": {"custom.lineWidth": 0, "color": _fixed("light-blue")},
    "fastest": {
        "custom.lineWidth": 0,
        "custom.fillBelowTo": FIELDS["slowest"].title,
        "custom.fillOpacity": 20,
        "color": _fixed("light-blue"),
    },
}


def with_columns(built: Builder, kind: Kind, names: Sequence[str], limits: Limits) -> None:
    """Give each column its title, unit and colours."""
    for name in names:
        properties = _usual(name, limits)
        if kind is Kind.LISTING:
            properties += _in_a_row(name)
        if PLACE in names and name in LINKED:
            properties.append(changed("links", [{"title": "Go there", "url": PLACE_URL, "targetBlank": False}]))
        built.override_by_name(name, properties)


def _usual(name: str, limits: Limits) -> list[model.DynamicConfigValue]:
    field = FIELDS[name]
    found = [changed("displayName", field.title)]
    if mappings := fields.own_mappings(field):
        found.append(changed("mappings", mappings))
    if field.unit:
        found.append(changed("unit", field.unit))
    if field.unit in (fields.RATIO, fields.BYTES, fields.SPAN):
        found.append(changed("decimals", 1))
    if field.colouring:
        steps = [_step(begin, colour) for begin, colour in limits.steps(field.colouring)]
        found.append(changed("thresholds", model.ThresholdsConfig(model.ThresholdsMode.ABSOLUTE, steps)))
    return found


def _in_a_row(name: str) -> list[model.DynamicConfigValue]:
    field, found = FIELDS[name], []
    if field.colouring or field.is_word or field.is_cell:
        is_loud = field.is_cell or name in ("severity", "status")
        found.append(
            changed("custom.cellOptions", {"type": "color-background" if is_loud else "color-text", "mode": "basic"})
        )
    if field.width:
        found.append(changed("custom.width", field.width))
    if name == PLACE:
        found.append(changed("custom.hidden", True))
    return found


def changed(name: str, value: object) -> model.DynamicConfigValue:
    """Return one property of a column."""
    return model.DynamicConfigValue(id_val=name, value=value)


def _thresholds(steps: fields.Steps) -> builders.ThresholdsConfig:
    found = [_step(begin, colour) for begin, colour in steps]
    return builders.ThresholdsConfig().mode(model.ThresholdsMode.ABSOLUTE).steps(found)


def _step(begin: float | None, colour: str) -> model.Threshold:
    return model.Threshold(value=begin, color=colour)
