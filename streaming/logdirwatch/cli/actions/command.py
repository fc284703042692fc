"""``logdirwatch actions``: the recommended actions, and decisions on them."""

import contextlib
import json
from typing import Annotated

import msgspec
import typer

from logdirwatch.cli import deciding
from logdirwatch.cli.actions.deciding import ActionId, every_revision, new_decision, read_action
from logdirwatch.cli.deciding import By, Reason
from logdirwatch.cli.reading.records import console, follow_into, now_ms, read_into, telemetry, waiting_for_kafka
from logdirwatch.errors import UserError
from logdirwatch.model.records import ActionRecord
from logdirwatch.model.vocabulary import Decision
from logdirwatch.report.actions.accuracy import Record, accuracy, as_data
from logdirwatch.report.actions.accuracy import view as track_record_view
from logdirwatch.report.actions.listing import details, line, listed, view
from logdirwatch.report.folding import latest_actions
from logdirwatch.text.printable import printable

commands = typer.Typer(invoke_without_command=True)


@commands.callback()
def actions(
    ctx: typer.Context,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Keep printing new revisions until Ctrl-C.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON record per line.")] = False,
    everything: Annotated[
        bool, typer.Option("--all", help="Include closed actions: done, failed, rejected, ...")
    ] = False,
    track_record: Annotated[
        bool,
        typer.Option("--accuracy", help="Show how actions ended, and their expected against their observed effect."),
    ] = False,
) -> None:
    """Show the open actions that can be done now, those of the most severe alert first.

    What must not be done now is named under the action that unblocks it, or at the end.

    `actions show ID` prints one action in full, with its commands ready to paste; only `apply ID` executes one.
    With --follow every new revision is one line, cut off at the width of the terminal.
    """
    if ctx.invoked_subcommand is not None:
        return
    if track_record and (follow or everything):
        raise UserError("actions: --accuracy cannot be combined with --follow or --all", exit_code=2)
    cluster = telemetry(ctx.obj)
    if track_record:
        _print_accuracy(accuracy(every_revision(ctx.obj.settings, cluster)), as_json=as_json)
        return
    with waiting_for_kafka():
        fold = read_into(latest_actions(), cluster)
    _print(listed(fold.records, everything=everything), as_json=as_json)
    if follow:
        with contextlib.suppress(KeyboardInterrupt):
            for action in follow_into(fold, cluster):
                _print_one(action, as_json=as_json)


@commands.command()
def show(ctx: typer.Context, identity: ActionId) -> None:
    """Print one action in full: reason, effect, preconditions, commands ready to paste, and rollback."""
    typer.echo(details(read_action(ctx.obj, identity), now_ms()), nl=False)


@commands.command()
def check(ctx: typer.Context, identity: ActionId) -> None:
    """Check whether an action still holds on the live cluster. Exit code 1 if it does not, with one reason per line."""
    # The planner takes a moment to import, which the list of actions should not pay for.
    from logdirwatch.cli.actions import check as checking  # noqa: PLC0415

    checking.check(ctx.obj, identity)


@commands.command()
def accept(ctx: typer.Context, identity: ActionId, by: By, reason: Reason) -> None:
    """Record that an action is accepted. Nothing is executed; the decision says that somebody carries it out."""
    _decide(ctx, identity, Decision.ACCEPT, by, reason)


@commands.command()
def reject(ctx: typer.Context, identity: ActionId, by: By, reason: Reason) -> None:
    """Record that an action is rejected. It is not proposed again for its alert unless the severity rises."""
    _decide(ctx, identity, Decision.REJECT, by, reason)


def _decide(ctx: typer.Context, identity: str, decision: Decision, by: str, reason: str) -> None:
    said = deciding.signed(by, reason)
    action = read_action(ctx.obj, identity)
    record = new_decision(action, decision, said, now_ms())
    deciding.send(telemetry(ctx.obj), [record])
    typer.echo(printable(f"{decision}: {action.kind} {action.action_id}, by {record.by}: {record.reason}"))


def _print_accuracy(records: list[Record], *, as_json: bool) -> None:
    if as_json:
        for record in as_data(records):
            typer.echo(json.dumps(record))
    elif records:
        terminal = console()
        terminal.print(track_record_view(records, terminal.width))
    else:
        typer.echo("No action has been recommended yet.")


def _print(shown: list[ActionRecord], *, as_json: bool) -> None:
    if as_json:
        for action in shown:
            _print_one(action, as_json=True)
    elif shown:
        terminal = console()
        terminal.print(view(shown, now_ms(), terminal.width))
        typer.echo("\nShow one in full, with its commands: logdirwatch actions show ID")
    else:
        typer.echo("No open actions. Closed ones: logdirwatch actions --all. Open alerts: logdirwatch alerts")


def _print_one(action: ActionRecord, *, as_json: bool) -> None:
    if as_json:
        typer.echo(msgspec.json.encode(action))
    else:
        console().print(line(action), no_wrap=True, overflow="ellipsis")
