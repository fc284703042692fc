"""``logdirwatch console``: a web page over the tables, read-only unless there is a login, and the login's users."""

import os
import signal
import sys
import time
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import structlog
import typer

from logdirwatch.cli import deciding
from logdirwatch.cli.actions.deciding import find_action, new_decision
from logdirwatch.cli.alerts.decisions import ended, firing, known_alerts, of_alert
from logdirwatch.cli.context import Context
from logdirwatch.cli.reading.live_alerts import LiveAlerts
from logdirwatch.cli.reading.records import now_ms, telemetry, waiting_for_kafka
from logdirwatch.cli.reading.tables.opening import table_reader
from logdirwatch.config.servers import address, authority
from logdirwatch.console.settings import ConsoleSettings
from logdirwatch.decisions import AlertDecisions, Severities
from logdirwatch.errors import UserError
from logdirwatch.model.records import AlertRecord, DecisionRecord
from logdirwatch.model.vocabulary import Decision
from logdirwatch.observe.signals import asking_to_end
from logdirwatch.report.status.snapshot import Patience
from logdirwatch.settings import replaced

LOOK = "at this page again in a few seconds"


class ConsoleDecisions:
    """Reads alerts and actions from their topics, never from the tables, which may be older."""

    def __init__(self, context: Context) -> None:
        self._context, self._cluster = context, telemetry(context)

    def on_alert(
        self, decision: Decision, alert_id: str, severity: str, by: str, reason: str, lasting: str
    ) -> DecisionRecord:
        """Acknowledge or silence a firing alert; raises UserError if its severity is not the one that was seen."""
        said, duration_ms = deciding.signed(by, reason), deciding.decision_ms(self._context.settings, lasting)
        with waiting_for_kafka(time.monotonic()):
            alert = firing(known_alerts(self._context), alert_id)
            if alert.severity != severity:
                raise UserError(f"alert {alert.alert_id} is {alert.severity} by now: read it again before you decide")
            return self._written(of_alert(self._context, decision, alert, said, duration_ms))

    def withdraw(self, decision: Decision, alert_id: str, by: str, reason: str) -> DecisionRecord:
        """End an acknowledgement or silence."""
        said = deciding.signed(by, reason)
        with waiting_for_kafka(time.monotonic()):
            return self._written(ended(self._context, decision, alert_id, said, now_ms()))

    def on_action(self, decision: Decision, action_id: str, content_hash: str, by: str, reason: str) -> DecisionRecord:
        """Accept or reject an action; raises UserError if it would do something else than what was seen."""
        said = deciding.signed(by, reason)
        with waiting_for_kafka(time.monotonic()):
            action = find_action(self._cluster, action_id)
            return self._written(new_decision(action, decision, said, now_ms(), content_hash))

    def about(self, alert: AlertRecord, severities: Severities) -> AlertDecisions:
        """Return how an alert is handled."""
        with waiting_for_kafka(time.monotonic()):
            records = deciding.decided(self._context)
        return deciding.handling_of(self._context, records, lambda _: severities).about(alert, now_ms())

    def _written(self, record: DecisionRecord) -> DecisionRecord:
        deciding.send(self._cluster, [record], LOOK)
        return record


log = structlog.get_logger(__name__)

THREADS = 4


commands = typer.Typer(invoke_without_command=True)


@commands.callback()
def console(
    ctx: typer.Context,
    listen: Annotated[
        str | None, typer.Option(metavar="HOST:PORT", help="Overrides console.listen.", show_default=False)
    ] = None,
) -> None:
    """Serve a web page with the fleet, open alerts, directories with their forecasts, and actions with their commands.

    Reads the tables, and alerts and heartbeats from the telemetry cluster; changes nothing, except that users of
    console.login can acknowledge, silence, accept and reject. Listens only on this machine unless console.listen says
    otherwise and console.password is set. Runs until Ctrl-C.
    """
    if ctx.invoked_subcommand is not None:
        return
    # Flask takes a moment to import, which no other command should pay for.
    from logdirwatch.cli.console.capacity import capacity_of  # noqa: PLC0415
    from logdirwatch.console.login.users import read  # noqa: PLC0415
    from logdirwatch.console.login.workspace import app_address  # noqa: PLC0415
    from logdirwatch.console.pages import application  # noqa: PLC0415
    from logdirwatch.console.reading import Reader  # noqa: PLC0415
    from logdirwatch.observe.http_server import Server  # noqa: PLC0415

    context: Context = ctx.obj
    settings = context.settings
    own = replaced(settings.console, "console: --listen", listen=listen) if listen else settings.console
    tables = table_reader(settings)
    live = LiveAlerts(telemetry(context), settings.detect.clock_skew_ms, partial(deciding.handling_of, context))
    reader = Reader(tables.select, tables.rows, live.alerts, live.records, handling=live.handling)
    patience = Patience.of(settings.detect, settings.collect, settings.stream)
    if own.login is not None:
        read(Path(own.login.users_file))
    capacity, decisions = capacity_of(context, tables), ConsoleDecisions(context)
    runbook = settings.notify.links.runbook
    pages = application(reader, own, patience, now_ms, settings.detect, capacity, decisions, runbook)
    host, port = app_address(os.environ) if own.databricks_app else address(own.listen)
    try:
        server = Server(pages, host, port, threads=THREADS, **_proxy(own))
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "no such host"
        raise UserError(f"console: cannot listen at {authority(host, port)}: {reason}; name another --listen") from None
    live.start()
    for number in asking_to_end():
        signal.signal(number, signal.default_int_handler)
    log.info("console.listening", url=f"http://{authority(host, port)}/", tables=tables.place.at)
    try:
        server.run()
    except KeyboardInterrupt:
        log.info("console.stopped")


@commands.command()
def add_user(
    ctx: typer.Context,
    name: Annotated[str, typer.Argument(metavar="NAME", help="The user's name, recorded with each decision.")],
) -> None:
    """Add a user to console.login.users_file, or change the password of one, which ends the user's sessions.

    Asks for the password twice; without a terminal it is the first line of standard input. Remove a user by deleting
    the line of the file.
    """
    from logdirwatch.console.login.users import add  # noqa: PLC0415 - hashing takes a moment to import

    context: Context = ctx.obj
    login = context.settings.console.login
    if login is None:
        raise UserError("console add-user: console.login.users_file is not configured", exit_code=2)
    was_known = add(Path(login.users_file), name, _password())
    typer.echo(f"{name}: {'has another password' if was_known else 'added'} in {login.users_file}")


def _password() -> str:
    try:
        if sys.stdin.isatty():
            password: str = typer.prompt("Password", hide_input=True, confirmation_prompt=True, err=True)
        else:
            password = sys.stdin.readline().rstrip("\r\n")
        password.encode()
    except UnicodeError:
        raise UserError("a password is text in UTF-8", exit_code=2) from None
    return password


def _proxy(settings: ConsoleSettings) -> dict[str, Any]:
    """Return which headers the server believes: those of the configured proxy, else none."""
    if settings.login is None:
        return {}
    if settings.login.behind_tls_proxy:
        return {"trusted_proxy": "*", "trusted_proxy_headers": {"x-forwarded-proto", "x-forwarded-for"}}
    # The login refuses requests that another program forwarded, so it has to see these headers.
    return {"clear_untrusted_proxy_headers": False}
