"""``logdirwatch actions``: what to do about the alerts, and what people decide about it."""

import contextlib
import json
from typing import Annotated

import msgspec
import typer

from logdirwatch.cli import deciding
from logdirwatch.cli.actions.check import check
from logdirwatch.cli.actions.export import export
from logdirwatch.cli.actions.lookup import ActionId, every_revision, find_action
from logdirwatch.cli.deciding import By, Reason
from logdirwatch.cli.reading.records import console, follow_into, now_ms, read_into, telemetry
from logdirwatch.errors import UserError
from logdirwatch.model import topics
from logdirwatch.model.records import ActionRecord, DecisionRecord
from logdirwatch.model.vocabulary import ActionStatus, Decision
from logdirwatch.plan.content_hash import content_hash
from logdirwatch.report.actions.accuracy import Record, accuracy, as_data
from logdirwatch.report.actions.accuracy import view as track_record_view
from logdirwatch.report.actions.listing import details, line, listed, view
from logdirwatch.report.folding import latest_actions
from logdirwatch.text.printable import printable

DECIDABLE = {
    Decision.ACCEPT: (ActionStatus.PROPOSED,),
    Decision.REJECT: (ActionStatus.PROPOSED, ActionStatus.ACCEPTED),
}


def register(app: typer.Typer) -> None:
    """Add the command."""
    commands = typer.Typer(invoke_without_command=True)
    commands.callback()(actions)
    commands.command("show")(show)
    commands.command("check")(check)
    commands.command("export")(export)
    commands.command("accept")(accept)
    commands.command("reject")(reject)
    app.add_typer(commands, name="actions")


def actions(
    ctx: typer.Context,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on printing what comes, until Ctrl-C.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="One record per line, for programs.")] = False,
    everything: Annotated[bool, typer.Option("--all", help="Closed actions too: done, failed, rejected, ...")] = False,
    track_record: Annotated[
        bool, typer.Option("--accuracy", help="How actions ended, and what they promised against what was seen.")
    ] = False,
) -> None:
    """Show the open actions, those of the loudest alert first.

    `actions show ID` prints one in full with its commands ready to paste; nothing is ever executed by logdirwatch
    itself. With --follow every further revision is printed once, as it comes.
    """
    if ctx.invoked_subcommand is not None:
        return
    cluster = telemetry(ctx.obj)
    if track_record:
        _print_accuracy(accuracy(every_revision(ctx.obj.settings, cluster)), as_json=as_json)
        return
    fold = latest_actions()
    read_into(fold, cluster, topics.ACTIONS)
    _print(listed(fold.records, everything=everything), as_json=as_json)
    if follow:
        with contextlib.suppress(KeyboardInterrupt):
            for action in follow_into(fold, cluster, topics.ACTIONS):
                _print_one(action, as_json=as_json)


def show(ctx: typer.Context, identity: ActionId) -> None:
    """Print one action in full: why, what it brings, what must hold, its commands ready to paste, and the way back."""
    typer.echo(details(find_action(telemetry(ctx.obj), identity), now_ms()), nl=False)


def accept(ctx: typer.Context, identity: ActionId, by: By, reason: Reason) -> None:
    """Record that an action is accepted. It executes nothing: it says that somebody takes it up."""
    _decide(ctx, identity, Decision.ACCEPT, by, reason)


def reject(ctx: typer.Context, identity: ActionId, by: By, reason: Reason) -> None:
    """Record that an action is rejected: it is not proposed again for its alert unless the severity rises."""
    _decide(ctx, identity, Decision.REJECT, by, reason)


def _decide(ctx: typer.Context, identity: str, decision: Decision, by: str, reason: str) -> None:
    cluster = telemetry(ctx.obj)
    said = deciding.signed(by, reason)
    action = find_action(cluster, identity)
    if action.status not in DECIDABLE[decision]:
        raise UserError(f"action {action.action_id} is {action.status}: there is nothing to {decision}")
    record = DecisionRecord(
        version=1,
        id=action.action_id,
        cluster=action.cluster,
        decision=decision,
        by=said.by,
        reason=said.reason,
        at_ms=now_ms(),
        revision=action.revision,
        content_hash=content_hash(action),
    )
    deciding.send(cluster, [record])
    typer.echo(printable(f"{decision}: {action.kind} {action.action_id}, by {record.by}: {record.reason}"))


def _print_accuracy(records: list[Record], *, as_json: bool) -> None:
    if as_json:
        for record in as_data(records):
            typer.echo(json.dumps(record))
    elif records:
        terminal = console()
        terminal.print(track_record_view(records, terminal.width))
    else:
        typer.echo("No action was ever recommended, so there is no track record.")


def _print(shown: list[ActionRecord], *, as_json: bool) -> None:
    if as_json:
        for action in shown:
            _print_one(action, as_json=True)
    elif shown:
        terminal = console()
        terminal.print(view(shown, now_ms(), terminal.width))
        typer.echo("\nOne in full, with its commands: logdirwatch actions show ID")
    else:
        typer.echo("No open action. Closed ones: logdirwatch actions --all. What is wrong: logdirwatch alerts")


def _print_one(action: ActionRecord, *, as_json: bool) -> None:
    if as_json:
        typer.echo(msgspec.json.encode(action))
    else:
        console().print(line(action), soft_wrap=True)
