"""The severity of a broker's or log directory's state: its mark, its style, and its rank, the worst first. Pure."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from rich.text import Text

from logdirwatch.model.vocabulary import Severity
from logdirwatch.report.status.cluster import Broker, LogDir, OpenAlert
from logdirwatch.report.words import colour
from logdirwatch.text.words import short_id

HEALTHY = "ok"
LEGEND = {"!!": "act on it", "!": "look at it", "?": "not known now", HEALTHY: "healthy"}
"""The marks, the worst first."""

SHOWN_ALERTS = 2
_BADNESS = ("online", "filling", "degraded", "critical", "saturated", "unknown", "offline")
_BAD = {"critical", "saturated", "offline", "degraded"}
_LOUD = {Severity.PAGE, Severity.CRITICAL}


class Place(NamedTuple):
    """A broker, or one of its log directories, with the open alerts about exactly it."""

    broker: Broker
    log_dir: LogDir | None
    alerts: Sequence[OpenAlert]

    @property
    def subject(self) -> Broker | LogDir:
        """The broker or directory."""
        return self.broker if self.log_dir is None else self.log_dir

    @property
    def is_healthy(self) -> bool:
        """Whether nothing is known to be wrong with it."""
        return self.subject.status == "online" and not self.alerts

    @property
    def mark(self) -> str:
        """The mark in front of it."""
        if self.subject.status in _BAD or any(alert.severity in _LOUD for alert in self.alerts):
            return "!!"
        if self.subject.status == "unknown":
            return "?"
        return HEALTHY if self.is_healthy else "!"

    @property
    def badness(self) -> tuple[int, int, float]:
        """Its rank among others; the largest is the worst."""
        loudest = max((Severity(alert.severity).rank for alert in self.alerts), default=-1)
        return _badness(self.subject), loudest, (self.log_dir and self.log_dir.used_ratio) or 0.0


def places_of(brokers: Iterable[Broker], alerts: Sequence[OpenAlert]) -> list[Place]:
    """Return the brokers, the worst first."""
    by_broker = _by_place(alerts)
    return _worst_first([Place(broker, None, by_broker.get((broker.broker, None), ())) for broker in brokers])


def log_dir_places_of(brokers: Iterable[Broker], alerts: Sequence[OpenAlert]) -> list[Place]:
    """Return the log directories of all brokers, the worst first."""
    by_place = _by_place(alerts)
    return _worst_first(
        [
            Place(broker, log_dir, by_place.get((broker.broker, log_dir.log_dir), ()))
            for broker in brokers
            for log_dir in broker.log_dirs or ()
        ]
    )


def status_words(one: Broker | LogDir) -> str:
    """Return a status with its cause and, if it is unknown, the last known one."""
    cause = f" ({one.cause})" if isinstance(one, LogDir) and one.cause else ""
    was = f", was {one.last_status}" if one.status == "unknown" and one.last_status else ""
    return f"{one.status}{was}{cause}"


def style(one: Broker | LogDir) -> str:
    """Return the style of a status: an unknown one that was bad when last seen stays prominent."""
    is_bad = one.status == "unknown" and one.last_status in _BAD
    return colour(one.last_status if is_bad else one.status)


def alert_words(place: Place) -> str:
    """Return the open alerts about a place, as far as they fit."""
    named = [f"{alert.rule} {short_id(alert.alert_id)}" for alert in place.alerts[:SHOWN_ALERTS]]
    more = f" and {len(place.alerts) - SHOWN_ALERTS} more" if len(place.alerts) > SHOWN_ALERTS else ""
    return f"{', '.join(named)}{more}"


def legend(places: Iterable[Place]) -> Text:
    """Return what the marks of these places mean; empty if there are none."""
    used = {place.mark for place in places}
    told = ", ".join(f"{mark} {meaning}" for mark, meaning in LEGEND.items() if mark in used)
    return Text(f"marks: {told}" if told else "", style="dim")


def _by_place(alerts: Iterable[OpenAlert]) -> dict[tuple[int | None, str | None], list[OpenAlert]]:
    found: dict[tuple[int | None, str | None], list[OpenAlert]] = {}
    for alert in alerts:
        found.setdefault((alert.broker, alert.log_dir), []).append(alert)
    return found


def _worst_first(places: Iterable[Place]) -> list[Place]:
    return sorted(places, key=lambda place: place.badness, reverse=True)


def _badness(one: Broker | LogDir) -> int:
    return max(_rank(one.status), _rank(one.last_status)) if one.last_status in _BAD else _rank(one.status)


def _rank(status: str | None) -> int:
    return _BADNESS.index(status) if status in _BADNESS else len(_BADNESS)
