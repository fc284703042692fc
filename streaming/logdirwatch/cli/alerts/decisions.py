"""``logdirwatch alerts ack|silence|healthy|unack|unsilence|decisions``: decisions about alerts.

The console writes the same.
"""

from typing import Annotated

import msgspec
import typer

from logdirwatch.cli import deciding
from logdirwatch.cli.context import Context
from logdirwatch.cli.deciding import By, Reason, Signed, written_id
from logdirwatch.cli.reading.records import console, now_ms, read_into, telemetry, waiting_for_kafka
from logdirwatch.decisions import holds, matches
from logdirwatch.errors import UserError
from logdirwatch.model.identity import identity as identity_of
from logdirwatch.model.records import ActionRecord, AlertPattern, AlertRecord, DecisionRecord
from logdirwatch.model.vocabulary import AlertStatus, Decision, Rule, Severity
from logdirwatch.report.alerts import find, listed
from logdirwatch.report.folding import LatestAlerts, latest_actions, latest_alerts
from logdirwatch.report.handling import about, sayings, sayings_view
from logdirwatch.report.words import place, the_one
from logdirwatch.text.printable import printable
from logdirwatch.text.words import counted, did_you_mean, short_id, utc


def known_alerts(context: Context) -> LatestAlerts:
    """Read the alerts from their topic."""
    return read_into(latest_alerts(), telemetry(context))


def known_actions(context: Context, alert: AlertRecord) -> list[ActionRecord]:
    """Read the actions of an alert from their topic."""
    actions = read_into(latest_actions(), telemetry(context)).records
    return [action for action in actions if action.alert_id == alert.alert_id]


def firing(fold: LatestAlerts, identity: str) -> AlertRecord:
    """Return the alert whose id is, or begins with, this one; raises UserError if it does not fire."""
    alert = find(fold.records, identity)
    if alert.status is not AlertStatus.FIRING:
        raise UserError(f"alert {alert.alert_id} is resolved: there is nothing to decide")
    return alert


def of_alert(
    context: Context,
    decision: Decision,
    alert: AlertRecord,
    signed: Signed,
    duration_ms: int,
    *,
    owner: str | None = None,
    severity: Severity | None = None,
) -> DecisionRecord:
    """Return a decision about one alert; it covers ``severity``, or the alert's present one."""
    return deciding.new_decision(
        deciding.decided(context),
        decision,
        alert.alert_id,
        signed,
        duration_ms,
        cluster=alert.cluster,
        owner=owner,
        severity=severity or alert.severity,
        revision=alert.revision,
    )


def ended(context: Context, decision: Decision, identity: str, signed: Signed, at_ms: int) -> DecisionRecord:
    """Return the record that ends an active decision; raises UserError if there is none, or several match."""
    longest_ms = context.settings.decisions.longest_ms
    known = (r for r in deciding.decided(context) if r.decision is decision and holds(r, longest_ms, at_ms))
    none = f"no active {decision} of {identity!r}; list the active ones with: logdirwatch alerts decisions"
    found = the_one(known, identity, lambda record: record.id, none, "ids")
    ended_ms = deciding.decided_at_ms([found], decision, found.id)
    return msgspec.structs.replace(found, **signed._asdict(), owner=None, at_ms=ended_ms, until_ms=ended_ms)


def _rule_named(name: str) -> Rule:
    """Return a rule by name; raises BadParameter with the most similar name."""
    try:
        return Rule(name)
    except ValueError:
        near = did_you_mean(name, Rule) or f"; the rules: {', '.join(Rule)}"
        raise typer.BadParameter(printable(f"there is no rule {name}{near}")) from None


OfCluster = Annotated[str | None, typer.Option("--cluster", help="Only alerts of this cluster.")]
OfRule = Annotated[
    Rule | None, typer.Option("--rule", parser=_rule_named, metavar="RULE", help="Only alerts of this rule.")
]
OfBroker = Annotated[int | None, typer.Option("--broker", min=0, help="Only alerts of this broker.")]
OfLogDir = Annotated[
    str | None, typer.Option("--log-dir", help="Only alerts of log directories that match this shell pattern.")
]
AlertId = Annotated[
    str, typer.Argument(metavar="ID", help="The alert's id or the beginning of it.", callback=written_id)
]
Taken = Annotated[str, typer.Option("--reason", help="The reason, recorded with the decision.")]


commands = typer.Typer(invoke_without_command=True)


@commands.command()
def ack(
    ctx: typer.Context,
    identity: AlertId,
    by: By,
    reason: Reason,
    lasting: Annotated[str, typer.Option("--for", help="Duration, such as 4h, 90m or 1d.")] = "24h",
    owner: Annotated[
        str | None, typer.Option("--owner", help="The owner; default: the person who acknowledges.")
    ] = None,
) -> None:
    """Acknowledge an alert, which keeps firing; the acknowledgement ends when the severity rises, or in time."""
    signed, duration_ms = deciding.signed(by, reason), deciding.decision_ms(ctx.obj.settings, lasting)
    alert = _firing(ctx, identity)
    owner = (owner or "").strip() or None
    record = of_alert(ctx.obj, Decision.ACKNOWLEDGE, alert, signed, duration_ms, owner=owner)
    _send(ctx, record, about(record, alert))


@commands.command()
def unack(ctx: typer.Context, identity: AlertId, by: By, reason: Taken = "withdrawn") -> None:
    """Withdraw an acknowledgement."""
    _take_back(ctx, Decision.ACKNOWLEDGE, identity, deciding.signed(by, reason))


@commands.command()
def silence(
    ctx: typer.Context,
    by: By,
    reason: Reason,
    identity: Annotated[
        str | None, typer.Argument(metavar="[ID]", help="One alert's id or the beginning of it.", callback=written_id)
    ] = None,
    lasting: Annotated[str, typer.Option("--for", help="Duration, such as 4h, 90m or 1d.")] = "4h",
    cluster: OfCluster = None,
    rule: OfRule = None,
    broker: OfBroker = None,
    log_dir: OfLogDir = None,
    up_to: Annotated[
        Severity | None,
        typer.Option(
            "--up-to", help="Highest severity to silence; default: the alert's present one; for a pattern all."
        ),
    ] = None,
) -> None:
    """Silence an alert, or all alerts that match --cluster, --rule, --broker and --log-dir.

    A silenced alert keeps firing and is shown as silenced, but no notification is sent. One that rises above the
    highest silenced severity is sent again.
    """
    pattern = AlertPattern(cluster=cluster, rule=rule, broker=broker, log_dir=log_dir)
    is_pattern = pattern != AlertPattern()
    if (identity is None) != is_pattern:
        raise UserError(
            "name one alert by its id, or several by --cluster, --rule, --broker and --log-dir", exit_code=2
        )
    signed, duration_ms = deciding.signed(by, reason), deciding.decision_ms(ctx.obj.settings, lasting)
    if identity is None:
        _silence_all(ctx, pattern, signed, duration_ms, up_to)
        return
    alert = _firing(ctx, identity)
    covered = up_to or alert.severity
    if covered.rank < alert.severity.rank:
        raise UserError(f"alert {alert.alert_id} is {alert.severity}: silencing it up to {covered} changes nothing")
    record = of_alert(ctx.obj, Decision.SILENCE, alert, signed, duration_ms, severity=covered)
    _send(ctx, record, about(record, alert))


@commands.command()
def unsilence(
    ctx: typer.Context,
    identity: Annotated[
        str, typer.Argument(metavar="ID", help="The alert's or the silence's id or its beginning.", callback=written_id)
    ],
    by: By,
    reason: Taken = "withdrawn",
) -> None:
    """Withdraw a silence; `alerts decisions` shows the ids of the active ones."""
    _take_back(ctx, Decision.SILENCE, identity, deciding.signed(by, reason))


@commands.command()
def decisions(
    ctx: typer.Context,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON decision per line.")] = False,
) -> None:
    """Show the active acknowledgements and silences, including silences by pattern."""
    with waiting_for_kafka():
        fold, at_ms = known_alerts(ctx.obj), now_ms()
        known = deciding.decided(ctx.obj)
    handling = deciding.handling_of(ctx.obj, known, fold.severities)
    found = sayings(fold.records, handling, at_ms)
    if as_json:
        for record, _ in found:
            typer.echo(msgspec.json.encode(record))
    elif found:
        terminal = console()
        terminal.print(sayings_view(found, at_ms, terminal.width))
    else:
        typer.echo("No alert is acknowledged or silenced.")


@commands.command()
def healthy(ctx: typer.Context, identity: AlertId, by: By, reason: Reason) -> None:
    """Declare that a suspect disk, or what a broker's log reported as bad, is healthy: replaced, repaired or tested.

    Earlier lines of the kernel's and the broker's log no longer count against its directory: log_dir_suspect,
    uncleanable_partitions and partition_failed end, unless a measurement contradicts it. A passing
    probe cannot prove it: it reads 4 KiB, not the sector that failed. Other alerts end by what is measured.
    """
    from logdirwatch.report.healthy import effect  # noqa: PLC0415 - imports the planner, which takes a moment

    signed = deciding.signed(by, reason)
    alert = _firing(ctx, identity)
    heard = effect(alert)
    if not heard.is_heard:
        raise UserError(f"alert {short_id(alert.alert_id)}: {heard.note}")
    if alert.broker is None:
        raise UserError(f"alert {alert.alert_id} names no broker, so there is no disk to declare healthy")
    spoken_of = f"{alert.cluster}/{alert.broker}/{alert.log_dir or '*'}"
    record = deciding.new_decision(
        deciding.decided(ctx.obj),
        Decision.HEALTHY,
        spoken_of,
        signed,
        cluster=alert.cluster,
        broker=alert.broker,
        log_dir=alert.log_dir,
    )
    deciding.send(telemetry(ctx.obj), [record])
    where = place(alert.cluster, alert.broker, alert.log_dir)
    typer.echo(printable(f"healthy: {where}, by {record.by}: {record.reason}"))
    if heard.note is not None:
        typer.echo(printable(f"note: {heard.note}"))


def _firing(ctx: typer.Context, identity: str) -> AlertRecord:
    with waiting_for_kafka():
        return firing(known_alerts(ctx.obj), identity)


def _silence_all(
    ctx: typer.Context, pattern: AlertPattern, signed: Signed, duration_ms: int, up_to: Severity | None
) -> None:
    parts = (pattern.cluster, pattern.rule, pattern.broker, pattern.log_dir)
    spoken_of = identity_of("silence", *("" if part is None else str(part) for part in parts))
    named = {"cluster": pattern.cluster, "severity": up_to, "matching": pattern}
    with waiting_for_kafka():
        known, fold = deciding.decided(ctx.obj), known_alerts(ctx.obj)
        record = deciding.new_decision(known, Decision.SILENCE, spoken_of, signed, duration_ms, **named)
    _send(ctx, record, about(record))
    found = sum(matches(pattern, alert) for alert in listed(fold.records, everything=False))
    typer.echo(f"it silences {counted(found, 'open alert')} now" if found else "no open alert matches it now")


def _send(ctx: typer.Context, record: DecisionRecord, what: str) -> None:
    deciding.send(telemetry(ctx.obj), [record])
    until = utc(record.until_ms or record.at_ms)
    told = f"{record.decision}: {what}, {short_id(record.id)}, until {until}, by {record.by}: {record.reason}"
    typer.echo(printable(told))


def _take_back(ctx: typer.Context, decision: Decision, identity: str, signed: Signed) -> None:
    with waiting_for_kafka():
        record = ended(ctx.obj, decision, identity, signed, now_ms())
    deciding.send(telemetry(ctx.obj), [record])
    typer.echo(printable(f"{decision} of {short_id(record.id)}: ended, by {record.by}: {record.reason}"))
