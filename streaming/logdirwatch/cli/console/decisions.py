"""The decisions of the console: the same records as the command line's, written within its deadline."""

import time

from logdirwatch.cli import deciding
from logdirwatch.cli.actions.deciding import new_decision
from logdirwatch.cli.actions.lookup import find_action
from logdirwatch.cli.alerts.deciding import ended, firing, known_alerts, of_alert
from logdirwatch.cli.context import Context
from logdirwatch.cli.reading.records import now_ms, telemetry, waiting_for_kafka
from logdirwatch.decisions import AlertDecisions, Severities
from logdirwatch.errors import UserError
from logdirwatch.model.records import AlertRecord, DecisionRecord
from logdirwatch.model.vocabulary import Decision

LOOK = "at this page again in a few seconds"


class ConsoleDecisions:
    """Reads alerts and actions from their topics, never from the tables, which may be older."""

    def __init__(self, context: Context) -> None:
        self._context, self._cluster = context, telemetry(context)

    def on_alert(
        self, decision: Decision, alert_id: str, severity: str, by: str, reason: str, lasting: str
    ) -> DecisionRecord:
        """Acknowledge or silence a firing alert; raises UserError if its severity is not the one that was seen."""
        said = deciding.signed(by, reason)
        with waiting_for_kafka(time.monotonic()):
            alert = firing(known_alerts(self._context), alert_id)
            if alert.severity != severity:
                raise UserError(f"alert {alert.alert_id} is {alert.severity} by now: read it again before you decide")
            return self._written(of_alert(self._context, decision, alert, said, lasting))

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
