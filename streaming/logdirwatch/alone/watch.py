"""One process that polls, judges, plans and notifies, as ``collect``, ``stream`` and ``notify`` do with topics.

What it knows is in memory: after a restart alerts that still fire are found, and sent, again.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import structlog
from prometheus_client.core import Metric
from prometheus_client.registry import Collector

from logdirwatch.alone.judges import Judges, alerts_of
from logdirwatch.alone.planning import Planned, planned, policy_of
from logdirwatch.clock import steady_ms, wall_ms
from logdirwatch.collect.kafka.live import LiveCluster
from logdirwatch.collect.loop import every
from logdirwatch.collect.publish.buffer import Outgoing
from logdirwatch.errors import UserError
from logdirwatch.model.records import ActionRecord, AlertRecord
from logdirwatch.model.vocabulary import AlertStatus
from logdirwatch.notify.groups import Member
from logdirwatch.observe.log_dir_metrics import LogDirMetrics
from logdirwatch.observe.progress import Beat
from logdirwatch.observe.series import firing_alerts
from logdirwatch.plan.cluster.snapshot import ClusterSnapshot
from logdirwatch.plan.proposal import Policy
from logdirwatch.report.actions.listing import is_blocked
from logdirwatch.report.folding import is_heartbeat
from logdirwatch.settings import ClusterSettings, Settings

if TYPE_CHECKING:
    from logdirwatch.notify.sending import Sending

log = structlog.get_logger(__name__)

TICK_MS = 500
PLAN_EVERY_MS, PLAN_AGAIN_MS = 60_000, 5_000
"""How long a plan holds while no alert comes, and the shortest time between two plans."""

MOST_ENDED = 1_000
"""How many alerts that ended, and that no receiver takes for open, are kept."""

Ask = Callable[[ClusterSettings], LiveCluster]
"""Returns what a cluster's brokers answer; raises UserError when none does."""


class Listener(Protocol):
    """What people read."""

    def seen(self, snapshot: ClusterSnapshot) -> None:
        """Take a cluster whose brokers answer for the first time."""

    def changed(self, alert: AlertRecord) -> None:
        """Take an alert that fires, changes its severity or ends."""

    def planned(self, alert: AlertRecord, step: ActionRecord) -> None:
        """Take the action to take first about an alert, when there is one and when it is another one."""


@dataclass
class _Cluster:
    """A monitored cluster: its policy, and what was last planned for."""

    settings: ClusterSettings
    policy: Policy
    planned_ms: int | None = None
    planned_for: frozenset[str] = frozenset()
    planning: "asyncio.Task[None] | None" = None
    is_away: bool = False
    is_seen: bool = False


class Watching(Collector):
    """The alerts of all clusters, their first steps, and the messages about them."""

    def __init__(
        self,
        clusters: Mapping[str, ClusterSettings],
        settings: Settings,
        ask: Ask,
        listener: Listener,
        sending: "Sending | None" = None,
    ) -> None:
        self._settings, self._ask, self._listener, self._sending = settings, ask, listener, sending
        self._clusters = {
            name: _Cluster(cluster, policy_of(name, cluster, settings)) for name, cluster in clusters.items()
        }
        self._judges = Judges(settings)
        self._sent: list[Outgoing] = []
        self._alerts: dict[str, AlertRecord] = {}
        self._steps: dict[str, ActionRecord] = {}
        self.log_dirs = LogDirMetrics()
        self.beat = Beat("watch")
        if sending is not None:
            sending.outbox.has_no_memory(steady_ms())

    def put(self, sent: list[Outgoing]) -> None:
        """Take records of a collector."""
        self._sent += sent

    async def run(self) -> None:
        """Judge what was taken, plan and send, until cancelled."""
        await every(TICK_MS, self._tick, ended=self.beat.beat)

    def close(self) -> None:
        """Wait for the messages in flight."""
        if self._sending is not None:
            self._sending.stop(steady_ms())

    def collect(self) -> Iterator[Metric]:
        """Yield the open alerts, counted."""
        firing = self._firing(list(self._clusters))
        yield firing_alerts(Counter((one.cluster, str(one.rule), str(one.severity)) for one in firing))

    async def _tick(self) -> None:
        taken, self._sent = self._sent, []
        written = self._judges.take(taken, wall_ms())
        for topic, key, value in [*((one.topic, one.key, one.value) for one in taken), *written]:
            self.log_dirs.note(topic, key, value)
        for alert in alerts_of(written):
            if not is_heartbeat(alert):
                self._take(alert)
        for name, cluster in self._clusters.items():
            self._plan(name, cluster)
        if self._sending is not None:
            self._sending.tick(self._to_send, self._member_of, steady_ms(), lambda _: not self._away())

    def _take(self, alert: AlertRecord) -> None:
        before = self._alerts.get(alert.alert_id)
        self._alerts[alert.alert_id] = alert
        if before is None or (before.status, before.severity) != (alert.status, alert.severity):
            self._listener.changed(alert)
        if alert.status is not AlertStatus.FIRING:
            self._steps.pop(alert.alert_id, None)
            if self._sending is None:
                del self._alerts[alert.alert_id]

    def _plan(self, name: str, cluster: _Cluster) -> None:
        """Begin to plan when alerts have come or the plan is old; one plan of a cluster at a time."""
        firing = self._firing([name])
        wanted = frozenset(one.alert_id for one in firing)
        age_ms = None if cluster.planned_ms is None else steady_ms() - cluster.planned_ms
        again_ms = PLAN_EVERY_MS if wanted <= cluster.planned_for else PLAN_AGAIN_MS
        if cluster.planning is None and (age_ms is None or (wanted and age_ms >= again_ms)):
            cluster.planned_for = wanted
            cluster.planning = asyncio.create_task(self._planned(name, cluster, firing))

    async def _planned(self, name: str, cluster: _Cluster, firing: Sequence[AlertRecord]) -> None:
        try:
            live = await asyncio.to_thread(self._ask, cluster.settings)
            plan = await asyncio.to_thread(
                planned, name, cluster.settings, live, firing, self._settings, cluster.policy
            )
        except UserError as error:
            if not cluster.is_away:
                log.warning("watch.plan.failed", cluster=name, error=str(error))
            cluster.is_away, cluster.planned_for = True, frozenset()
        except Exception:
            log.exception("watch.plan.failed", cluster=name)
        else:
            if cluster.is_away:
                log.warning("watch.plan.recovered", cluster=name)
            if not cluster.is_seen:
                self._listener.seen(plan.snapshot)
            cluster.is_away, cluster.is_seen = False, True
            self._take_steps(plan)
        finally:
            cluster.planned_ms, cluster.planning = steady_ms(), None

    def _take_steps(self, plan: Planned) -> None:
        first = {one.alert_id: one for one in reversed(plan.actions) if not is_blocked(one)}
        for alert in plan.alerts:
            before, step = self._steps.pop(alert.alert_id, None), first.get(alert.alert_id)
            now = self._alerts.get(alert.alert_id)
            if step is None or now is None or now.status is not AlertStatus.FIRING:
                continue
            self._steps[alert.alert_id] = step
            if before is None or before.action_id != step.action_id:
                self._listener.planned(now, step)

    def _firing(self, clusters: Sequence[str]) -> list[AlertRecord]:
        return [
            one for one in list(self._alerts.values()) if one.cluster in clusters and one.status is AlertStatus.FIRING
        ]

    def _to_send(self, _: int) -> list[AlertRecord]:
        """Return the open alerts, and those that ended and some receiver takes for open.

        Others that ended are kept for a while: the message that they fire may be on its way.
        """
        known = set() if self._sending is None else self._sending.outbox.known()
        told = [one for name, one in self._alerts.items() if one.status is AlertStatus.FIRING or name in known]
        kept = {one.alert_id for one in told}
        for name in [name for name in self._alerts if name not in kept][:-MOST_ENDED]:
            del self._alerts[name]
        return told

    def _member_of(self, alert: AlertRecord) -> Member:
        return Member(alert, next_step=self._steps.get(alert.alert_id))

    def _away(self) -> list[str]:
        return [name for name, cluster in self._clusters.items() if cluster.is_away]
