"""One look at a cluster: what its brokers answer within seconds, judged and planned for like the stream's records."""

import asyncio

from logdirwatch.alone.judges import Judges, alerts_of
from logdirwatch.alone.planning import Planned, planned, polling
from logdirwatch.clock import wall_ms
from logdirwatch.collect.kafka.live import LiveCluster
from logdirwatch.collect.publish.buffer import Outgoing
from logdirwatch.model.records import AlertRecord
from logdirwatch.model.vocabulary import AlertStatus
from logdirwatch.plan.proposal import Policy
from logdirwatch.settings import ClusterSettings, Settings


async def look(
    name: str, cluster: ClusterSettings, live: LiveCluster, settings: Settings, policy: Policy, polls: int
) -> Planned:
    """Poll the brokers some times, one interval apart; ``live`` is what they have just answered."""
    sent: list[Outgoing] = []
    watch = polling(name, cluster, settings, sent.extend)
    judges, newest = Judges(settings), dict[str, AlertRecord]()
    try:
        await watch.once()
        for number in range(polls):
            if number:
                await asyncio.sleep(settings.collect.metrics_interval_ms / 1000)
                await watch.poller.poll()
            taken, sent[:] = list(sent), []
            newest |= {one.alert_id: one for one in alerts_of(judges.take(taken, wall_ms()))}
    finally:
        watch.close()
    firing = [one for one in newest.values() if one.status is AlertStatus.FIRING]
    return planned(name, cluster, live, firing, settings, policy)
