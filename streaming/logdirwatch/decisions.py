"""Decisions about alerts and brokers at a time: whether an alert is acknowledged or silenced, who did it, until when.

Pure: ``alerts``, ``status`` and ``notify`` all use this module, so that they never differ.
"""

from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from typing import NamedTuple

import msgspec

from logdirwatch.model.records import AlertPattern, AlertRecord, DecisionRecord
from logdirwatch.model.times import effective_ms
from logdirwatch.model.vocabulary import ActionStatus, AlertStatus, Decision, Severity

DECIDABLE = {Decision.ACCEPT: (ActionStatus.PROPOSED,), Decision.REJECT: (ActionStatus.PROPOSED, ActionStatus.ACCEPTED)}
"""The statuses of an action in which it can be accepted and rejected."""

MOST_CHARACTERS = 1_000
"""Of a reason, which every list and message about the alert shows."""

SENT_WITHIN_MS = 5_000
"""A decision is sent at once: one that is older when Kafka takes it was made by a clock that is behind."""

Severities = Sequence[tuple[int, Severity]]
"""The severities of an alert, each with its first revision."""


class AlertDecisions(NamedTuple):
    """How one alert is handled at a time; the alert itself keeps firing."""

    acknowledged: DecisionRecord | None = None
    silenced: DecisionRecord | None = None


class DecisionIndex:
    """The latest decision of every kind about every alert, each with its effective end.

    ``records`` are in the order of the topic, which decides. ``longest_ms`` bounds decisions without an end, or with a
    later one.
    """

    def __init__(self, records: Iterable[DecisionRecord], longest_ms: int) -> None:
        self._longest_ms = longest_ms
        newest = {(record.decision, record.id): record for record in records}
        bounded = {key: msgspec.structs.replace(r, until_ms=ends_ms(r, longest_ms)) for key, r in newest.items()}
        self._of_alert = {key: record for key, record in bounded.items() if record.matching is None}
        self._patterns = [record for record in bounded.values() if record.matching is not None]

    def about(self, alert: AlertRecord, severities: Severities, at_ms: int) -> AlertDecisions:
        """Return whether an alert is acknowledged and silenced at ``at_ms``; neither once it is resolved.

        A decision does not cover a higher severity: an acknowledgement or silence by id ends with the first revision
        that is more severe than it covers, one by a pattern applies while the alert is not more severe.
        """
        if alert.status is not AlertStatus.FIRING:
            return AlertDecisions()
        acknowledged = self._of_alert.get((Decision.ACKNOWLEDGE, alert.alert_id))
        own = self._of_alert.get((Decision.SILENCE, alert.alert_id))
        silences = [record for record in (own, *self._matching(alert)) if record is not None]
        lasting = [record for record in silences if self._holds(record, alert, severities, at_ms)]
        return AlertDecisions(
            acknowledged if acknowledged and self._holds(acknowledged, alert, severities, at_ms) else None,
            max(lasting, key=self._ends_ms, default=None),
        )

    def patterns(self, at_ms: int) -> list[DecisionRecord]:
        """Return the silences by pattern active at ``at_ms``, the one that ends first before the others."""
        running = [record for record in self._patterns if holds(record, self._longest_ms, at_ms)]
        return sorted(running, key=lambda record: (self._ends_ms(record), record.id))

    def _ends_ms(self, record: DecisionRecord) -> int:
        return ends_ms(record, self._longest_ms)

    def _matching(self, alert: AlertRecord) -> list[DecisionRecord]:
        return [record for record in self._patterns if record.matching is not None and matches(record.matching, alert)]

    def _holds(self, record: DecisionRecord, alert: AlertRecord, severities: Severities, at_ms: int) -> bool:
        if not holds(record, self._longest_ms, at_ms):
            return False
        return record.severity is None or _loudest(record, alert, severities).rank <= record.severity.rank


def _loudest(record: DecisionRecord, alert: AlertRecord, severities: Severities) -> Severity:
    since = () if record.revision is None else severities
    later = [severity for revision, severity in since if revision > (record.revision or 0)]
    return max([alert.severity, *later], key=lambda severity: severity.rank)


def matches(pattern: AlertPattern, alert: AlertRecord) -> bool:
    """Tell whether a pattern matches an alert; fields that it does not name match everything."""
    if pattern.log_dir is not None and (alert.log_dir is None or not fnmatchcase(alert.log_dir, pattern.log_dir)):
        return False
    return all(
        wanted is None or wanted == found
        for wanted, found in (
            (pattern.cluster, alert.cluster),
            (pattern.rule, alert.rule),
            (pattern.broker, alert.broker),
        )
    )


def dated(record: DecisionRecord, kafka_timestamp_ms: int, skew_ms: int) -> DecisionRecord:
    """Return a decision with Kafka's time if its own clock was wrong.

    If that was ahead, the decision's duration stays the same. If it was behind, its end stays: it may end earlier than
    was meant, and never hides anything for longer.
    """
    if record.at_ms < kafka_timestamp_ms - SENT_WITHIN_MS:
        return msgspec.structs.replace(record, at_ms=kafka_timestamp_ms)
    at_ms, is_ahead = effective_ms(record.at_ms, kafka_timestamp_ms, skew_ms)
    if not is_ahead:
        return record
    until_ms = None if record.until_ms is None else record.until_ms - record.at_ms + at_ms
    return msgspec.structs.replace(record, at_ms=at_ms, until_ms=until_ms)


def ends_ms(record: DecisionRecord, longest_ms: int) -> int:
    """Return when a decision ends: at its own end, and at the latest ``longest_ms`` after it was made."""
    latest_ms = record.at_ms + longest_ms
    return latest_ms if record.until_ms is None else min(record.until_ms, latest_ms)


def holds(record: DecisionRecord, longest_ms: int, at_ms: int) -> bool:
    """Tell whether a decision is in effect: from when it is known, as clocks differ, until its end.

    One that ends at once only ends an earlier decision.
    """
    return max(at_ms, record.at_ms) < ends_ms(record, longest_ms)


def maintenances(records: Iterable[DecisionRecord], longest_ms: int, at_ms: int | None = None) -> list[DecisionRecord]:
    """Return the last maintenance of every broker, by cluster and broker; with ``at_ms`` those active then.

    ``records`` are in the order of the topic.
    """
    newest: dict[tuple[str, int], DecisionRecord] = {}
    for record in records:
        if record.decision is not Decision.MAINTENANCE or record.cluster is None or record.broker is None:
            continue
        newest[record.cluster, record.broker] = record
    return [record for _, record in sorted(newest.items()) if at_ms is None or holds(record, longest_ms, at_ms)]
