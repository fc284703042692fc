"""The cluster itself, asked once by a command with the collector's requests."""

import asyncio
from collections.abc import Mapping

from logdirwatch.cli.reading.records import now_ms
from logdirwatch.collect.kafka.connections import Wire, addresses
from logdirwatch.collect.kafka.live import LiveCluster, look
from logdirwatch.collect.kafka.log_dir_usage import no_capacity
from logdirwatch.collect.kafka.requests import ASK_ERRORS, Admin
from logdirwatch.kafka import clients
from logdirwatch.kafka.settings import KafkaSettings
from logdirwatch.model.vocabulary import Cause
from logdirwatch.plan.cluster.from_brokers import live_facts
from logdirwatch.plan.cluster.layout import LogDirId
from logdirwatch.plan.cluster.snapshot import ClusterSnapshot
from logdirwatch.settings import Settings


def seen(cluster: KafkaSettings, settings: Settings) -> LiveCluster:
    """Return the present answers of a cluster's brokers; raises UserError when none answers."""
    try:
        return asyncio.run(_look(cluster, settings))
    except ASK_ERRORS as error:
        raise clients.unreachable(cluster, error) from None


def facts_of(name: str, found: LiveCluster, settings: Settings, causes: Mapping[LogDirId, Cause]) -> ClusterSnapshot:
    """Return the answers as facts, directories judged by the configured thresholds."""
    thresholds = settings.detect.thresholds_for
    capacity_of = settings.clusters[name].capacity_of if name in settings.clusters else no_capacity
    return live_facts(name, found, lambda path: thresholds(name, path), causes, capacity_of)


async def _look(cluster: KafkaSettings, settings: Settings) -> LiveCluster:
    wire = Wire(clients.python_arguments(cluster))
    try:
        admin = Admin(wire, settings.collect.request_timeout_ms, settings.collect.inventory_timeout_ms)
        return await look(admin, addresses(cluster.bootstrap_servers), now_ms)
    finally:
        wire.close()
