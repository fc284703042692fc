"""The alert list: which alerts are shown, in which order and with which texts."""

from collections.abc import Iterable, Mapping

from rich.console import RenderableType
from rich.text import Text

from logdirwatch.decisions import AlertDecisions
from logdirwatch.model.evidence import read_as
from logdirwatch.model.evidence.log_dirs import LogDirSpaceEvidence
from logdirwatch.model.records import AlertRecord
from logdirwatch.model.vocabulary import AlertStatus
from logdirwatch.report.folding import is_heartbeat
from logdirwatch.report.handling import UNDECIDED, marks, short_marks
from logdirwatch.report.layout import sentences
from logdirwatch.report.words import change, colour, place, the_one
from logdirwatch.text.printable import printable
from logdirwatch.text.units import human_ago
from logdirwatch.text.words import short_id, utc


def listed(
    alerts: Iterable[AlertRecord], decided_by_alert: Mapping[str, AlertDecisions] | None = None, *, everything: bool
) -> list[AlertRecord]:
    """Return the alerts to show: by severity, those that halt a whole broker first, then by age.

    Silenced ones (``decided_by_alert`` by ``alert_id``) come after them, resolved ones last and only if asked for.
    """
    silenced = {name for name, decided in (decided_by_alert or {}).items() if decided.silenced is not None}
    shown = [a for a in alerts if not is_heartbeat(a) and (everything or a.status is AlertStatus.FIRING)]
    return sorted(sorted(shown, key=_rank), key=lambda alert: (_rank(alert)[0], alert.alert_id in silenced))


def find(alerts: Iterable[AlertRecord], identity: str) -> AlertRecord:
    """Return the alert whose id is, or begins with, ``identity``; raises UserError when none or several do."""
    none = f"no alert {identity!r}; list them with: logdirwatch alerts --all, or logdirwatch actions --all"
    return the_one((a for a in alerts if not is_heartbeat(a)), identity, lambda alert: alert.alert_id, none, "alerts")


def _rank(alert: AlertRecord) -> tuple[bool, int, bool, int, str]:
    is_over, spares_broker = (
        alert.status is AlertStatus.RESOLVED,
        not read_as(alert.evidence, LogDirSpaceEvidence).halts_broker,
    )
    return is_over, -alert.severity.rank, spares_broker, alert.opened_at_ms, alert.alert_id


def view(
    alerts: Iterable[AlertRecord], now_ms: int, width: int, decided_by_alert: Mapping[str, AlertDecisions] | None = None
) -> RenderableType:
    """Return the alerts for people, at most ``width`` columns wide."""
    known = decided_by_alert or {}
    rows = [
        (
            _severity(alert),
            Text(_headline(alert)),
            Text(place(alert.cluster, alert.broker, alert.log_dir, between="\n")),
            Text(human_ago(alert.opened_at_ms, now_ms)),
            Text(short_id(alert.alert_id)),
            Text(" ".join([meaning(alert, now_ms), *_said(known.get(alert.alert_id))])),
        )
        for alert in alerts
    ]
    return sentences(("severity", "alert", "where", "opened", "id"), rows, width)


def line(alert: AlertRecord, decided: AlertDecisions = UNDECIDED) -> Text:
    """Return one revision of one alert on one line, cut off at the width of the terminal."""
    handled = "".join(f"[{word}] " for word in short_marks(decided))
    return Text(" ").join(
        [
            Text(utc(alert.at_ms), style="dim"),
            Text(f"{_severity(alert).plain:<8}", style=_severity(alert).style),
            Text(f"{alert.rule} {short_id(alert.alert_id)}.{alert.revision}"),
            Text(printable(f"{place(alert.cluster, None, None)}: {handled}{alert.summary}")),
        ]
    )


def _said(decided: AlertDecisions | None) -> list[str]:
    return [f"[{mark}]" for mark in marks(decided or UNDECIDED)]


def _severity(alert: AlertRecord) -> Text:
    word = alert.severity if alert.status is AlertStatus.FIRING else alert.status
    return Text(word, style=colour(word))


def _headline(alert: AlertRecord) -> str:
    return f"{alert.rule}\n{change(alert.from_status, alert.to_status, alert.cause)}".strip()


def meaning(alert: AlertRecord, now_ms: int) -> str:
    """Return an alert's summary and, if it is stale, since when."""
    summary = printable(alert.summary)
    if alert.stale_since_ms is None:
        return summary
    return f"{summary} [not monitored since {human_ago(alert.stale_since_ms, now_ms)}]"
