"""The forms with which logged-in users acknowledge, silence, accept and reject; each answers with a redirect."""

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import structlog
from flask import Flask, redirect, request, url_for
from werkzeug.wrappers import Response as AnyResponse

from logdirwatch.console.login.gate import said
from logdirwatch.console.login.sessions import Session
from logdirwatch.decisions import DECIDABLE, MOST_CHARACTERS, AlertDecisions, Severities
from logdirwatch.errors import UnconfirmedError, UserError
from logdirwatch.model.records import AlertRecord, DecisionRecord
from logdirwatch.model.vocabulary import Decision
from logdirwatch.plan.content_hash import content_hash
from logdirwatch.text.printable import printable
from logdirwatch.text.units import written_ms
from logdirwatch.text.words import short_id, utc

log = structlog.get_logger(__name__)

ON_ALERTS = {"acknowledge": Decision.ACKNOWLEDGE, "silence": Decision.SILENCE}
ON_ACTIONS = {"accept": Decision.ACCEPT, "reject": Decision.REJECT}


class Decisions(Protocol):
    """Writes decisions, as the command line does; every method raises UserError with one line if that fails.

    UnconfirmedError means that nobody knows whether the decision is recorded.
    """

    def on_alert(
        self, decision: Decision, alert_id: str, severity: str, by: str, reason: str, lasting: str
    ) -> DecisionRecord:
        """Acknowledge or silence a firing alert that has the severity ``severity``."""

    def withdraw(self, decision: Decision, alert_id: str, by: str, reason: str) -> DecisionRecord:
        """End an acknowledgement or silence."""

    def on_action(self, decision: Decision, action_id: str, content_hash: str, by: str, reason: str) -> DecisionRecord:
        """Accept or reject an action that has the content with that hash."""

    def about(self, alert: AlertRecord, severities: Severities) -> AlertDecisions:
        """Return how an alert is handled now."""


class Gate(Protocol):
    """Knows who sends a form."""

    def user(self) -> Session:
        """Return the session of a form's sender, and refuse all others."""


class Deciding:
    """The forms of one console."""

    def __init__(self, gate: Gate, decisions: Decisions) -> None:
        self._gate, self._decisions = gate, decisions

    def register(self, app: Flask) -> None:
        """Add the routes of the forms, and their template functions."""
        app.jinja_env.globals.update(handled=self.handled, content_hash=content_hash, DECIDABLE=DECIDABLE)
        app.post("/alerts/<alert_id>/<any(acknowledge, silence):what>", endpoint="decide_alert")(self.alert)
        app.post("/alerts/<alert_id>/<any(acknowledge, silence):what>/end", endpoint="withdraw")(self.end)
        app.post("/actions/<action_id>/<any(accept, reject):what>", endpoint="decide_action")(self.action)

    def alert(self, alert_id: str, what: str) -> AnyResponse:
        """Acknowledge or silence an alert."""

        def decide(by: str) -> DecisionRecord:
            severity, lasting = request.form.get("severity", ""), _lasting()
            return self._decisions.on_alert(ON_ALERTS[what], alert_id, severity, by, _reason(), lasting)

        return self._decided(url_for("alert", alert_id=alert_id), what, alert_id, decide)

    def end(self, alert_id: str, what: str) -> AnyResponse:
        """End an acknowledgement or a silence."""
        return self._decided(
            url_for("alert", alert_id=alert_id),
            f"end of {what}",
            alert_id,
            lambda by: self._decisions.withdraw(ON_ALERTS[what], alert_id, by, _reason()),
        )

    def action(self, action_id: str, what: str) -> AnyResponse:
        """Accept or reject an action."""
        seen = request.form.get("content_hash", "")
        return self._decided(
            url_for("action", action_id=action_id),
            what,
            action_id,
            lambda by: self._decisions.on_action(ON_ACTIONS[what], action_id, seen, by, _reason()),
        )

    def handled(self, alert: AlertRecord, life: Sequence[AlertRecord]) -> dict[str, Any]:
        """Return ``acknowledged`` and ``silenced`` of an alert; with ``unknown``, one line, if they cannot be read."""
        try:
            found = self._decisions.about(alert, sorted((one.revision, one.severity) for one in life))
        except UserError as error:
            return {"unknown": printable(str(error))}
        return found._asdict()

    def _decided(self, back: str, what: str, identity: str, decide: Callable[[str], DecisionRecord]) -> AnyResponse:
        """Record the sender's decision, log it, and redirect to the page, which shows the result."""
        session = self._gate.user()
        about = {"decision": what, "id": identity, "by": session.user, "address": request.remote_addr}
        try:
            record = decide(session.user)
        except UnconfirmedError as error:
            log.warning("console.not_confirmed", **about, error=str(error))
            said(session, f"Not confirmed: {what}: {printable(str(error))}", is_error=True)
        except UserError as error:
            log.warning("console.not_decided", **about, error=str(error))
            said(session, f"Not recorded: {what}: {printable(str(error))}", is_error=True)
        else:
            log.info("console.decided", **about, reason=record.reason)
            said(session, _told(what, record))
        return redirect(back, 303)


def _told(what: str, record: DecisionRecord) -> str:
    is_lasting = record.until_ms is not None and record.until_ms > record.at_ms
    until = f", until {utc(record.until_ms or 0)}" if is_lasting else ""
    return f"Recorded: {what} of {short_id(record.id)}{until}, by {record.by}: {printable(record.reason)}"


def _reason() -> str:
    reason = request.form.get("reason", "").strip()
    if not reason:
        raise UserError("a decision needs a reason")
    if len(reason) > MOST_CHARACTERS:
        raise UserError(f"a reason has at most {MOST_CHARACTERS} characters")
    return reason


def _lasting() -> str:
    lasting = request.form.get("lasting", "").strip()
    if not written_ms(lasting):
        raise UserError(f"{lasting[:40]!r} is not a duration; write 2h, 90m or 1d")
    return lasting
