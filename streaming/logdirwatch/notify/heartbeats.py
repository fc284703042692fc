"""The dead man's switch: which clusters' signs of life came through, and the alert when they stopped. Pure.

Heartbeats prove the way through the state machine, canaries the fast lane.
"""

from collections.abc import Collection, Iterable

from logdirwatch.config.section import DAY_MS
from logdirwatch.model.records import AlertRecord
from logdirwatch.model.vocabulary import Lane, Severity
from logdirwatch.notify.settings import SwitchSettings
from logdirwatch.notify.signs import Kind, Watch
from logdirwatch.report.status.snapshot import ROUNDS_MISSED

GATHER_MS = 15_000
"""How long one silent cluster waits to see whether all are: heartbeats of a broken path end within 10 s."""


class Switch:
    """Listens for signs of life of the configured clusters, and of any whose sign the topic has of the last day.

    Canaries are missed only where they ever came, and not while there are no heartbeats either: one collector sends
    both.
    """

    def __init__(self, settings: SwitchSettings, clusters: Iterable[str], canary_interval_ms: int, now_ms: int) -> None:
        self._is_off = not settings.timeout_ms
        self._configured = tuple(clusters)
        self._started_ms = now_ms
        self._heartbeats = Watch(_heartbeats(settings), self._configured, now_ms)
        self._canaries = Watch(_canaries(settings, canary_interval_ms), (), now_ms)

    def remember(self, told: Collection[str]) -> None:
        """Go on crying where receivers know of it from before a restart, until a sign comes through."""
        if not self._is_off:
            self._heartbeats.remember(told)
            self._canaries.remember(told)

    def history(self, sign: AlertRecord) -> None:
        """Take in a sign that is on the topic since before this start: it proves nothing of now."""
        if sign.at_ms >= self._started_ms - DAY_MS or sign.cluster in self._configured:
            self._watch(sign).is_news(sign)

    def hear(self, sign: AlertRecord, now_ms: int) -> None:
        """Take in a sign that came through just now."""
        self._watch(sign).hear(sign, now_ms)

    def alerts(self, now_ms: int) -> list[AlertRecord]:
        """Return an alert for each cluster that is silent, or was since the start; one for all if all are."""
        if self._is_off:
            return []
        self._canaries.excuse(self._heartbeats.silent(now_ms), now_ms)
        return [*self._heartbeats.alerts(now_ms), *self._canaries.alerts(now_ms)]

    def all_is_well(self, now_ms: int) -> bool:
        """Whether signs of all clusters come through, and there are heartbeats; always where nobody listens."""
        if self._is_off:
            return True
        is_silent = self._heartbeats.silent(now_ms) or self._canaries.silent(now_ms)
        return self._heartbeats.is_about_any and not is_silent

    def _watch(self, sign: AlertRecord) -> Watch:
        return self._heartbeats if sign.lane is Lane.STATEFUL else self._canaries


def _heartbeats(settings: SwitchSettings) -> Kind:
    return Kind(
        lane=Lane.STATEFUL,
        timeout_ms=settings.timeout_ms,
        gather_ms=GATHER_MS,
        severity=settings.severity,
        one="heartbeat",
        many="Heartbeats",
        way="through",
        meaning="alerts may not reach you. Look at logdirwatch collect, at logdirwatch stream and at the telemetry "
        "Kafka; logdirwatch doctor checks all three. Cannot wait until morning.",
    )


def _canaries(settings: SwitchSettings, interval_ms: int) -> Kind:
    """Canaries of different clusters are up to an interval apart; while they lack, the state machine still tells."""
    return Kind(
        lane=Lane.FAST,
        timeout_ms=ROUNDS_MISSED * interval_ms,
        gather_ms=interval_ms,
        severity=min(settings.severity, Severity.CRITICAL, key=lambda severity: severity.rank),
        one="canary",
        many="Canaries",
        way="through the fast lane",
        meaning="that a directory stopped serving is told later, by detect alone. Look at the query fast_lane of "
        "logdirwatch stream. Can wait until morning, while heartbeats come through.",
    )
