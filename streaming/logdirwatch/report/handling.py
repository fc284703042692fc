"""Decisions about alerts and brokers as commands show them: who, why, and until when."""

from collections.abc import Callable, Iterable
from typing import Any

import msgspec
from msgspec import Struct
from rich.console import RenderableType
from rich.text import Text

from logdirwatch import decisions
from logdirwatch.decisions import AlertDecisions, DecisionIndex, Severities
from logdirwatch.model.record_part import in_common
from logdirwatch.model.records import AlertRecord, DecisionRecord
from logdirwatch.model.vocabulary import AlertStatus
from logdirwatch.report.layout import sentences
from logdirwatch.report.words import place
from logdirwatch.text.printable import printable
from logdirwatch.text.units import human_ms
from logdirwatch.text.words import short_id, utc

UNDECIDED = AlertDecisions()


class Word(Struct, kw_only=True):
    """A decision and until when it is in effect."""

    by: str
    owner: str
    reason: str
    at_ms: int
    until_ms: int | None


class Handled(Struct, kw_only=True):
    """A firing alert with a decision about it."""

    alert_id: str
    rule: str
    severity: str
    broker: int | None
    log_dir: str | None
    acknowledged: Word | None
    silenced: Word | None


class Planned(Struct, kw_only=True):
    """A maintenance of a broker."""

    cluster: str
    broker: int
    by: str
    reason: str
    at_ms: int
    until_ms: int
    is_running: bool


_of_decision = in_common(DecisionRecord, Word)
_of_maintenance = in_common(DecisionRecord, Planned)
_of_alert = in_common(AlertRecord, Handled)


class Handling:
    """All decisions as of a time, each with its effective end."""

    def __init__(
        self,
        records: Iterable[DecisionRecord],
        severities: Callable[[str], Severities],
        *,
        longest_ms: int,
        longest_maintenance_ms: int,
    ) -> None:
        self._records = list(records)
        self._latest = DecisionIndex(self._records, longest_ms)
        self._severities = severities
        self._longest_maintenance_ms = longest_maintenance_ms

    def about(self, alert: AlertRecord, at_ms: int) -> AlertDecisions:
        """Return how an alert is handled."""
        return self._latest.about(alert, self._severities(alert.alert_id), at_ms)

    def about_each(self, alerts: Iterable[AlertRecord], at_ms: int) -> dict[str, AlertDecisions]:
        """Return how the firing alerts are handled, by ``alert_id``; those without a decision are left out."""
        firing = (alert for alert in alerts if alert.status is AlertStatus.FIRING)
        found = {alert.alert_id: self.about(alert, at_ms) for alert in firing}
        return {name: decided for name, decided in found.items() if decided != UNDECIDED}

    def patterns(self, at_ms: int) -> list[DecisionRecord]:
        """Return the active silences by pattern."""
        return self._latest.patterns(at_ms)

    def planned(self, at_ms: int, cluster: str | None = None, *, everything: bool = False) -> list[Planned]:
        """Return the active maintenance of one cluster or of all; with ``everything`` the last of each broker."""
        longest_ms = self._longest_maintenance_ms
        running = decisions.maintenances(self._records, longest_ms, at_ms)
        shown = decisions.maintenances(self._records, longest_ms) if everything else running
        chosen = (record for record in shown if cluster in {None, record.cluster})
        return [_planned(record, longest_ms, is_running=record in running) for record in chosen]


def _planned(record: DecisionRecord, longest_ms: int, *, is_running: bool) -> Planned:
    assert record.cluster is not None
    assert record.broker is not None
    return Planned(
        **_of_maintenance(record) | {"until_ms": decisions.ends_ms(record, longest_ms)}, is_running=is_running
    )


def handled(alerts: Iterable[AlertRecord], handling: Handling, at_ms: int) -> list[Handled]:
    """Return the firing alerts with decisions, the most severe first."""
    alerts = list(alerts)
    decided_by_alert = handling.about_each(alerts, at_ms)
    spoken_of = [alert for alert in alerts if alert.alert_id in decided_by_alert]
    return [
        Handled(
            **_of_alert(alert),
            acknowledged=word(decided_by_alert[alert.alert_id].acknowledged),
            silenced=word(decided_by_alert[alert.alert_id].silenced),
        )
        for alert in sorted(spoken_of, key=lambda alert: alert.order)
    ]


def word(record: DecisionRecord | None) -> Word | None:
    """Return a short form of a decision."""
    if record is None:
        return None
    return Word(**_of_decision(record) | {"owner": record.owner or record.by})


def document(alert: AlertRecord, decided: AlertDecisions) -> dict[str, Any]:
    """Return an alert for programs: its record, and how it is handled."""
    said = {"acknowledged": word(decided.acknowledged), "silenced": word(decided.silenced)}
    document: dict[str, Any] = msgspec.to_builtins(alert)
    return {**document, **said}


def marks(decided: AlertDecisions) -> list[str]:
    """Return how an alert is handled, as phrases."""
    said = (("acknowledged", word(decided.acknowledged)), ("silenced", word(decided.silenced)))
    return [phrase(what, spoken) for what, spoken in said if spoken is not None]


def short_marks(decided: AlertDecisions) -> list[str]:
    """Return how an alert is handled, and who decided it, without the reason and the end."""
    said = (("acknowledged", word(decided.acknowledged)), ("silenced", word(decided.silenced)))
    return [f"{what} by {spoken.by}" for what, spoken in said if spoken is not None]


def phrase(what: str, spoken: Word) -> str:
    """Return a decision as ``silenced by ada until ...: why``."""
    owner = "" if spoken.owner == spoken.by else f", owner {spoken.owner},"
    until = "an unknown time" if spoken.until_ms is None else utc(spoken.until_ms)
    return printable(f"{what} by {spoken.by}{owner} until {until}: {spoken.reason}")


Saying = tuple[DecisionRecord, AlertRecord | None]
"""An active decision and its alert; None for a pattern."""


def sayings(alerts: Iterable[AlertRecord], handling: Handling, at_ms: int) -> list[Saying]:
    """Return the active decisions about alerts, followed by the silences by pattern."""
    known = {alert.alert_id: alert for alert in alerts}
    decided_by_alert = handling.about_each(known.values(), at_ms)
    of_alerts = [
        (record, known[name])
        for name, decided in decided_by_alert.items()
        for record in decided
        if record is not None and record.matching is None
    ]
    in_order = sorted(of_alerts, key=lambda saying: (saying[0].until_ms or 0, saying[0].id, saying[0].decision))
    return [*in_order, *((record, None) for record in handling.patterns(at_ms))]


def about(record: DecisionRecord, alert: AlertRecord | None = None) -> str:
    """Return the target of a decision about alerts, in words."""
    if alert is not None:
        return f"{alert.rule} of {place(alert.cluster, alert.broker, alert.log_dir)}"
    pattern = record.matching
    if pattern is None:
        return short_id(record.id)
    where = (("cluster", pattern.cluster), ("broker", pattern.broker), ("log directory", pattern.log_dir))
    named = [f"{name} {value}" for name, value in where if value is not None]
    return printable(" of ".join([f"all {pattern.rule or 'alerts'}", *([", ".join(named)] if named else [])]))


def sayings_view(found: Iterable[Saying], at_ms: int, width: int) -> RenderableType:
    """Return decisions about alerts for people, at most ``width`` columns wide."""
    rows = [
        (
            Text(record.decision),
            Text(about(record, alert)),
            Text(f"up to {record.severity}" if record.severity else "all"),
            Text(f"{human_ms((record.until_ms or at_ms) - at_ms)} more"),
            Text(short_id(record.id)),
            Text(printable(f"by {record.by}{f', owner {record.owner}' if record.owner else ''}: {record.reason}")),
        )
        for record, alert in found
    ]
    return sentences(("decision", "about", "severity", "holds", "id"), rows, width)


def planned_view(found: Iterable[Planned], at_ms: int, width: int) -> RenderableType:
    """Return maintenance of brokers for people, at most ``width`` columns wide."""
    rows = [
        (
            Text(f"broker {planned.broker}"),
            Text(planned.cluster),
            Text(f"{human_ms(planned.until_ms - at_ms)} more" if planned.is_running else "over"),
            Text(utc(planned.until_ms)),
            Text(printable(f"by {planned.by}: {planned.reason}")),
        )
        for planned in found
    ]
    return sentences(("broker", "cluster", "lasts", "until"), rows, width)
