"""The alert list: which alerts are shown, in which order, in which words."""

from collections.abc import Iterable

from rich.console import RenderableType
from rich.text import Text

from logdirwatch.model.records import AlertRecord
from logdirwatch.model.vocabulary import AlertStatus
from logdirwatch.report.folding import is_heartbeat
from logdirwatch.report.layout import sentences
from logdirwatch.report.units import human_ago
from logdirwatch.report.words import change, colour, place, short_id, utc


def listed(alerts: Iterable[AlertRecord], *, everything: bool) -> list[AlertRecord]:
    """Return the alerts to show: loudest first, what halts a whole broker before the rest, then the oldest.

    Resolved ones come last, and only if asked for.
    """
    shown = [a for a in alerts if not is_heartbeat(a) and (everything or a.status is AlertStatus.FIRING)]
    return sorted(shown, key=_rank)


def _rank(alert: AlertRecord) -> tuple[bool, int, bool, int, str]:
    is_over, spares_broker = alert.status is AlertStatus.RESOLVED, not alert.evidence.get("halts_broker")
    return is_over, -alert.severity.rank, spares_broker, alert.opened_at_ms, alert.alert_id


def view(alerts: Iterable[AlertRecord], now_ms: int, width: int) -> RenderableType:
    """Return the alerts for people, at most ``width`` columns wide."""
    rows = [
        (
            _severity(alert),
            Text(_headline(alert)),
            Text(place(alert.cluster, alert.broker, alert.log_dir, between="\n")),
            Text(human_ago(alert.opened_at_ms, now_ms)),
            Text(short_id(alert.alert_id)),
            Text(_meaning(alert, now_ms)),
        )
        for alert in alerts
    ]
    return sentences(("severity", "alert", "where", "opened", "id"), rows, width)


def line(alert: AlertRecord) -> Text:
    """Return one revision of one alert on one line."""
    return Text(" ").join(
        [
            Text(utc(alert.at_ms), style="dim"),
            Text(f"{alert.severity:<8}", style=colour(alert.severity)),
            Text(f"{alert.status:<8}", style=colour(alert.status)),
            Text(f"{alert.rule} {short_id(alert.alert_id)}.{alert.revision} ({alert.lane})"),
            Text(place(alert.cluster, alert.broker, alert.log_dir)),
            Text(alert.summary),
        ]
    )


def _severity(alert: AlertRecord) -> Text:
    word = alert.severity if alert.status is AlertStatus.FIRING else alert.status
    return Text(word, style=colour(word))


def _headline(alert: AlertRecord) -> str:
    return f"{alert.rule}\n{change(alert.from_status, alert.to_status, alert.cause)}".strip()


def _meaning(alert: AlertRecord, now_ms: int) -> str:
    if alert.stale_since_ms is None:
        return alert.summary
    return f"{alert.summary} [nothing seen of it since {human_ago(alert.stale_since_ms, now_ms)}]"
