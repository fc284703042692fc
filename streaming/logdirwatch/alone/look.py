"""One look at a cluster: what its brokers answer within seconds, judged and planned for like the stream's records."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from logdirwatch.alone.judges import Judges
from logdirwatch.clock import wall_ms
from logdirwatch.collect.kafka.live import LiveCluster
from logdirwatch.collect.loop import ClusterWatch
from logdirwatch.collect.publish.buffer import Outgoing
from logdirwatch.model.records import ActionRecord, AlertRecord
from logdirwatch.model.vocabulary import AlertStatus
from logdirwatch.plan.cluster.excluded_log_dirs import with_excluded_log_dirs
from logdirwatch.plan.cluster.from_brokers import live_facts
from logdirwatch.plan.cluster.snapshot import ClusterSnapshot
from logdirwatch.plan.lifecycle.overlay import with_alerts
from logdirwatch.plan.proposal import Policy
from logdirwatch.plan.recommend import recommend
from logdirwatch.settings import ClusterSettings, Settings


@dataclass(frozen=True)
class Looked:
    """What one look shows: the cluster, its open alerts, and for each its actions, the recommended first."""

    snapshot: ClusterSnapshot
    alerts: Sequence[AlertRecord]
    actions: Sequence[ActionRecord]


async def look(
    name: str, cluster: ClusterSettings, live: LiveCluster, settings: Settings, policy: Policy, polls: int
) -> Looked:
    """Poll the brokers some times, one interval apart; ``live`` is what they have just answered."""
    sent: list[Outgoing] = []
    watch = ClusterWatch(
        name,
        cluster,
        cluster.jmx_exporter,
        settings.collect,
        partial(settings.detect.reserve_of, name),
        sent.extend,
        wall_ms,
        cluster.capacity_of,
    )
    judges, open_alerts = Judges(settings), dict[str, AlertRecord]()
    try:
        await watch.once()
        for number in range(polls):
            if number:
                await asyncio.sleep(settings.collect.metrics_interval_ms / 1000)
                await watch.poller.poll()
            taken, sent[:] = list(sent), []
            open_alerts |= {one.alert_id: one for one in judges.take(taken, wall_ms())}
    finally:
        watch.close()
    firing = [one for one in open_alerts.values() if one.status is AlertStatus.FIRING]
    facts = live_facts(name, live, partial(settings.detect.thresholds_for, name), {}, cluster.capacity_of)
    snapshot = with_excluded_log_dirs(with_alerts(facts, firing), policy.limits)
    actions = [action for alert in firing for action in recommend(alert, snapshot, policy, wall_ms())]
    return Looked(snapshot, firing, actions)
