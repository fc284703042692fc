"""What plans for a cluster may do, from the configuration; apart from the query, so that commands need no Spark."""

from logdirwatch.plan.commands.kafka_tools import Tools
from logdirwatch.plan.proposal import Policy
from logdirwatch.plan.settings import ToolSettings
from logdirwatch.settings import Settings


def policy_for(settings: Settings, cluster: str) -> Policy:
    """Return what plans for a cluster may do; its tools have no address where the configuration does not name it."""
    known = settings.clusters.get(cluster)
    tools = Tools(known.tools if known else ToolSettings(), known.bootstrap_servers if known else None)
    return Policy(settings.plan.for_cluster(cluster), tools, settings.collect.inventory_interval_ms)
