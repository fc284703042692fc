"""The lifecycle of alerts: open with an id, revise on changes, resolve with a reason.

Only this module writes alert records of the stateful lane. Revisions increase by one; a record is written only when
the alert has changed.
"""

import zlib
from collections.abc import Collection, Iterable
from typing import Any

from msgspec.structs import replace

from logdirwatch.config.section import DAY_MS, HOUR_MS
from logdirwatch.detect.alerts import hints, messages
from logdirwatch.detect.settings import DetectSettings
from logdirwatch.detect.state.broker_state import BrokerMemory, LogDirMemory, OpenAlert
from logdirwatch.model.evidence import Evidence
from logdirwatch.model.identity import alert_id
from logdirwatch.model.record_part import in_common
from logdirwatch.model.records import AlertRecord
from logdirwatch.model.vocabulary import AlertStatus, Cause, Lane, MetadataMode, Rule, Severity

_COMES_BACK = frozenset({Rule.LOG_DIR_OFFLINE, Rule.BROKER_OFFLINE})
Holder = BrokerMemory | LogDirMemory
RECOVERED = "recovered"
"""The reason of an alert whose evidence is good again; flapping delays only this one."""
TOLD_KEPT = 12
RENEWED_AFTER_MS = 7 * DAY_MS
"""Maximum age of the last revision of a firing alert: the topic may delete records after 30 days."""


Transition = tuple[str | None, str | None]
"""The status before, and after."""
Place = tuple[str, int | None, str | None]
"""What an alert is about: cluster, broker and directory."""


class Alerts:
    """The alerts of one subject; ``records`` collects the revisions to write."""

    def __init__(self) -> None:
        self.records: list[AlertRecord] = []

    def open_alerts(self) -> Iterable[tuple[Rule, Place, OpenAlert]]:
        """Return every open alert with its rule and place."""
        raise NotImplementedError

    def renew(self, at_ms: int) -> None:
        """Write unchanged firing alerts again when their last revision is old."""
        for rule, place, alert in self.open_alerts():
            if at_ms - alert.said_ms >= RENEWED_AFTER_MS:
                self._write(rule, place, alert, AlertStatus.FIRING, at_ms)

    def _close(
        self,
        rule: Rule,
        place: Place,
        alert: OpenAlert,
        at_ms: int,
        reason: str,
        *,
        to_status: str | None = None,
        merged_into: str | None = None,
    ) -> None:
        """Write the last revision of an alert, with the summary that it has."""
        alert.from_status, alert.to_status = alert.to_status, to_status
        alert.stale_since_ms = None
        self._write(rule, place, alert, AlertStatus.RESOLVED, at_ms, reason=reason, merged_into=merged_into)

    def _write(
        self,
        rule: Rule,
        place: Place,
        alert: OpenAlert,
        status: AlertStatus,
        at_ms: int,
        *,
        reason: str | None = None,
        merged_into: str | None = None,
    ) -> None:
        self.records.append(next_revision(alert, rule, place, status, at_ms, reason=reason, merged_into=merged_into))


def opened(
    place: Place, rule: Rule, severity: Severity, at_ms: int, origin: str, transition: Transition = (None, None)
) -> OpenAlert:
    """Return an alert of which nothing is written yet; its identity follows from its place and the record behind it."""
    return OpenAlert(
        alert_id=alert_id(*place, rule, origin),
        revision=0,
        severity=severity,
        opened_at_ms=at_ms,
        from_status=transition[0],
        to_status=transition[1],
    )


class BrokerAlerts(Alerts):
    """The alerts of one broker and its directories."""

    def __init__(self, memory: BrokerMemory, settings: DetectSettings) -> None:
        super().__init__()
        self._memory = memory
        self._settings = settings

    def _place(self, path: str | None) -> Place:
        return self._memory.cluster, self._memory.broker, path

    def open_alerts(self) -> Iterable[tuple[Rule, Place, OpenAlert]]:
        """Return those of the broker, then those of its directories."""
        for path, holder in self.holders():
            yield from ((rule, self._place(path), alert) for rule, alert in holder.alerts.items())

    def holder(self, path: str | None) -> Holder:
        """Return the holder of the alerts of a directory, or of the broker (None)."""
        return self._memory if path is None else self._memory.log_dirs[path]

    def holders(self) -> list[tuple[str | None, Holder]]:
        """Return those that hold an alert now, each with its path: the broker first, then its directories."""
        memory = self._memory
        found: list[tuple[str | None, Holder]] = [(None, memory)] if memory.alerts else []
        return [*found, *((path, log_dir) for path, log_dir in memory.log_dirs.items() if log_dir.alerts)]

    def raise_alert(
        self,
        rule: Rule,
        path: str | None,
        *,
        severity: Severity,
        transition: Transition,
        cause: Cause | None = None,
        evidence: Evidence,
        affected: dict[str, Any],
        summary: str,
        at_ms: int,
        origin: str,
        identity: str | None = None,
    ) -> OpenAlert:
        """Open the alert of ``rule``, or write its next revision when severity, status, cause or freshness changed.

        ``identity`` is the alert_id that the fast lane has used.
        """
        holder = self.holder(path)
        alert = holder.alerts.get(rule)
        if alert is None:
            alert = holder.alerts[rule] = opened(self._place(path), rule, severity, at_ms, origin, transition)
            alert.alert_id = identity or alert.alert_id
        was_held, alert.calm_since_ms = alert.evidence.flapping is not None, None
        flapping = self._flapping(rule, holder, alert, at_ms)
        says = _digest(severity, transition[1], cause, evidence)
        if alert.revision:
            is_back = was_held and flapping is None
            if not is_back and not _says_more(alert, severity, transition[1], cause, evidence):
                alert.wanted = None
                return alert
            is_worse = severity.rank > alert.severity.rank
            if not is_back and not is_worse and self._turns_back(alert, says, at_ms):
                return alert
            alert.from_status, alert.to_status = transition
        alert.told, alert.wanted = [*alert.told, (says, at_ms)][-TOLD_KEPT:], None
        alert.severity, alert.cause, alert.stale_since_ms = severity, cause, None
        # Brokers on one host fail together: notifications group alerts by it.
        common = {"host": self._memory.host or None, "has_zookeeper": self._has_zookeeper()}
        if flapping is not None:
            summary = messages.flapping(self._memory, path, rule, flapping, self._settings.flapping_hold_ms, summary)
        alert.evidence = replace(evidence, **common, flapping=flapping)
        alert.affected, alert.summary = affected, summary
        self._write(rule, self._place(path), alert, AlertStatus.FIRING, at_ms)
        return alert

    def _flapping(self, rule: Rule, holder: Holder, alert: OpenAlert, at_ms: int) -> int | None:
        """Return how often an alert ended that goes on flapping while it is held open; None if its fault is back.

        The first time that is told; from then on once it has lasted for as long as it must be well.
        """
        times, last_ms = alert.evidence.flapping or 0, max(holder.ended.get(rule, []), default=0)
        is_often = times > self._settings.flapping_times and at_ms - last_ms < self._settings.flapping_hold_ms
        return times if is_often else None

    def _turns_back(self, alert: OpenAlert, says: int, at_ms: int) -> bool:
        """Tell whether a revision would only say again what was said within the hour, after it did so several times.

        It is written once it has been so for a while. New facts, and a higher severity, are told at once.
        """
        if alert.wanted is None or alert.wanted[0] != says:
            alert.wanted = says, at_ms
        told = [digest for digest, told_ms in alert.told if at_ms - told_ms < HOUR_MS]
        is_often = says in told and len(told) - len(set(told)) >= self._settings.flapping_times
        return is_often and at_ms - alert.wanted[1] < self._settings.flapping_hold_ms

    def _has_zookeeper(self) -> bool | None:
        """Return True for a broker with ZooKeeper: a runbook must know, also before there is any table."""
        return True if self._memory.metadata_mode is MetadataMode.ZOOKEEPER else None

    def mark_stale(
        self, path: str | None, since_ms: int, *, fresh: Collection[Rule] = (), only: Collection[Rule] | None = None
    ) -> None:
        """Mark every alert of a place as stale, except those of ``fresh``; they keep firing.

        ``only`` limits it to the alerts of some rules.
        """
        for rule, alert in self.holder(path).alerts.items():
            if alert.stale_since_ms is None and rule not in fresh and (only is None or rule in only):
                alert.stale_since_ms = since_ms
                self._write(rule, self._place(path), alert, AlertStatus.FIRING, since_ms)

    def resolve(
        self,
        rule: Rule,
        path: str | None,
        reason: str,
        at_ms: int,
        *,
        to_status: str | None = None,
        into: OpenAlert | None = None,
    ) -> None:
        """Close the alert of ``rule`` if it is open; a flapping one only after its evidence has been good for a while.

        ``into`` is the open alert that replaces it.
        """
        holder = self.holder(path)
        alert = holder.alerts.get(rule)
        if alert is None or (reason == RECOVERED and self._is_held(rule, path, alert, at_ms)):
            return
        del holder.alerts[rule]
        alert.summary = messages.resolved(self._memory, path, reason, rule)
        if reason == RECOVERED and rule in _COMES_BACK:
            alert.summary += hints.catching_up(self._memory)
        merged_into = None if into is None else into.alert_id
        self._close(rule, self._place(path), alert, at_ms, reason, to_status=to_status, merged_into=merged_into)

    def _is_held(self, rule: Rule, path: str | None, alert: OpenAlert, at_ms: int) -> bool:
        """Tell whether a flapping alert stays open; write one revision that says so, and when it would have ended.

        If its fault was back in between, the text is one that holds whether it is there or not.
        """
        holder, settings = self.holder(path), self._settings
        ended = [ended_ms for ended_ms in holder.ended.get(rule, []) if at_ms - ended_ms < HOUR_MS]
        if alert.calm_since_ms is None:
            alert.calm_since_ms = at_ms
            ended = [*ended, at_ms][-settings.flapping_times - 1 :]
        holder.ended[rule] = ended
        if len(ended) < settings.flapping_times:
            return False
        if alert.evidence.flapping is None:
            alert.summary = self._flaps(rule, path, alert.summary, alert.calm_since_ms, len(ended))
            alert.evidence = replace(alert.evidence, flapping=len(ended))
            self._write(rule, self._place(path), alert, AlertStatus.FIRING, at_ms)
        return at_ms - alert.calm_since_ms < settings.flapping_hold_ms

    def _flaps(self, rule: Rule, path: str | None, summary: str, calm_since_ms: int, times: int) -> str:
        memory, hold_ms = self._memory, self._settings.flapping_hold_ms
        if times > self._settings.flapping_times:
            return messages.flapping(memory, path, rule, times, hold_ms, summary)
        return messages.held(memory, path, rule, times, (calm_since_ms, calm_since_ms + hold_ms))

    def resolve_all(self, path: str | None, reason: str, at_ms: int) -> None:
        """Close every alert of a place."""
        for rule in list(self.holder(path).alerts):
            self.resolve(rule, path, reason, at_ms)

    def answer_fast(self, identity: str, event_ms: int, at_ms: int, merged_into: str | None) -> None:
        """Close an alert that only the fast lane opened: merged into another one, or unconfirmed."""
        summary = messages.merged(self._memory) if merged_into else messages.unconfirmed(self._memory)
        answered = opened(self._place(None), Rule.LOG_DIR_OFFLINE, Severity.INFO, event_ms, identity)
        answered.alert_id, answered.summary = identity, summary
        reason = "merged" if merged_into else "unconfirmed"
        self._close(Rule.LOG_DIR_OFFLINE, self._place(None), answered, at_ms, reason, merged_into=merged_into)


_of_alert = in_common(OpenAlert, AlertRecord)


def next_revision(
    alert: OpenAlert,
    rule: Rule,
    place: Place,
    status: AlertStatus,
    at_ms: int,
    *,
    reason: str | None = None,
    merged_into: str | None = None,
) -> AlertRecord:
    """Return the next record of an alert and raise its revision; ``place`` is cluster, broker and directory."""
    alert.revision += 1
    alert.said_ms = max(alert.said_ms, at_ms)
    cluster, broker, log_dir = place
    return AlertRecord(
        **_of_alert(alert),
        version=1,
        status=status,
        rule=rule,
        cluster=cluster,
        broker=broker,
        log_dir=log_dir,
        at_ms=at_ms,
        lane=Lane.STATEFUL,
        reason=reason,
        merged_into=merged_into,
    )


def _digest(severity: Severity, to_status: str | None, cause: Cause | None, evidence: Evidence) -> int:
    return zlib.crc32(repr((severity, to_status, cause, evidence.news)).encode())


def _says_more(
    alert: OpenAlert, severity: Severity, to_status: str | None, cause: Cause | None, evidence: Evidence
) -> bool:
    return (
        evidence.is_news_after(alert.evidence)
        or severity is not alert.severity
        or to_status != alert.to_status
        or cause is not alert.cause
        or alert.stale_since_ms is not None
    )
