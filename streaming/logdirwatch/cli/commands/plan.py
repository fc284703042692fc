"""``logdirwatch plan``: balance and evacuation of a whole cluster, and one plan for all its open alerts.

``--apply`` carries a plan out with the code of ``apply``.
"""

import json
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import msgspec
import typer

from logdirwatch.cli.context import Context
from logdirwatch.cli.executing import BY_HAND, execute, has_failed, refuse_beside, say, show
from logdirwatch.cli.reading.plan_source import Found, Source, find
from logdirwatch.cli.reading.records import console, now_ms, telemetry
from logdirwatch.cli.what_if import print_outcome, tried_changes
from logdirwatch.errors import UserError
from logdirwatch.execute import journal
from logdirwatch.execute.begin import begun, planned
from logdirwatch.kafka import clients
from logdirwatch.plan.balance.files import operations, reassignment, steps, write_model
from logdirwatch.plan.balance.from_snapshot import known
from logdirwatch.plan.balance.model.cluster import ClusterModel
from logdirwatch.plan.balance.model.csv_reader import read_model
from logdirwatch.plan.balance.model.task import TOLERANCE_RATIO, Mode, Task, parse_mode
from logdirwatch.plan.balance.planner import ClusterPlan, make_plan
from logdirwatch.plan.balance.summary import About, Cost, Summary, summarise
from logdirwatch.plan.cluster.snapshot import too_old
from logdirwatch.plan.commands.kafka_tools import Tools, reassignment_lines
from logdirwatch.plan.fix import plan as fix_plan
from logdirwatch.plan.fix.plan import Fix
from logdirwatch.plan.fix.planner import fix
from logdirwatch.plan.settings import PlanSettings
from logdirwatch.plan.what_if.parse import EXAMPLES
from logdirwatch.report.actions import plans
from logdirwatch.text.printable import printable
from logdirwatch.text.words import counted, some_of

FIX = "fix"
SOMETHING_TO_DO = 3
"""The exit code of a plan that is not empty, with --exit-code; 1 and 2 mean that there is no plan."""


class Files(NamedTuple):
    """The output files."""

    after: Path | None
    reassignment: Path | None
    steps: Path | None


class _Before(NamedTuple):
    """The input of a plan; ``about`` and ``tools`` only for a real cluster."""

    model: ClusterModel
    limits: PlanSettings
    about: About | None = None
    tools: Tools | None = None


def _file(path: Path | None) -> Path | None:
    """Return the path of an output file; raises UserError before anything is planned if it cannot be one."""
    if path is not None and (path.is_dir() or not path.parent.is_dir()):
        what = "is a folder" if path.is_dir() else f"there is no folder {path.parent}"
        raise UserError(printable(f"plan: {path}: {what}"), exit_code=2)
    return path


def plan(
    ctx: typer.Context,
    mode: Annotated[
        str | None,
        typer.Option(
            help="balance-disks, balance-brokers, balance-all, evacuate:BROKER:DISK or fix.", show_default=False
        ),
    ] = None,
    what_if: Annotated[
        list[str] | None,
        typer.Option(
            "--what-if",
            metavar="CHANGE",
            help=f"Try a change; may be repeated. One such as {EXAMPLES}. --mode is not required then.",
        ),
    ] = None,
    model: Annotated[
        Path | None, typer.Option(help="Plan from this CSV file with one line per replica; see the documentation.")
    ] = None,
    cluster: Annotated[
        str | None, typer.Option(help="The cluster; required without --model if there are several.")
    ] = None,
    live: Annotated[
        bool, typer.Option("--live", help="Read the cluster from its brokers instead of the tables.")
    ] = False,
    tables: Annotated[str | None, typer.Option(help="The path of the tables; overrides tables.path.")] = None,
    bootstrap_server: Annotated[
        str | None,
        typer.Option(help="Read the cluster from the brokers at this address, like --live; needs no configuration."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(callback=_file, help="Write the resulting cluster, in the format of --model.")
    ] = None,
    reassignment_to: Annotated[
        Path | None,
        typer.Option("--reassignment", callback=_file, help="Write the JSON for kafka-reassign-partitions."),
    ] = None,
    steps_to: Annotated[
        Path | None,
        typer.Option("--steps", callback=_file, help="Write the waves in order, each with its own reassignment."),
    ] = None,
    tolerance: Annotated[
        float, typer.Option(min=0.01, max=0.5, help="Accepted distance from the mean use, as a share of it.")
    ] = TOLERANCE_RATIO,
    as_json: Annotated[bool, typer.Option("--json", help="Print the summary as one JSON object.")] = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="With --what-if: print one line per log directory.")] = False,
    apply: Annotated[
        bool, typer.Option("--apply", help="Carry the plan out on the cluster: show it, ask, do it, verify it.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="With --apply: show every call, change nothing.")] = False,
    exit_code: Annotated[bool, typer.Option("--exit-code", help="Exit with 3 if there is something to do.")] = False,
) -> None:
    """Plan the balance of a cluster, the evacuation of a directory, or what all open alerts need.

    The cluster is read from the tables, with --live from its brokers, or from a file. balance-disks evens out the
    directories of each broker, balance-brokers the brokers, balance-all all directories of the cluster; fix is one
    plan for all open alerts, the most urgent first. No directory is filled above plan.destination_max_ratio at any
    time, including running copies; nothing is moved to a failed, cordoned, absent or unknown directory. Nothing is
    executed without --apply, which reads the cluster from its brokers and asks; exit code 1 if it got stuck.

    With --what-if: when each directory is full before and after some changes, and what has to be copied. New disks are
    filled from the others of their broker, or as --mode says.
    """
    if as_csv and (as_json or not what_if):
        raise UserError("plan: --csv goes with --what-if; --json and --csv cannot be combined", exit_code=2)
    if what_if:
        _refuse_with_changes(
            model, live or bootstrap_server is not None or apply or dry_run, out or reassignment_to or steps_to
        )
        tried = tried_changes(ctx.obj, Source(cluster, False, tables, None), what_if, mode)
        print_outcome(tried, now_ms(), as_json=as_json, as_csv=as_csv)
        return
    if mode is None:
        raise UserError("plan: name a --mode, or a change with --what-if", exit_code=2)
    if apply or dry_run:
        _refuse_applying(mode, model, bootstrap_server, apply=apply, as_json=as_json)
        live = True
    source, files = Source(cluster, live, tables, bootstrap_server), Files(out, reassignment_to, steps_to)
    _refuse_both(model, source)
    if mode == FIX:
        is_needed = _fix(ctx.obj, model, source, files, as_json=as_json)
        _end(is_needed=is_needed and exit_code)
        return
    chosen = parse_mode(mode)
    begun_s = time.perf_counter()
    before = _before(ctx.obj, model, source, chosen, is_applied=apply)
    loaded_s = time.perf_counter()
    made = make_plan(before.model, Task(chosen, before.limits, tolerance))
    planned_s = time.perf_counter()
    if files.after is not None:
        after = files.after
        _write(after, lambda: write_model(made.after, after))
    _write_moves(files, lambda: reassignment(made), lambda: steps(made, before.tools))
    took = {"load_ms": round(1000 * (loaded_s - begun_s)), "plan_ms": round(1000 * (planned_s - loaded_s))}
    summary = summarise(made, before.about)
    _print(summary, took, as_json=as_json)
    if apply and before.about is not None and summary.moved.replicas > 0:
        apply_plan(ctx.obj, made, before.about.cluster, summary.moved, dry_run=dry_run)
        return
    _end(is_needed=summary.moved.replicas > 0 and exit_code)


def _refuse_with_changes(model: Path | None, is_live: bool, file: Path | None) -> None:
    """Raise UserError for options that ``--what-if`` does not support."""
    if model is not None or is_live:
        raise UserError(
            "plan: --what-if needs the growth that only the tables have: it cannot be combined with --model, --live, "
            "--apply or --bootstrap-server",
            exit_code=2,
        )
    if file is not None:
        raise UserError("plan: --what-if writes no files: use --json or --csv", exit_code=2)


def _end(*, is_needed: bool) -> None:
    if is_needed:
        raise typer.Exit(SOMETHING_TO_DO)


def _refuse_applying(
    mode: str, model: Path | None, bootstrap_server: str | None, *, apply: bool, as_json: bool
) -> None:
    if not apply:
        raise UserError("plan: --dry-run goes with --apply; without it nothing is executed anyway", exit_code=2)
    if mode == FIX:
        raise UserError("plan: --mode fix names actions; carry each out with: logdirwatch apply ID", exit_code=2)
    if model is not None or bootstrap_server is not None or as_json:
        raise UserError(
            "plan: --apply carries out a plan for a cluster of the configuration, and talks to a person: it cannot be "
            "combined with --model, --bootstrap-server or --json",
            exit_code=2,
        )


def _refuse_both(model: Path | None, source: Source) -> None:
    if model is not None and source != Source(None, False, None, None):
        raise UserError(
            "plan: --model is the whole cluster; it cannot be combined with --cluster, --live, ...", exit_code=2
        )
    if source.tables is not None and (source.is_live or source.bootstrap_server is not None):
        raise UserError("plan: --tables and --live cannot be combined", exit_code=2)


def _before(context: Context, model: Path | None, source: Source, mode: Mode, *, is_applied: bool) -> _Before:
    if model is not None:
        return _Before(read_model(model), context.settings.plan.for_cluster(""))
    # Alerts and accepted actions are on the telemetry topics, which only --apply needs anyway.
    found = find(context, source, needs_alerts=is_applied)
    if is_applied and (running := found.facts.layout.reassigned):
        raise UserError(f"plan: {some_of(running, 3)} is being reassigned; apply a plan when nothing else moves")
    seen = known(found.judged, mode, found.policy, now_ms())
    return _Before(seen.model, found.policy.limits, seen.about, found.policy.tools)


def _fix(context: Context, model: Path | None, source: Source, files: Files, *, as_json: bool) -> bool:
    """Print the plan for all open alerts; return whether there are any."""
    if model is not None or files.after is not None:
        raise UserError(
            "plan: --mode fix needs the open alerts: it cannot be combined with --model or --out", exit_code=2
        )
    found = find(context, source, needs_alerts=True)
    made = _fixed(found, now_ms())
    if files.reassignment is not None and (mixed := fix_plan.mixed_brokers(made)):
        where = f"broker{'s' if len(mixed) > 1 else ''} {some_of(mixed)}"
        raise UserError(
            f"plan: replicas move within {where} and new ones arrive there: not in one reassignment, whose limit would "
            "keep the new ones where Kafka makes them; --steps FILE writes them one after the other"
        )
    _write_moves(files, lambda: fix_plan.reassignment(made), lambda: fix_plan.steps(made))
    if as_json:
        typer.echo(msgspec.json.encode(plans.as_data(made)))
    elif not made.remedies:
        typer.echo(f"Cluster {found.facts.cluster} has no open alerts: there is nothing to fix.")
    else:
        terminal = console()
        terminal.print(plans.view(made, now_ms(), terminal.width))
    return bool(made.remedies)


def _fixed(found: Found, at_ms: int) -> Fix:
    why = too_old(found.facts, found.policy, at_ms)
    if why is not None and found.alerts:
        raise UserError(f"plan: {why}: are logdirwatch collect and stream running? --live reads from the brokers")
    return fix(found.alerts, found.actions, found.facts, found.policy, at_ms)


def _print(summary: Summary, took: Mapping[str, int], *, as_json: bool) -> None:
    if as_json:
        typer.echo(msgspec.json.encode({**msgspec.to_builtins(summary), **took}))
        return
    terminal = console()
    terminal.print(plans.plan_view(summary, terminal.width, now_ms()))


def _write_moves(files: Files, moves: Callable[[], Mapping[str, Any]], waves: Callable[[], Mapping[str, Any]]) -> None:
    if files.reassignment is not None:
        _write_text(files.reassignment, "\n".join(reassignment_lines(moves())))
    if files.steps is not None:
        _write_text(files.steps, json.dumps(waves(), indent=1))


def _write_text(path: Path, text: str) -> None:
    _write(path, lambda: path.write_text(f"{text}\n", encoding="utf-8"))


def _write(path: Path, write: Callable[[], Any]) -> None:
    try:
        write()
    except OSError as error:
        raise UserError(f"plan: {path} cannot be written: {error.strerror}") from None


def apply_plan(context: Context, plan: ClusterPlan, cluster: str, cost: Cost, *, dry_run: bool) -> None:
    """Show a plan's calls, ask, and carry it out; exit code 1 if nothing was done, or it got stuck.

    ``apply --resume`` and ``--undo`` work with the id that it prints.
    """
    if not context.debug:
        clients.quiet_client_logs()
    noted_at = telemetry(context)
    watched = context.settings.clusters[cluster]
    moves = f"{plan.task.mode}: {counted(cost.replicas, 'replica')}"
    expected = {"needs_ms": cost.needs_ms, "copies_bytes": cost.bytes}
    action = planned(cluster, operations(plan), moves, expected, now_ms())
    record = begun(action, BY_HAND, now_ms())
    if (reason := journal.reason_against(record)) is not None:
        raise UserError(reason)
    refuse_beside(journal.read(noted_at, cluster), record, watched)
    show(record, action)
    if dry_run:
        say("dry run: nothing was changed")
        return
    if not typer.confirm("Do it?", default=False):
        say("nothing was changed")
        raise typer.Exit(1)
    record = msgspec.structs.replace(record, started_at_ms=now_ms(), at_ms=now_ms())
    if has_failed(execute(record, noted_at, watched)):
        raise typer.Exit(1)
