"""The result of a backtest: one line per alert, from its first revision to its last.

Rules are compared over a known history: by their false alerts, and by how long before a directory was full they fired.
"""

import statistics
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from msgspec import Struct
from rich.console import RenderableType
from rich.text import Text

from logdirwatch.config.section import DAY_MS, HOUR_MS
from logdirwatch.model.record_part import in_common
from logdirwatch.model.records import AlertRecord
from logdirwatch.model.vocabulary import AlertStatus, Rule, Severity
from logdirwatch.report.layout import listing, sentences
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


_of_alert = in_common(AlertRecord, Fired)


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
    told = {"severity": loudest.severity, "summary": loudest.summary}
    ended_at_ms = last.at_ms if is_over else None
    return Fired(**_of_alert(last) | told, ended_at_ms=ended_at_ms, revisions=len(life))


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


WITHIN_MS = 7 * DAY_MS
"""An alert is false if its directory is neither full nor enlarged so long after. No longer warning counts as gained."""
STILL_MS = DAY_MS
"""A directory that becomes full was told by the alerts of its last day, those that ended in it included."""
ENLARGED_RATIO = 1.01

Place = tuple[str, int, str]
"""Cluster, broker and directory."""


class Interval(NamedTuple):
    """A time in which something held; an end of None: to the end of the history."""

    from_ms: int
    to_ms: int | None = None

    def meets(self, from_ms: int, to_ms: int) -> bool:
        """Tell whether a part of it is in a time."""
        return self.from_ms <= to_ms and (self.to_ms is None or self.to_ms >= from_ms)


class Past:
    """What became of one directory: when it was full, and when its volume was enlarged.

    It is full from ``full_ratio`` on, until it is ``back_ratio`` below it.
    """

    def __init__(self, full_ratio: float, back_ratio: float) -> None:
        self._full_ratio, self._back_ratio = full_ratio, back_ratio
        self._total_bytes = 0
        self.first_ms: int | None = None
        self.full: list[Interval] = []
        self.enlarged: list[Interval] = []

    def note(self, at_ms: int, total_bytes: int, usable_bytes: int) -> None:
        """Add what was known at a time, later than all before."""
        self.first_ms = at_ms if self.first_ms is None else self.first_ms
        used_ratio, is_full = 1 - usable_bytes / total_bytes, bool(self.full) and self.full[-1].to_ms is None
        if not is_full and used_ratio >= self._full_ratio:
            self.full.append(Interval(at_ms))
        elif is_full and used_ratio < self._full_ratio - self._back_ratio:
            self.full[-1] = Interval(self.full[-1].from_ms, at_ms)
        if 0 < self._total_bytes * ENLARGED_RATIO < total_bytes:
            self.enlarged.append(Interval(at_ms, at_ms))
        self._total_bytes = total_bytes

    @property
    def filled_ms(self) -> list[int]:
        """When it became full, as far as its history begins before."""
        return [interval.from_ms for interval in self.full if interval.from_ms != self.first_ms]


class RuleFired(NamedTuple):
    """One alert of a rule about a directory."""

    place: Place
    during: Interval


class Compared(Struct, frozen=True, kw_only=True):
    """What a rule would have told; the hours are those before a directory was full, the median, 0 if it did not."""

    rule: str
    alerts: int
    false_alerts: int
    full: int
    told: int
    hours_before: float | None
    hours_gained: float | None
    """How many more hours the first rule would have given: the median over the directories that became full."""


def compared(
    rules: Sequence[tuple[str, Sequence[RuleFired]]], pasts: dict[Place, Past], until_ms: int
) -> list[Compared]:
    """Return the rules in their order; the first is the one that the others are compared with."""
    fills = [(place, at_ms) for place, past in sorted(pasts.items()) for at_ms in past.filled_ms]
    ahead = [[_hours_before(fired, place, at_ms) for place, at_ms in fills] for _, fired in rules]
    return [
        Compared(
            rule=name,
            alerts=len(fired),
            false_alerts=sum(_is_false(one, pasts[one.place], until_ms) for one in fired),
            full=len(fills),
            told=sum(hours > 0 for hours in mine),
            hours_before=_median(mine),
            hours_gained=_median([first - hours for first, hours in zip(ahead[0], mine, strict=True)]),
        )
        for (name, fired), mine in zip(rules, ahead, strict=True)
    ]


def _median(hours: Sequence[float]) -> float | None:
    return round(statistics.median(hours), 1) if hours else None


def _is_false(fired: RuleFired, past: Past, until_ms: int) -> bool:
    from_ms, to_ms = fired.during.from_ms, fired.during.from_ms + WITHIN_MS
    return to_ms <= until_ms and not any(one.meets(from_ms, to_ms) for one in (*past.full, *past.enlarged))


def _hours_before(fired: Iterable[RuleFired], place: Place, full_ms: int) -> float:
    begun = [
        one.during.from_ms for one in fired if one.place == place and one.during.meets(full_ms - STILL_MS, full_ms)
    ]
    return min(full_ms - min(begun, default=full_ms), WITHIN_MS) / HOUR_MS


def comparison(rows: Iterable[Compared], width: int) -> RenderableType:
    """Return the comparison for people, at most ``width`` columns wide."""
    headers = ("rule", "alerts", "false", "full told", "hours before", "gained")
    cells = [
        [
            row.rule,
            f"{row.alerts:,}",
            f"{row.false_alerts:,}",
            f"{row.told} of {row.full}",
            _hours(row.hours_before),
            _hours(row.hours_gained),
        ]
        for row in rows
    ]
    return listing(headers, [[Text(cell) for cell in line] for line in cells], width)


def _hours(hours: float | None) -> str:
    return "-" if hours is None else f"{hours:g}"
