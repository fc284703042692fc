"""``logdirwatch look``: what a cluster's disks are like now, from its brokers alone."""

import asyncio
from typing import Annotated

import msgspec
import typer

from logdirwatch.alone.look import look as look_at
from logdirwatch.alone.look import noticed
from logdirwatch.alone.planning import policy_of
from logdirwatch.cli.context import Context
from logdirwatch.cli.reading.live_cluster import named, not_known, seen
from logdirwatch.cli.reading.records import console, now_ms
from logdirwatch.kafka import clients
from logdirwatch.model.vocabulary import Severity
from logdirwatch.report.look import view
from logdirwatch.text.printable import printable

WORST = {Severity.WARNING: 3, Severity.CRITICAL: 4, Severity.PAGE: 5}
"""Exit codes by the worst alert; 1 and 2 mean that there was no look."""
POLL_MS = 1_000


def look(
    ctx: typer.Context,
    brokers: Annotated[
        str, typer.Argument(metavar="BROKERS", help="A cluster of the configuration, or host:port of its brokers.")
    ],
    seconds: Annotated[int, typer.Option("--for", min=1, max=3600, help="For how many seconds to poll it.")] = 2,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Say in a few seconds what a cluster's disks are like: which are offline, full or next to fill, and what to do.

    Reads only, from the brokers themselves: no configuration, no telemetry topics, no Spark. What takes longer to see,
    such as growth, needs --for or a running collect and stream. Exit code 3, 4 or 5 when the worst alert is a warning,
    critical or a page.
    """
    context: Context = ctx.obj
    if not context.debug:
        clients.quiet_client_logs()
    settings = context.settings
    name, cluster = named(brokers, settings, "look")
    policy = policy_of(name, cluster, settings)
    polling = settings.model_copy(
        update={"collect": settings.collect.model_copy(update={"metrics_interval_ms": POLL_MS})}
    )
    live = seen(cluster, settings)
    found = asyncio.run(look_at(name, cluster, live, polling, policy, 1 + seconds * 1_000 // POLL_MS))
    odd = noticed(found.snapshot, policy)
    if as_json:
        answer = {
            "at_ms": now_ms(),
            "cluster": name,
            "alerts": found.alerts,
            "actions": found.actions,
            "noticed": [one._asdict() for one in odd],
            "log_dirs": sorted(found.snapshot.directories.values(), key=lambda one: one.place),
            "unknown": list(not_known(live, found.snapshot)),
        }
        typer.echo(msgspec.json.encode(answer))
    else:
        for line in not_known(live, found.snapshot):
            typer.echo(printable(line), err=True)
        terminal = console()
        terminal.print(view(found.snapshot, found.alerts, found.actions, odd, terminal.width))
    worst = max((alert.severity for alert in found.alerts), key=lambda severity: severity.rank, default=Severity.INFO)
    if worst in WORST:
        raise typer.Exit(WORST[worst])
