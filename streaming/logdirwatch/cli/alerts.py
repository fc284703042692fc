"""``logdirwatch alerts``: what is wrong, loudest first."""

import contextlib
from typing import Annotated

import msgspec
import typer

from logdirwatch.cli.reading import console, follow_into, now_ms, read_into, telemetry
from logdirwatch.model import topics
from logdirwatch.model.records import AlertRecord
from logdirwatch.report.alerts import line, listed, view
from logdirwatch.report.folding import is_heartbeat, latest_alerts


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("alerts")(alerts)


def alerts(
    ctx: typer.Context,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on printing what comes, until Ctrl-C.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="One record per line, for programs.")] = False,
    everything: Annotated[bool, typer.Option("--all", help="Resolved alerts too.")] = False,
) -> None:
    """Show the open alerts, loudest first.

    Each alert is shown once, in its latest revision, whichever lane it came by. With --follow every further revision
    is printed once, as it comes, the resolving one too.
    """
    cluster = telemetry(ctx.obj)
    fold = latest_alerts()
    read_into(fold, cluster, topics.ALERTS)
    _print(listed(fold.records, everything=everything), as_json=as_json)
    if follow:
        with contextlib.suppress(KeyboardInterrupt):
            for alert in follow_into(fold, cluster, topics.ALERTS):
                if not is_heartbeat(alert):
                    _print_one(alert, as_json=as_json)


def _print(shown: list[AlertRecord], *, as_json: bool) -> None:
    if as_json:
        for alert in shown:
            _print_one(alert, as_json=True)
    elif shown:
        terminal = console()
        terminal.print(view(shown, now_ms(), terminal.width))
    else:
        typer.echo("No open alert. Resolved ones: logdirwatch alerts --all. Is everything seen? logdirwatch status")


def _print_one(alert: AlertRecord, *, as_json: bool) -> None:
    if as_json:
        typer.echo(msgspec.json.encode(alert))
    else:
        console().print(line(alert), soft_wrap=True)
