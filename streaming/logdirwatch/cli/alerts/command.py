"""``logdirwatch alerts``: the open alerts, most severe first, and how they are handled."""

import contextlib
from collections.abc import Iterable
from typing import Annotated

import msgspec
import typer

from logdirwatch.cli.alerts.decisions import (
    AlertId,
    OfBroker,
    OfCluster,
    OfLogDir,
    OfRule,
    commands,
    known_actions,
    known_alerts,
)
from logdirwatch.cli.context import Context
from logdirwatch.cli.deciding import handling
from logdirwatch.cli.reading.records import console, follow_into, now_ms, read_into, telemetry, waiting_for_kafka
from logdirwatch.clock import monotonic_ms
from logdirwatch.decisions import AlertDecisions, matches
from logdirwatch.errors import UserError
from logdirwatch.model.records import AlertPattern, AlertRecord
from logdirwatch.model.vocabulary import NO_CLUSTER
from logdirwatch.report.alerts import find, line, listed, view
from logdirwatch.report.folding import LatestAlerts, is_heartbeat, latest_alerts
from logdirwatch.report.handling import UNDECIDED, document
from logdirwatch.report.status import ages
from logdirwatch.report.status.cluster import heartbeats
from logdirwatch.settings import Settings
from logdirwatch.text.printable import printable
from logdirwatch.text.words import did_you_mean

REREAD_MS = 10_000


@commands.command()
def show(ctx: typer.Context, identity: AlertId) -> None:
    """Print one alert in full: what it is about, who handles it, what to do, when it ends, and its evidence."""
    # The responses take a moment to import, which the list of alerts should not pay for.
    from logdirwatch.report.incident import details  # noqa: PLC0415

    with waiting_for_kafka():
        fold = known_alerts(ctx.obj)
        alert = find(fold.records, identity)
        decided = handling(ctx.obj, fold)
        actions = known_actions(ctx.obj, alert)
    said = UNDECIDED if decided is None else decided.about(alert, now_ms())
    typer.echo(details(alert, said, actions, now_ms()), nl=False)


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
    cluster: OfCluster = None,
    rule: OfRule = None,
    broker: OfBroker = None,
    log_dir: OfLogDir = None,
) -> None:
    """Show the open alerts, most severe first and silenced ones last, with their acknowledgements and silences.

    Each alert is shown once, in its latest revision. With --follow every new revision is one line, including the
    resolving one, cut off at the width of the terminal. An acknowledged or silenced alert keeps firing.
    """
    if ctx.invoked_subcommand is not None:
        return
    source = telemetry(ctx.obj)
    wanted = AlertPattern(cluster=cluster, rule=rule, broker=broker, log_dir=log_dir)
    with waiting_for_kafka():
        fold = read_into(latest_alerts(), source)
        sayings = _Sayings(ctx.obj, fold)
    _print_silence(ctx.obj.settings, fold.records, cluster)
    chosen = [alert for alert in fold.records if matches(wanted, alert)]
    if not _print(chosen, sayings.about_each(), as_json=as_json, everything=everything) and not as_json:
        typer.echo(_NO_ALERT if wanted == AlertPattern() else _NO_MATCH)
    if follow:
        with contextlib.suppress(KeyboardInterrupt):
            for alert in follow_into(fold, source):
                if not is_heartbeat(alert) and matches(wanted, alert):
                    _print_one(alert, sayings.about(alert), as_json=as_json)


def _print_silence(settings: Settings, alerts: list[AlertRecord], only: str | None) -> None:
    """Print on standard error the clusters that are not heard of: that no alert is open there proves nothing.

    Raises UserError when neither the configuration nor a record names the cluster ``only``.
    """
    known = sorted({*settings.clusters, *(alert.cluster for alert in alerts)} - {NO_CLUSTER})
    if only is not None and only not in known:
        raise UserError(f"no cluster {only}{did_you_mean(only, known)}; known: {', '.join(known)}", exit_code=2)
    for cluster in known if only is None else [only]:
        beats = heartbeats([a for a in alerts if a.cluster == cluster], now_ms(), settings.detect.clock_skew_ms)
        if (told := ages.heartbeats(beats, now_ms())).is_loud:
            typer.echo(f"logdirwatch: {printable(cluster)}: {printable(told.text)}", err=True)


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


_NO_ALERT = "No open alerts. Resolved ones: logdirwatch alerts --all. Is everything monitored? logdirwatch status"
_NO_MATCH = "No alert matches. All open ones: logdirwatch alerts"


def _print(
    alerts: Iterable[AlertRecord], decided_by_alert: dict[str, AlertDecisions], *, as_json: bool, everything: bool
) -> bool:
    """Print the alerts; return whether there are any."""
    shown = listed(alerts, decided_by_alert, everything=everything)
    if as_json:
        for alert in shown:
            _print_one(alert, decided_by_alert.get(alert.alert_id, UNDECIDED), as_json=True)
    elif shown:
        terminal = console()
        terminal.print(view(shown, now_ms(), terminal.width, decided_by_alert))
    return bool(shown)


def _print_one(alert: AlertRecord, decided: AlertDecisions, *, as_json: bool) -> None:
    if as_json:
        typer.echo(msgspec.json.encode(document(alert, decided)))
    else:
        console().print(line(alert, decided), no_wrap=True, overflow="ellipsis")
