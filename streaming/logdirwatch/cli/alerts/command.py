"""``logdirwatch alerts``: the open alerts, most severe first, and how they are handled."""

import contextlib
from typing import Annotated

import msgspec
import typer

from logdirwatch.cli.alerts.decisions import AlertId, commands, known_actions, known_alerts
from logdirwatch.cli.context import Context
from logdirwatch.cli.deciding import handling
from logdirwatch.cli.reading.records import console, follow_into, now_ms, read_into, telemetry, waiting_for_kafka
from logdirwatch.clock import monotonic_ms
from logdirwatch.decisions import AlertDecisions
from logdirwatch.model import topics
from logdirwatch.model.records import AlertRecord
from logdirwatch.report.alerts import find, line, listed, view
from logdirwatch.report.folding import LatestAlerts, is_heartbeat, latest_alerts
from logdirwatch.report.handling import UNDECIDED, document

REREAD_MS = 10_000


@commands.command()
def show(ctx: typer.Context, identity: AlertId) -> None:
    """Print one alert in full: what it is about, who handles it, what to do, when it ends, and its evidence."""
    # The responses take a moment to import, which the list of alerts should not pay for.
    from logdirwatch.plan.rule_responses import RESPONSES  # noqa: PLC0415
    from logdirwatch.report.incident import details  # noqa: PLC0415

    with waiting_for_kafka():
        fold = known_alerts(ctx.obj)
        alert = find(fold.records, identity)
        decided = handling(ctx.obj, fold)
        actions = known_actions(ctx.obj, alert)
    said = UNDECIDED if decided is None else decided.about(alert, now_ms())
    typer.echo(details(alert, said, actions, RESPONSES[alert.rule], now_ms()), nl=False)


@commands.command()
def report(ctx: typer.Context, identity: AlertId) -> None:
    """Print the write-up of an alert in Markdown, from records alone.

    It has the timeline, decisions, actions and executions, expected against observed effects, and the evidence.
    """
    from logdirwatch.cli.alerts.incident import recorded  # noqa: PLC0415
    from logdirwatch.report.incident import written_up  # noqa: PLC0415

    typer.echo(written_up(recorded(ctx.obj, identity), now_ms()), nl=False)


@commands.callback()
def alerts(
    ctx: typer.Context,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Keep printing new revisions until Ctrl-C.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON record per line.")] = False,
    everything: Annotated[bool, typer.Option("--all", help="Include resolved alerts.")] = False,
) -> None:
    """Show the open alerts, most severe first and silenced ones last, with their acknowledgements and silences.

    Each alert is shown once, in its latest revision. With --follow every new revision is one line, including the
    resolving one, cut off at the width of the terminal. An acknowledged or silenced alert keeps firing.
    """
    if ctx.invoked_subcommand is not None:
        return
    cluster = telemetry(ctx.obj)
    fold = latest_alerts()
    with waiting_for_kafka():
        read_into(fold, cluster, topics.ALERTS)
        sayings = _Sayings(ctx.obj, fold)
    _print(fold, sayings.about_each(), as_json=as_json, everything=everything)
    if follow:
        with contextlib.suppress(KeyboardInterrupt):
            for alert in follow_into(fold, cluster, topics.ALERTS):
                if not is_heartbeat(alert):
                    _print_one(alert, sayings.about(alert), as_json=as_json)


class _Sayings:
    """The decisions about alerts, read again when they are some seconds old; none when they cannot be read."""

    def __init__(self, context: Context, fold: LatestAlerts) -> None:
        self._context, self._fold = context, fold
        self._read()

    def about_each(self) -> dict[str, AlertDecisions]:
        """Return how the firing alerts are handled now, by ``alert_id``."""
        return {} if self._handling is None else self._handling.about_each(self._fold.records, now_ms())

    def about(self, alert: AlertRecord) -> AlertDecisions:
        """Return how an alert is handled now."""
        if monotonic_ms() - self._read_ms > REREAD_MS:
            self._read()
        return UNDECIDED if self._handling is None else self._handling.about(alert, now_ms())

    def _read(self) -> None:
        self._handling, self._read_ms = handling(self._context, self._fold), monotonic_ms()


def _print(fold: LatestAlerts, decided_by_alert: dict[str, AlertDecisions], *, as_json: bool, everything: bool) -> None:
    shown = listed(fold.records, decided_by_alert, everything=everything)
    if as_json:
        for alert in shown:
            _print_one(alert, decided_by_alert.get(alert.alert_id, UNDECIDED), as_json=True)
    elif shown:
        terminal = console()
        terminal.print(view(shown, now_ms(), terminal.width, decided_by_alert))
    else:
        typer.echo(
            "No open alerts. Resolved ones: logdirwatch alerts --all. Is everything monitored? logdirwatch status"
        )


def _print_one(alert: AlertRecord, decided: AlertDecisions, *, as_json: bool) -> None:
    if as_json:
        typer.echo(msgspec.json.encode(document(alert, decided)))
    else:
        console().print(line(alert, decided), no_wrap=True, overflow="ellipsis")
