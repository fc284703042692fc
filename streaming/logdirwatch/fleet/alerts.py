"""The lifecycle of a cluster's alerts: open, revise, resolve.

Only this module writes alert records of the ``fleet`` query. Revisions increase by one; none follows the resolving one.
"""

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from msgspec.structs import asdict, replace

from logdirwatch.config.section import HOUR_MS
from logdirwatch.detect.alerts.lifecycle import Alerts, Place, opened
from logdirwatch.detect.settings import DetectSettings
from logdirwatch.detect.state.broker_state import OpenAlert
from logdirwatch.fleet import wording
from logdirwatch.fleet.memory import FleetAlert, FleetMemory, alert_key
from logdirwatch.fleet.rules import NEWS_AT_ONCE, NEWS_LATER, moved
from logdirwatch.model.evidence import Evidence
from logdirwatch.model.vocabulary import AlertStatus, Rule, Severity

Subject = int | str | None
"""What an alert is about: a broker, an action, or the cluster."""


class Claim(NamedTuple):
    """The key facts of an alert, which decide whether a new revision is due."""

    severity: Severity
    to_status: str
    figures: tuple[int, ...] = ()


class Details(NamedTuple):
    """The full content of a revision, computed only when one is written."""

    evidence: Evidence
    affected: dict[str, Any]
    summary: str


class ClusterAlerts(Alerts):
    """The alerts of one cluster."""

    def __init__(self, memory: FleetMemory, update_interval_ms: int, detect: DetectSettings) -> None:
        super().__init__()
        self._memory = memory
        self._flapping_times, self._flapping_hold_ms = detect.flapping_times, detect.flapping_hold_ms
        self._update_interval_ms = update_interval_ms

    def get(self, rule: Rule, subject: Subject = None) -> FleetAlert | None:
        """Return the open alert of a rule about a subject."""
        return self._memory.alerts.get(alert_key(rule, subject))

    def lasting(self, rule: Rule, at_ms: int, *, is_wrong: bool, after_ms: int, hold_ms: int) -> bool | None:
        """Return True when the cluster's alert must fire, False when it must end, None while it is undecided.

        A condition must hold for ``after_ms`` before the alert fires and be absent for ``hold_ms`` before it ends.
        An alert that flaps is held open longer, and its summary says so.
        """
        alert = self.get(rule)
        if is_wrong:
            if alert is None and at_ms - self._memory.pending.setdefault(rule, at_ms) < after_ms:
                return None
            self._memory.pending.pop(rule, None)
            if alert is not None:
                alert.calm_since_ms = None
            return True
        self._memory.pending.pop(rule, None)
        if alert is None:
            return None
        alert.calm_since_ms = at_ms if alert.calm_since_ms is None else alert.calm_since_ms
        if at_ms - alert.calm_since_ms < hold_ms or self._is_held(rule, alert, alert.calm_since_ms, at_ms):
            return None
        self._memory.ended[rule] = [*self._ended(rule, at_ms), at_ms]
        return False

    def _ended(self, rule: Rule, at_ms: int) -> list[int]:
        """Return the times at which alerts of a rule ended within the last hour."""
        recent = [ended_ms for ended_ms in self._memory.ended.get(rule, []) if at_ms - ended_ms < HOUR_MS]
        return recent[1 - self._flapping_times :]

    def _is_held(self, rule: Rule, alert: FleetAlert, calm_since_ms: int, at_ms: int) -> bool:
        """Tell whether a flapping alert stays open; write one revision that says so."""
        times, until_ms = len(self._ended(rule, calm_since_ms)) + 1, calm_since_ms + self._flapping_hold_ms
        if times < self._flapping_times or at_ms >= until_ms:
            return False
        if alert.evidence.flapping is None:
            alert.evidence = replace(alert.evidence, flapping=times)
            alert.summary = wording.held(self._memory.cluster, rule, times, calm_since_ms, until_ms)
            self._fires(alert, at_ms)
        return True

    def fire(
        self, rule: Rule, subject: Subject, claim: Claim, details: Callable[[], Details], at_ms: int, origin: str
    ) -> FleetAlert:
        """Open an alert, or write its next revision if its facts changed."""
        alert = self.get(rule, subject)
        if alert is None:
            alert = self._open(rule, subject, claim, at_ms, origin)
        elif not self._says_more(alert, claim, at_ms):
            return alert
        else:
            alert.from_status, alert.to_status = alert.to_status, claim.to_status
        alert.severity, alert.figures, alert.stale_since_ms = claim.severity, claim.figures, None
        alert.evidence, alert.affected, alert.summary = details()
        self._fires(alert, at_ms)
        return alert

    def mark_stale(self, rule: Rule, since_ms: int, at_ms: int) -> None:
        """Mark the cluster's alert as stale; it keeps firing."""
        alert = self.get(rule)
        if alert is not None and alert.stale_since_ms is None:
            alert.stale_since_ms = since_ms
            self._fires(alert, at_ms)

    def open_alerts(self) -> Iterable[tuple[Rule, Place, OpenAlert]]:
        """Return every open alert of the cluster."""
        return ((alert.rule, self._place(alert), alert) for alert in self._memory.alerts.values())

    def _place(self, alert: FleetAlert) -> Place:
        return self._memory.cluster, alert.broker, None

    def resolve(
        self,
        rule: Rule,
        subject: Subject,
        reason: str,
        at_ms: int,
        *,
        to_status: str | None = None,
        merged_into: str | None = None,
    ) -> None:
        """Close an alert if it is open."""
        alert = self._memory.alerts.pop(alert_key(rule, subject), None)
        if alert is None:
            return
        alert.summary = wording.resolved(self._memory.cluster, subject, reason)
        place, at_ms = self._place(alert), _not_back(alert, at_ms)
        self._close(rule, place, alert, at_ms, reason, to_status=to_status, merged_into=merged_into)

    def _open(self, rule: Rule, subject: Subject, claim: Claim, at_ms: int, origin: str) -> FleetAlert:
        broker = subject if isinstance(subject, int) else None
        place = self._memory.cluster, broker, None
        begun = opened(place, rule, claim.severity, at_ms, origin, (None, claim.to_status))
        alert = FleetAlert(**asdict(begun), rule=rule, broker=broker)
        self._memory.alerts[alert_key(rule, subject)] = alert
        return alert

    def _says_more(self, alert: FleetAlert, claim: Claim, at_ms: int) -> bool:
        is_due = at_ms - alert.said_ms >= self._update_interval_ms
        return (
            claim.severity is not alert.severity
            or claim.to_status != alert.to_status
            or alert.stale_since_ms is not None
            or alert.evidence.flapping is not None
            or moved(alert.figures, claim.figures, NEWS_LATER if is_due else NEWS_AT_ONCE)
        )

    def _fires(self, alert: FleetAlert, at_ms: int) -> None:
        self._write(alert.rule, self._place(alert), alert, AlertStatus.FIRING, _not_back(alert, at_ms))


def _not_back(alert: FleetAlert, at_ms: int) -> int:
    """Return the time of a revision: a timer's and a record's come from two clocks; an alert's own never decreases."""
    return max(alert.said_ms, at_ms)
