"""The dead man's switch: alerts when the heartbeats or canaries of a cluster stop. Pure.

Heartbeats prove that the state machine works, canaries that the fast lane does.

Only progress counts, not the clocks of collectors: a sign with another identity than its collector's last one, or a
newer one, counts when it arrives. A heartbeat counts as far as the samples of its collector pass.
"""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field

from logdirwatch.config.section import DAY_MS
from logdirwatch.model.evidence.stream import CanaryEvidence, HeartbeatEvidence, HeartbeatMissingEvidence
from logdirwatch.model.identity import identity
from logdirwatch.model.records import AlertRecord
from logdirwatch.model.vocabulary import NO_CLUSTER, AlertStatus, Lane, Rule, Severity
from logdirwatch.notify.settings import SwitchSettings
from logdirwatch.report.status.snapshot import ROUNDS_MISSED
from logdirwatch.text.units import human_ms
from logdirwatch.text.words import some_of, utc


@dataclass(frozen=True)
class Kind:
    """A kind of sign: how long it may be missing, how long to wait for other clusters to fall silent, and its texts."""

    lane: Lane
    timeout_ms: int
    gather_ms: int
    severity: Severity
    one: str
    many: str
    way: str
    meaning: str


@dataclass
class _Heard:
    """What is known of a cluster: since when its silence counts, and the last sign of each collector."""

    since_ms: int
    collectors: dict[str, AlertRecord] = field(default_factory=dict)


class Watch:
    """Watches one kind of sign, and alerts when it is missing."""

    def __init__(self, kind: Kind, clusters: Iterable[str], now_ms: int) -> None:
        self._kind = kind
        self._started_ms = now_ms
        self._heard = {cluster: _Heard(now_ms) for cluster in clusters}
        self._alerts: dict[str, AlertRecord] = {}
        self._back: dict[str, int] = {}
        """The clusters that came back since all were silent, with the time of each."""

    def remember(self, told: Collection[str]) -> None:
        """Keep firing the alerts that receivers already know."""
        for cluster in (*self._heard, NO_CLUSTER):
            if alert_id(cluster, self._kind.lane) in told:
                self._fire(cluster, self._started_ms)

    def hear(self, sign: AlertRecord, now_ms: int) -> None:
        """Record a sign of life that just arrived."""
        if not self.is_news(sign):
            return
        heard = self._heard[sign.cluster]
        # A heartbeat alone does not show that samples pass: their silence began when the next one was due.
        heard.since_ms = max(heard.since_ms, now_ms - _overdue_ms(sign))
        if now_ms - heard.since_ms > self._kind.timeout_ms:
            return
        self._end(sign.cluster, now_ms, [sign.cluster])
        if self._is_firing(NO_CLUSTER):
            self._back.setdefault(sign.cluster, now_ms)

    def is_news(self, sign: AlertRecord) -> bool:
        """Record a sign; return whether it is newer than the last one of its collector."""
        heard = self._heard.setdefault(sign.cluster, _Heard(self._started_ms))
        collector = _collector(sign)
        last = heard.collectors.get(collector)
        if last is not None and last.alert_id == sign.alert_id and last.at_ms >= sign.at_ms:
            return False
        heard.collectors[collector] = sign
        return True

    def excuse(self, clusters: Iterable[str], now_ms: int) -> None:
        """Restart the count of every cluster's silence."""
        for cluster in self._heard.keys() & set(clusters):
            self._heard[cluster].since_ms = now_ms

    def alerts(self, now_ms: int) -> list[AlertRecord]:
        """Return an alert for each cluster that is silent or was, or a single one if all are."""
        self._end_for_all(now_ms)
        for cluster in self._silent_clusters(now_ms):
            self._fire(cluster, now_ms)
        return list(self._alerts.values())

    def silent(self, now_ms: int, patience_ms: int = 0) -> list[str]:
        """Return the clusters that have been silent for longer than the timeout and ``patience_ms``."""
        longest_ms = self._kind.timeout_ms + patience_ms
        return [cluster for cluster, heard in self._heard.items() if now_ms - heard.since_ms > longest_ms]

    @property
    def is_about_any(self) -> bool:
        """Whether any cluster is known."""
        return bool(self._heard)

    def _silent_clusters(self, now_ms: int) -> Iterator[str]:
        """Yield the silent clusters; none while it waits to see which come back after all were silent."""
        if self._is_firing(NO_CLUSTER):
            return
        if len(self._heard) > 1 and len(self.silent(now_ms)) == len(self._heard):
            yield NO_CLUSTER
        else:
            yield from self.silent(now_ms, self._kind.gather_ms if len(self._heard) > 1 else 0)

    def _end_for_all(self, now_ms: int) -> None:
        """End the alert for all clusters once all are back, or once the time for coming back is over."""
        if not self._back:
            return
        if len(self._back) == len(self._heard) or now_ms - min(self._back.values()) >= self._kind.gather_ms:
            self._end(NO_CLUSTER, now_ms, self._back)
            self._back.clear()

    def _is_firing(self, cluster: str) -> bool:
        alert = self._alerts.get(cluster)
        return alert is not None and alert.status is AlertStatus.FIRING

    def _fire(self, cluster: str, now_ms: int) -> None:
        if not self._is_firing(cluster):
            summary = self._lost(cluster)
            self._alerts[cluster] = self._alert(cluster, AlertStatus.FIRING, now_ms, now_ms, summary)

    def _end(self, cluster: str, now_ms: int, back: Collection[str]) -> None:
        if not self._is_firing(cluster):
            return
        opened_ms, kind = self._alerts[cluster].opened_at_ms, self._kind
        rest = sorted(self._heard.keys() - set(back)) if cluster == NO_CLUSTER else []
        whose = _whose(NO_CLUSTER) if cluster == NO_CLUSTER and not rest else _whose(*sorted(back))
        still = f", those of {_whose(*rest)} do not" if rest else ""
        summary = f"{kind.many} of {whose} arrive{kind.way} again, after {human_ms(now_ms - opened_ms)}{still}"
        self._alerts[cluster] = self._alert(cluster, AlertStatus.RESOLVED, opened_ms, now_ms, summary)

    def _lost(self, cluster: str) -> str:
        last_ms = self._last(cluster)
        when = "none ever arrived" if last_ms is None else f"the last one is of {utc(last_ms)}"
        overdue_ms = self._overdue_ms(cluster)
        if overdue_ms:
            when = f"though heartbeats do; a sample has been overdue for {human_ms(overdue_ms)}"
        what = "sample" if overdue_ms else self._kind.one
        return f"No {what} of {_whose(cluster)} arrives{self._kind.way}, {when}: {self._kind.meaning}"

    def _overdue_ms(self, cluster: str) -> int:
        """Return for how long samples are overdue by the last heartbeat of a cluster."""
        signs = self._heard[cluster].collectors.values() if cluster in self._heard else ()
        return max(((sign.at_ms, _overdue_ms(sign)) for sign in signs), default=(0, 0))[1]

    def _last(self, cluster: str) -> int | None:
        chosen = [heard for name, heard in self._heard.items() if cluster in (name, NO_CLUSTER)]
        return max((sign.at_ms for heard in chosen for sign in heard.collectors.values()), default=None)

    def _alert(self, cluster: str, status: AlertStatus, opened_ms: int, now_ms: int, summary: str) -> AlertRecord:
        return AlertRecord(
            version=1,
            alert_id=alert_id(cluster, self._kind.lane),
            revision=now_ms,
            status=status,
            rule=Rule.HEARTBEAT,
            severity=self._kind.severity,
            cluster=cluster,
            broker=None,
            log_dir=None,
            from_status=None,
            to_status=None,
            cause=None,
            opened_at_ms=opened_ms,
            at_ms=now_ms,
            lane=self._kind.lane,
            evidence=HeartbeatMissingEvidence(clusters=sorted(self._heard) if cluster == NO_CLUSTER else [cluster]),
            affected={},
            summary=summary,
            reason="reported" if status is AlertStatus.RESOLVED else None,
        )


def _overdue_ms(sign: AlertRecord) -> int:
    """Return for how long the samples of a heartbeat's collector are overdue; an older release does not say."""
    evidence = sign.evidence
    return (evidence.samples_overdue_ms or 0) if isinstance(evidence, HeartbeatEvidence) else 0


def _collector(sign: AlertRecord) -> str:
    """Return which collector a sign of life is of."""
    evidence = sign.evidence
    return (evidence.collector or "") if isinstance(evidence, (HeartbeatEvidence, CanaryEvidence)) else ""


def alert_id(cluster: str, lane: Lane = Lane.STATEFUL) -> str:
    """Return the id of the alert about a cluster's missing signs of life; it is not on the alert topic."""
    return identity(Rule.HEARTBEAT, cluster, *([] if lane is Lane.STATEFUL else [lane]))


def _whose(*clusters: str) -> str:
    if clusters == (NO_CLUSTER,):
        return "all clusters"
    return f"cluster{'s' if len(clusters) > 1 else ''} {some_of(clusters)}"


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
