"""The dead man's switch: alerts when the heartbeats or canaries of a cluster stop. Pure.

Heartbeats prove that the state machine works, canaries that the fast lane does.
"""

from collections.abc import Collection, Iterable

from logdirwatch.config.section import DAY_MS
from logdirwatch.model.records import AlertRecord
from logdirwatch.model.vocabulary import Lane, Severity
from logdirwatch.notify.settings import SwitchSettings
from logdirwatch.notify.signs import Kind, Watch
from logdirwatch.report.status.snapshot import ROUNDS_MISSED

GATHER_MS = 15_000
"""How long one silent cluster waits to see whether all are: when a shared path breaks, heartbeats stop within 10 s."""


class Switch:
    """Watches heartbeats and canaries of the configured clusters, and of any that sent one within the last day.

    Missing canaries count only where some came before, and not while heartbeats are missing too: one collector sends
    both.
    """

    def __init__(self, settings: SwitchSettings, clusters: Iterable[str], canary_interval_ms: int, now_ms: int) -> None:
        self._is_off = not settings.timeout_ms
        self._configured = tuple(clusters)
        self._started_ms = now_ms
        self._heartbeats = Watch(_heartbeats(settings), self._configured, now_ms)
        self._canaries = Watch(_canaries(settings, canary_interval_ms), (), now_ms)

    def remember(self, told: Collection[str]) -> None:
        """Keep firing the alerts that receivers know from before a restart, until a sign of life arrives."""
        if not self._is_off:
            self._heartbeats.remember(told)
            self._canaries.remember(told)

    def history(self, sign: AlertRecord) -> None:
        """Record a sign of life from before this start; it does not prove that the path works now."""
        if sign.at_ms >= self._started_ms - DAY_MS or sign.cluster in self._configured:
            self._watch(sign).is_news(sign)

    def hear(self, sign: AlertRecord, now_ms: int) -> None:
        """Record a sign of life that just arrived."""
        self._watch(sign).hear(sign, now_ms)

    def alerts(self, now_ms: int) -> list[AlertRecord]:
        """Return an alert for each cluster that is silent or was since the start, or a single one if all are."""
        if self._is_off:
            return []
        self._canaries.excuse(self._heartbeats.silent(now_ms), now_ms)
        return [*self._heartbeats.alerts(now_ms), *self._canaries.alerts(now_ms)]

    def all_is_well(self, now_ms: int) -> bool:
        """Whether signs of life of all clusters arrive and there are heartbeats; always true when none are expected."""
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
        way="",
        meaning="alerts may not reach you. Check logdirwatch collect, logdirwatch stream and the telemetry Kafka; "
        "logdirwatch doctor checks all three. Cannot wait until morning.",
    )


def _canaries(settings: SwitchSettings, interval_ms: int) -> Kind:
    """Canaries of different clusters are up to an interval apart; without them the state machine still alerts."""
    return Kind(
        lane=Lane.FAST,
        timeout_ms=ROUNDS_MISSED * interval_ms,
        gather_ms=interval_ms,
        severity=min(settings.severity, Severity.CRITICAL, key=lambda severity: severity.rank),
        one="canary",
        many="Canaries",
        way=" through the fast lane",
        meaning="alerts for directories that fail come later, from detect alone. Check the query fast_lane of "
        "logdirwatch stream. Can wait until morning while heartbeats arrive.",
    )
