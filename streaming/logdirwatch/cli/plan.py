"""``logdirwatch plan``: balance and evacuation of a whole cluster, on a model in a file."""

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer

from logdirwatch.cli.reading import console
from logdirwatch.errors import UserError
from logdirwatch.plan.balance.planner import ClusterPlan, make_plan
from logdirwatch.plan.balance.reading import read_model
from logdirwatch.plan.balance.summary import summarise
from logdirwatch.plan.balance.task import TOLERANCE_RATIO, Task, parse_mode
from logdirwatch.plan.balance.writing import reassignment, steps, write_model
from logdirwatch.plan.commands import reassignment_lines
from logdirwatch.report.cluster_plan import view


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("plan")(plan)


def plan(
    ctx: typer.Context,
    model: Annotated[Path, typer.Option(help="The cluster, a CSV with a line a replica; see the documentation.")],
    mode: Annotated[str, typer.Option(help="balance-disks, balance-brokers, balance-all or evacuate:BROKER:DISK.")],
    out: Annotated[Path, typer.Option(help="Write the cluster as it will be, in the same form.")],
    reassignment_to: Annotated[
        Path | None, typer.Option("--reassignment", help="Write the JSON for kafka-reassign-partitions.")
    ] = None,
    steps_to: Annotated[
        Path | None, typer.Option("--steps", help="Write the waves in order, each with its own reassignment.")
    ] = None,
    tolerance: Annotated[
        float, typer.Option(min=0.01, max=0.5, help="How far from the mean fill is good enough, as a share of it.")
    ] = TOLERANCE_RATIO,
    as_json: Annotated[bool, typer.Option("--json", help="The summary as one JSON object, for programs.")] = False,
) -> None:
    """Plan the balance of a cluster, or the evacuation of a directory, on a model, without Kafka or Spark.

    balance-disks evens out the directories of each broker, balance-brokers the brokers, balance-all every directory
    with every other. No directory is filled above plan.destination_max_ratio on the way, copies under way counted.
    """
    task = Task(parse_mode(mode), ctx.obj.settings.plan, tolerance)
    begun_s = time.perf_counter()
    before = read_model(model)
    loaded_s = time.perf_counter()
    made = make_plan(before, task)
    planned_s = time.perf_counter()
    _write(out, lambda: write_model(made.after, out))
    if reassignment_to is not None:
        _write_text(reassignment_to, "\n".join(reassignment_lines(reassignment(made))))
    if steps_to is not None:
        _write_text(steps_to, json.dumps(steps(made), indent=1))
    _print(
        made, {"load_ms": round(1000 * (loaded_s - begun_s)), "plan_ms": round(1000 * (planned_s - loaded_s))}, as_json
    )


def _print(made: ClusterPlan, took: dict[str, int], as_json: bool) -> None:
    summary = summarise(made)
    if as_json:
        typer.echo(msgspec.json.encode({**msgspec.to_builtins(summary), **took}))
        return
    terminal = console()
    terminal.print(view(summary, terminal.width))


def _write_text(path: Path, text: str) -> None:
    _write(path, lambda: path.write_text(f"{text}\n", encoding="utf-8"))


def _write(path: Path, write: Callable[[], Any]) -> None:
    try:
        write()
    except OSError as error:
        raise UserError(f"plan: {path} cannot be written: {error.strerror}") from None
