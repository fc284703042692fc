"""The dead man's switch: which clusters' heartbeats came through, and the alert when one stopped. Pure.

Only progress counts, never whose clock says what: a heartbeat newer than the last one of its collector is a sign of
life when it arrives.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from logdirwatch.detect.settings import DAY_MS
from logdirwatch.model.identity import identity
from logdirwatch.model.records import AlertRecord
from logdirwatch.model.vocabulary import NO_CLUSTER, AlertStatus, Lane, Rule
from logdirwatch.notify.settings import SwitchSettings
from logdirwatch.report.units import human_ms
from logdirwatch.report.words import utc

GATHER_MS = 15_000
"""How long one silent cluster waits to see whether all are: heartbeats of a broken path end within 10 s."""


@dataclass
class _Heard:
    """What was heard of a cluster: since when its silence counts, and what its collectors last said."""

    since_ms: int
    collectors: dict[str, int] = field(default_factory=dict)


class Switch:
    """Listens for heartbeats of the configured clusters, and of any whose heartbeat the topic has of the last day."""

    def __init__(self, settings: SwitchSettings, clusters: Iterable[str], now_ms: int) -> None:
        self._settings = settings
        self._started_ms = now_ms
        self._heard = {cluster: _Heard(now_ms) for cluster in clusters}
        self._crying: dict[str, AlertRecord] = {}

    def remember(self, told: set[str]) -> None:
        """Go on crying where receivers know of it from before a restart, until a heartbeat comes through."""
        for cluster in (*self._heard, NO_CLUSTER):
            if alert_id(cluster) in told and self._settings.timeout_ms:
                self._cry(cluster, self._started_ms)

    def history(self, heartbeat: AlertRecord) -> None:
        """Take in a heartbeat that is on the topic since before this start: it proves nothing of now."""
        if heartbeat.at_ms >= self._started_ms - DAY_MS or heartbeat.cluster in self._heard:
            self._is_news(heartbeat)

    def hear(self, heartbeat: AlertRecord, now_ms: int) -> None:
        """Take in a heartbeat that came through just now."""
        if self._is_news(heartbeat):
            self._heard[heartbeat.cluster].since_ms = now_ms
            self._end(heartbeat.cluster, now_ms)
            self._end(NO_CLUSTER, now_ms)

    def alerts(self, now_ms: int) -> list[AlertRecord]:
        """Return an alert for each cluster that is silent, or was since the start; one for all if all are."""
        if self._settings.timeout_ms:
            for cluster in self._silent(now_ms):
                self._cry(cluster, now_ms)
        return list(self._crying.values())

    def all_is_well(self, now_ms: int) -> bool:
        """Whether heartbeats of all clusters come through, and there is any."""
        return bool(self._heard) and not any(self._is_silent(heard, now_ms, 0) for heard in self._heard.values())

    def _silent(self, now_ms: int) -> Iterator[str]:
        if len(self._heard) > 1 and not any(not self._is_silent(h, now_ms, 0) for h in self._heard.values()):
            yield NO_CLUSTER
            return
        gather_ms = GATHER_MS if len(self._heard) > 1 else 0
        yield from (cluster for cluster, heard in self._heard.items() if self._is_silent(heard, now_ms, gather_ms))

    def _is_silent(self, heard: _Heard, now_ms: int, gather_ms: int) -> bool:
        return now_ms - heard.since_ms > self._settings.timeout_ms + gather_ms

    def _is_news(self, heartbeat: AlertRecord) -> bool:
        heard = self._heard.setdefault(heartbeat.cluster, _Heard(self._started_ms))
        collector = str(heartbeat.evidence.get("collector", ""))
        if heard.collectors.get(collector, -1) >= heartbeat.at_ms:
            return False
        heard.collectors[collector] = heartbeat.at_ms
        return True

    def _cry(self, cluster: str, now_ms: int) -> None:
        crying = self._crying.get(cluster)
        if crying is None or crying.status is not AlertStatus.FIRING:
            self._crying[cluster] = self._alert(
                cluster, AlertStatus.FIRING, now_ms, _lost(cluster, self._last(cluster))
            )

    def _end(self, cluster: str, now_ms: int) -> None:
        crying = self._crying.get(cluster)
        if crying is not None and crying.status is AlertStatus.FIRING:
            lasted = human_ms(now_ms - crying.opened_at_ms)
            summary = f"Heartbeats of {_whose(cluster)} come through again, after {lasted}"
            self._crying[cluster] = self._alert(cluster, AlertStatus.RESOLVED, now_ms, summary)

    def _last(self, cluster: str) -> int | None:
        chosen = [heard for name, heard in self._heard.items() if cluster in (name, NO_CLUSTER)]
        return max((at_ms for heard in chosen for at_ms in heard.collectors.values()), default=None)

    def _alert(self, cluster: str, status: AlertStatus, now_ms: int, summary: str) -> AlertRecord:
        opened = self._crying.get(cluster)
        opened_ms = now_ms if opened is None or status is AlertStatus.FIRING else opened.opened_at_ms
        return AlertRecord(
            version=1,
            alert_id=alert_id(cluster),
            revision=now_ms,
            status=status,
            rule=Rule.HEARTBEAT,
            severity=self._settings.severity,
            cluster=cluster,
            broker=None,
            log_dir=None,
            from_status=None,
            to_status=None,
            cause=None,
            opened_at_ms=opened_ms,
            at_ms=now_ms,
            lane=Lane.STATEFUL,
            evidence={"clusters": sorted(self._heard) if cluster == NO_CLUSTER else [cluster]},
            affected={},
            summary=summary,
            reason="reported" if status is AlertStatus.RESOLVED else None,
        )


def alert_id(cluster: str) -> str:
    """Return the identity of the alert that a cluster's heartbeat stopped; it is no alert of the topic."""
    return identity(Rule.HEARTBEAT, cluster)


def _whose(cluster: str) -> str:
    return "all clusters" if cluster == NO_CLUSTER else f"cluster {cluster}"


def _lost(cluster: str, last_ms: int | None) -> str:
    when = "none ever came" if last_ms is None else f"the last one is of {utc(last_ms)}"
    return (
        f"No heartbeat of {_whose(cluster)} comes through, {when}: alerts may not reach you. Look at logdirwatch "
        "collect, at logdirwatch stream and at the telemetry Kafka; logdirwatch doctor checks all three. Cannot wait "
        "until morning."
    )
