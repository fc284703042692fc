"""``logdirwatch backtest``: the alerts that other settings would have raised, from stored samples or Prometheus."""

import itertools
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Annotated, Any

import msgspec
import typer
import yaml
from pydantic import ValidationError

from logdirwatch.cli.reading.prometheus.replay import PrometheusHistory
from logdirwatch.cli.reading.prometheus.server import Server, Steps
from logdirwatch.cli.reading.records import console, now_ms
from logdirwatch.cli.reading.tables.opening import table_reader
from logdirwatch.cli.reading.tables.reader import TableReader
from logdirwatch.config.section import DAY_MS, HOUR_MS
from logdirwatch.detect.backtest import replay
from logdirwatch.detect.settings import DetectSettings, Thresholds
from logdirwatch.detect.state.broker_state import BrokerMemory
from logdirwatch.errors import UserError
from logdirwatch.model.records import AlertRecord
from logdirwatch.report.backtest import Compared, Fired, comparison, fired, view
from logdirwatch.report.stored import SOURCE, Row, observations
from logdirwatch.settings import refused_option
from logdirwatch.store.schema.definitions import LOG_DIR_SAMPLES
from logdirwatch.store.sql import quoted
from logdirwatch.text.units import written_bytes, written_ms
from logdirwatch.text.words import did_you_mean


@dataclass(frozen=True)
class Range:
    """The stored samples to replay: [``from_ms``, ``to_ms``) and, if named, one cluster."""

    from_ms: int
    to_ms: int
    cluster: str | None


def backtest(
    ctx: typer.Context,
    from_: Annotated[
        str, typer.Option("--from", help="Start, such as 2026-11-20T22:00 (UTC), or 24h for 24 hours ago.")
    ],
    to: Annotated[str, typer.Option(help="End, in the same form; default: now.")] = "0h",
    changed: Annotated[
        list[str] | None, typer.Option("--set", help="A setting of detect, such as filling_ratio=0.7; may be repeated.")
    ] = None,
    cluster: Annotated[str | None, typer.Option(help="Show only this cluster.")] = None,
    prometheus: Annotated[
        str | None,
        typer.Option(
            help="Read the history of this Prometheus server instead, such as http://prometheus:9090, and compare "
            "with rules over free space. PROMETHEUS_TOKEN is its bearer token."
        ),
    ] = None,
    select: Annotated[
        str | None, typer.Option(help="With --prometheus: which series, such as 'mountpoint=~\"/data.*\"'.")
    ] = None,
    capacity: Annotated[
        str | None, typer.Option(help="With --prometheus: size of a broker's disks; the JMX exporter does not tell it.")
    ] = None,
    step: Annotated[str, typer.Option(help="With --prometheus: time between two samples.")] = "30m",
    rules: Annotated[
        list[str] | None,
        typer.Option("--rule", help="With --prometheus: a rule of yours to compare, in PromQL; may be repeated."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON alert per line.")] = False,
) -> None:
    """Replay stored samples through the state machine and print the alerts it would have raised, and when.

    Without --set the present settings are used; with it they are replayed too, for comparison. Alerts about the whole
    cluster and about silence are left out, and past maintenance has no effect. With --prometheus only the alerts about
    space are shown.
    """
    settings = ctx.obj.settings
    chosen = Range(time_ms(from_, now_ms()), time_ms(to, now_ms()), cluster)
    if chosen.from_ms >= chosen.to_ms:
        raise UserError("backtest: --from must be before --to", exit_code=2)
    if prometheus is None and (select or capacity or rules):
        raise UserError("backtest: --select, --capacity and --rule go with --prometheus", exit_code=2)
    other = with_changes(settings.detect, changed or [])
    if prometheus is None:
        judge = _of_tables(table_reader(settings), chosen)
    else:
        server = Server(prometheus, os.environ.get("PROMETHEUS_TOKEN"))
        size = None if capacity is None else _written("--capacity", written_bytes(capacity), capacity)
        times = _steps(chosen, _written("--step", written_ms(step), step))
        judge = PrometheusHistory(server, times, select, cluster, size, tuple(rules or ())).judge
    found, rows = judge(other)
    if as_json:
        for line in (*found, *rows):
            typer.echo(msgspec.json.encode(line))
        return
    terminal = console()
    terminal.print(view(found, terminal.width)) if found else typer.echo("No alert would have fired.")
    if rows:
        terminal.print(comparison(rows, terminal.width))
    if changed:
        _compare(found, judge(settings.detect)[0])


Judge = Callable[[DetectSettings], tuple[list[Fired], list[Compared]]]


def _of_tables(reader: TableReader, chosen: Range) -> Judge:
    return lambda detect: (fired(run(reader, chosen, detect)), [])


def _written(option: str, value: int | None, text: str) -> int:
    if not value:
        raise UserError(f"backtest: {option} {text}: write a number with its unit, such as 15m or 2TiB", exit_code=2)
    return value


def _steps(chosen: Range, step_ms: int) -> Steps:
    """Return the times to ask Prometheus for, at whole steps: its hours are those of the forecast."""
    return Steps(chosen.from_ms - chosen.from_ms % step_ms, chosen.to_ms, step_ms)


def _compare(found: list[Fired], present: list[Fired]) -> None:
    counts = [Counter(str(alert.severity) for alert in alerts) for alerts in (found, present)]
    texts = [", ".join(f"{count} {severity}" for severity, count in sorted(c.items())) or "none" for c in counts]
    typer.echo(f"With --set: {len(found)} alerts ({texts[0]}). As configured: {len(present)} ({texts[1]}).")


def time_ms(text: str, at_ms: int) -> int:
    """Return epoch milliseconds from ``2026-11-20T22:00`` (UTC without an offset) or a duration such as ``24h`` ago."""
    units = {"h": HOUR_MS, "d": DAY_MS, "m": HOUR_MS // 60}
    if text[:-1].isdecimal() and text[-1] in units:
        return at_ms - int(text[:-1]) * units[text[-1]]
    try:
        told = datetime.fromisoformat(text.replace("Z", "+00:00"))
    except ValueError:
        raise UserError(
            f"backtest: {text!r} is not a time; write 2026-11-20T22:00 (UTC), or 24h, 90m or 7d for that long ago",
            exit_code=2,
        ) from None
    return int((told if told.tzinfo else told.replace(tzinfo=timezone.utc)).timestamp() * 1000)


_SETTABLE = (*Thresholds.model_fields, *DetectSettings.model_fields)


def with_changes(settings: DetectSettings, changes: Iterable[str]) -> DetectSettings:
    """Return the settings with ``name=value`` changes; a threshold needs no prefix. Raises UserError if it is wrong."""
    content: dict[str, Any] = settings.model_dump()
    for change in changes:
        name, sign, value = change.partition("=")
        if not sign:
            raise UserError(f"backtest: --set {change}: expected name=value", exit_code=2)
        if name not in _SETTABLE:
            raise UserError(f"backtest: --set {name}: there is no such key{did_you_mean(name, _SETTABLE)}", exit_code=2)
        is_threshold = name in Thresholds.model_fields
        (content["thresholds"] if is_threshold else content)[name] = yaml.safe_load(value)
    try:
        return DetectSettings.model_validate(content)
    except ValidationError as error:
        place = ".".join(map(str, error.errors()[0]["loc"]))
        raise refused_option(f"backtest: --set {place}", error) from None


def run(reader: TableReader, chosen: Range, settings: DetectSettings) -> Iterator[AlertRecord]:
    """Yield every alert revision that ``settings`` would have written, broker by broker."""
    by_broker = itertools.groupby(stored(reader, chosen), key=lambda row: (row["cluster"], row["broker"]))
    for (cluster, broker), rows in by_broker:
        memory = BrokerMemory(cluster=cluster, broker=broker)
        for outcome in replay(memory, observations(rows), settings, chosen.to_ms):
            yield from outcome.alerts


def stored(reader: TableReader, chosen: Range) -> Iterator[Row]:
    """Return the stored rows in replay order; raises UserError when the table is missing."""
    where = f"timestamp_ms >= {chosen.from_ms} AND timestamp_ms < {chosen.to_ms}"
    if chosen.cluster is not None:
        where += f" AND cluster = {quoted(chosen.cluster)}"
    query = f"SELECT * FROM t WHERE {where} ORDER BY cluster, broker, {', '.join(SOURCE)}"  # noqa: S608 - quoted above
    rows = reader.stream(LOG_DIR_SAMPLES.name, query)
    if rows is None:
        raise UserError(f"backtest: no table {LOG_DIR_SAMPLES.name} {reader.place.at} yet: no samples are stored")
    return rows
