"""Decisions on alerts, as the command line and the console write them: which alert, and until when."""

import msgspec

from logdirwatch.cli import deciding
from logdirwatch.cli.context import Context
from logdirwatch.cli.deciding import Signed
from logdirwatch.cli.reading.records import read_into, telemetry
from logdirwatch.decisions import holds
from logdirwatch.errors import UserError
from logdirwatch.model import topics
from logdirwatch.model.records import AlertRecord, DecisionRecord
from logdirwatch.model.vocabulary import AlertStatus, Decision, Severity
from logdirwatch.report.alerts import find
from logdirwatch.report.folding import LatestAlerts, latest_alerts
from logdirwatch.report.words import named


def known_alerts(context: Context) -> LatestAlerts:
    """Read the alerts from their topic."""
    fold = latest_alerts()
    read_into(fold, telemetry(context), topics.ALERTS)
    return fold


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
    found = named(known, identity, lambda record: record.id)
    if not found:
        raise UserError(
            f"no active {decision} of {identity!r}; list the active ones with: logdirwatch alerts decisions"
        )
    if len(found) > 1:
        raise UserError(f"{len(found)} ids begin with {identity}; give more of the id", exit_code=2)
    ended_ms = deciding.decided_at_ms(found, decision, found[0].id)
    return msgspec.structs.replace(found[0], **signed._asdict(), owner=None, at_ms=ended_ms, until_ms=ended_ms)
