"""The result of a backtest: one line per alert, from its first revision to its last."""

from collections.abc import Iterable

from msgspec import Struct
from rich.console import RenderableType
from rich.text import Text

from logdirwatch.model.records import AlertRecord
from logdirwatch.model.vocabulary import AlertStatus, Rule, Severity
from logdirwatch.report.layout import sentences
from logdirwatch.report.words import colour, place
from logdirwatch.text.words import utc


class Fired(Struct, frozen=True, kw_only=True):
    """One alert that would have fired; ``ended_at_ms`` is None if it would still fire."""

    rule: Rule
    cluster: str
    broker: int | None
    log_dir: str | None
    severity: Severity
    opened_at_ms: int
    ended_at_ms: int | None
    reason: str | None
    revisions: int
    summary: str


def fired(alerts: Iterable[AlertRecord]) -> list[Fired]:
    """Return the alerts in the order they would have opened; ``severity`` is the highest of each."""
    lives: dict[str, list[AlertRecord]] = {}
    for alert in alerts:
        lives.setdefault(alert.alert_id, []).append(alert)
    return sorted(map(_of, lives.values()), key=lambda alert: (alert.opened_at_ms, alert.cluster, alert.broker or 0))


def _of(life: list[AlertRecord]) -> Fired:
    last = life[-1]
    is_over = last.status is AlertStatus.RESOLVED
    loudest = max(life, key=lambda alert: alert.severity.rank)
    return Fired(
        rule=last.rule,
        cluster=last.cluster,
        broker=last.broker,
        log_dir=last.log_dir,
        severity=loudest.severity,
        opened_at_ms=last.opened_at_ms,
        ended_at_ms=last.at_ms if is_over else None,
        reason=last.reason,
        revisions=len(life),
        summary=loudest.summary,
    )


def view(found: Iterable[Fired], width: int) -> RenderableType:
    """Return the alerts for people, at most ``width`` columns wide."""
    rows = [
        (
            Text(str(alert.severity), style=colour(alert.severity)),
            Text(str(alert.rule)),
            Text(place(alert.cluster, alert.broker, alert.log_dir, between="\n")),
            Text(utc(alert.opened_at_ms)),
            Text("open" if alert.ended_at_ms is None else f"{utc(alert.ended_at_ms)}\n{alert.reason}"),
            Text(alert.summary),
        )
        for alert in found
    ]
    return sentences(("severity", "alert", "where", "opened", "ended"), rows, width)
