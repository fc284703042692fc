"""``logdirwatch actions``: what to do about the alerts, and what people decide about it."""

import contextlib
from typing import Annotated

import msgspec
import typer
from kafka.errors import KafkaError

from logdirwatch import kafka_clients
from logdirwatch.cli.reading import console, follow_into, now_ms, read_into, telemetry
from logdirwatch.errors import UserError
from logdirwatch.model import topics
from logdirwatch.model.records import ActionRecord, DecisionRecord
from logdirwatch.model.vocabulary import ActionStatus, Decision
from logdirwatch.report.actions import details, find, line, listed, view
from logdirwatch.report.folding import latest_actions
from logdirwatch.settings import KafkaSettings

SEND_TIMEOUT_S = 20
DECIDABLE = {
    Decision.ACCEPT: (ActionStatus.PROPOSED,),
    Decision.REJECT: (ActionStatus.PROPOSED, ActionStatus.ACCEPTED),
}

ActionId = Annotated[str, typer.Argument(metavar="ID", help="The action's id, or the beginning of it.")]
By = Annotated[str, typer.Option("--by", help="Who decides.")]
Reason = Annotated[str, typer.Option("--reason", help="Why; kept with the decision.")]


def register(app: typer.Typer) -> None:
    """Add the command."""
    commands = typer.Typer(invoke_without_command=True)
    commands.callback()(actions)
    commands.command("show")(show)
    commands.command("accept")(accept)
    commands.command("reject")(reject)
    app.add_typer(commands, name="actions")


def actions(
    ctx: typer.Context,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on printing what comes, until Ctrl-C.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="One record per line, for programs.")] = False,
    everything: Annotated[bool, typer.Option("--all", help="Closed actions too: done, failed, rejected, ...")] = False,
) -> None:
    """Show the open actions, those of the loudest alert first.

    `actions show ID` prints one in full with its commands ready to paste; nothing is ever executed by logdirwatch
    itself. With --follow every further revision is printed once, as it comes.
    """
    if ctx.invoked_subcommand is not None:
        return
    cluster = telemetry(ctx.obj)
    fold = latest_actions()
    read_into(fold, cluster, topics.ACTIONS)
    _print(listed(fold.records, everything=everything), as_json=as_json)
    if follow:
        with contextlib.suppress(KeyboardInterrupt):
            for action in follow_into(fold, cluster, topics.ACTIONS):
                _print_one(action, as_json=as_json)


def show(ctx: typer.Context, identity: ActionId) -> None:
    """Print one action in full: why, what it brings, what must hold, its commands ready to paste, and the way back."""
    typer.echo(details(_find(telemetry(ctx.obj), identity), now_ms()), nl=False)


def accept(ctx: typer.Context, identity: ActionId, by: By, reason: Reason) -> None:
    """Record that an action is accepted. It executes nothing: it says that somebody takes it up."""
    _decide(ctx, identity, Decision.ACCEPT, by, reason)


def reject(ctx: typer.Context, identity: ActionId, by: By, reason: Reason) -> None:
    """Record that an action is rejected: it is not proposed again for its alert unless the severity rises."""
    _decide(ctx, identity, Decision.REJECT, by, reason)


def _decide(ctx: typer.Context, identity: str, decision: Decision, by: str, reason: str) -> None:
    cluster = telemetry(ctx.obj)
    if not by.strip() or not reason.strip():
        raise UserError("a decision needs a name (--by) and a reason (--reason)", exit_code=2)
    action = _find(cluster, identity)
    if action.status not in DECIDABLE[decision]:
        raise UserError(f"action {action.action_id} is {action.status}: there is nothing to {decision}")
    record = DecisionRecord(
        version=1,
        id=action.action_id,
        cluster=action.cluster,
        decision=decision,
        by=by.strip(),
        reason=reason.strip(),
        at_ms=now_ms(),
    )
    _send(cluster, record)
    typer.echo(f"{decision}: {action.kind} {action.action_id}, by {record.by}: {record.reason}")


def _send(cluster: KafkaSettings, record: DecisionRecord) -> None:
    try:
        producer = kafka_clients.producer(cluster, bootstrap_timeout_ms=kafka_clients.CONNECT_TIMEOUT_MS)
        try:
            sent = producer.send(topics.DECISIONS, key=record.id.encode(), value=msgspec.json.encode(record))
            sent.get(timeout=SEND_TIMEOUT_S)
        finally:
            producer.close(timeout=1)
    except KafkaError as error:
        raise kafka_clients.unreachable(cluster, error) from None


def _find(cluster: KafkaSettings, identity: str) -> ActionRecord:
    fold = latest_actions()
    read_into(fold, cluster, topics.ACTIONS)
    return find(fold.records, identity)


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
