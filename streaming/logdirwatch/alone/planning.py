"""A cluster's poller, and the actions for its alerts, from what its brokers answer."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

from logdirwatch.clock import wall_ms
from logdirwatch.collect.kafka.live import LiveCluster
from logdirwatch.collect.loop import ClusterWatch
from logdirwatch.collect.rounds.poll import Publish
from logdirwatch.jobs.policy import policy_for
from logdirwatch.model.records import ActionRecord, AlertRecord
from logdirwatch.plan.cluster.from_brokers import live_facts
from logdirwatch.plan.cluster.snapshot import ClusterSnapshot
from logdirwatch.plan.commands.kafka_tools import Tools
from logdirwatch.plan.lifecycle.overlay import as_seen
from logdirwatch.plan.proposal import Policy
from logdirwatch.plan.recommend import recommend
from logdirwatch.settings import ClusterSettings, Settings


@dataclass(frozen=True)
class Planned:
    """A cluster, its open alerts, and for each its actions, the recommended first."""

    snapshot: ClusterSnapshot
    alerts: Sequence[AlertRecord]
    actions: Sequence[ActionRecord]


def polling(name: str, cluster: ClusterSettings, settings: Settings, publish: Publish) -> ClusterWatch:
    """Return the collector of one cluster; raises UserError for a client property that cannot be translated."""
    reserve_of = partial(settings.detect.reserve_of, name)
    exporter, collect = cluster.jmx_exporter, settings.collect
    return ClusterWatch(name, cluster, exporter, collect, reserve_of, publish, wall_ms, cluster.capacity_of)


def policy_of(name: str, cluster: ClusterSettings, settings: Settings) -> Policy:
    """Return the policy of a cluster, whose commands have its address also if no configuration names it."""
    policy = policy_for(settings, name)
    return replace(policy, tools=Tools(policy.tools.settings, cluster.bootstrap_servers))


def planned(
    name: str,
    cluster: ClusterSettings,
    live: LiveCluster,
    firing: Sequence[AlertRecord],
    settings: Settings,
    policy: Policy,
) -> Planned:
    """Return the actions for the open alerts of a cluster; ``live`` is what its brokers have just answered."""
    facts = live_facts(name, live, partial(settings.detect.thresholds_for, name), {}, cluster.capacity_of)
    snapshot = as_seen(facts, firing, (), policy.limits)
    return Planned(snapshot, firing, [one for alert in firing for one in recommend(alert, snapshot, policy, wall_ms())])
