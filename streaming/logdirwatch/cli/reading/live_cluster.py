"""A live cluster, queried once by a command with the collector's requests."""

import asyncio
from collections.abc import Iterator, Mapping

from logdirwatch.cli.reading.records import now_ms
from logdirwatch.collect.kafka.capabilities import not_reported
from logdirwatch.collect.kafka.connections import Wire, addresses
from logdirwatch.collect.kafka.live import LiveCluster, look
from logdirwatch.collect.kafka.log_dir_usage import no_capacity
from logdirwatch.collect.kafka.requests import ASK_ERRORS, Admin
from logdirwatch.kafka import clients
from logdirwatch.kafka.settings import KafkaSettings
from logdirwatch.model.capabilities import CAPABILITIES
from logdirwatch.model.vocabulary import Cause, NotReported
from logdirwatch.plan.cluster.from_brokers import live_facts
from logdirwatch.plan.cluster.layout import LogDirId
from logdirwatch.plan.cluster.snapshot import ClusterSnapshot
from logdirwatch.settings import Settings
from logdirwatch.text.words import counted


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


def not_known(found: LiveCluster, facts: ClusterSnapshot) -> Iterator[str]:
    """Yield what is unknown about the cluster, one line each.

    These are failed requests, and sizes that its release does not report. Sizes from ``watch-host`` are in records and
    tables, which are not read here.
    """
    yield from (f"not known: {what}: {error}" for what, error in found.unknown.items())
    silent = {
        number for number, listed in found.api_versions.items() if NotReported.CAPACITY in (not_reported(listed) or ())
    }
    unsized = [d for d in facts.directories.values() if d.broker in silent and d.is_serving and d.total_bytes is None]
    if unsized:
        since = CAPABILITIES[NotReported.CAPACITY].since
        yield (
            f"not known: the size of {counted(len(unsized), 'log directory', 'log directories')}: Kafka before {since} "
            "does not report it, and what watch-host tells is in the tables only. "
            f"Name the capacity in clusters.{facts.cluster}.log_dirs, or plan from the tables (without --live)"
        )


async def _look(cluster: KafkaSettings, settings: Settings) -> LiveCluster:
    wire = Wire(clients.python_arguments(cluster))
    try:
        admin = Admin(wire, settings.collect.request_timeout_ms, settings.collect.inventory_timeout_ms)
        return await look(admin, addresses(cluster.bootstrap_servers), now_ms)
    finally:
        wire.close()
