"""The policy of plans for a cluster, from the configuration; separate from the query, so commands need no Spark."""

from logdirwatch.plan.commands.kafka_tools import Tools
from logdirwatch.plan.proposal import Owner, Policy
from logdirwatch.plan.settings import ToolSettings
from logdirwatch.settings import Settings


def policy_for(settings: Settings, cluster: str) -> Policy:
    """Return the policy of plans for a cluster; its tools have no address if the cluster is not configured."""
    known = settings.clusters.get(cluster)
    tools = Tools(known.tools if known else ToolSettings(), known.bootstrap_servers if known else None)
    owner = None
    if known is not None and known.owner is not None:
        owner = Owner(known.owner, known.strimzi.cluster or cluster, known.strimzi)
    return Policy(settings.plan.for_cluster(cluster), tools, settings.collect.inventory_interval_ms, owner)
