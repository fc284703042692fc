"""A live cluster, queried once by a command with the collector's requests."""

from collections.abc import Iterator, Mapping

from pydantic import ValidationError

from logdirwatch.cli.reading.records import now_ms
from logdirwatch.collect.kafka.capabilities import not_reported
from logdirwatch.collect.kafka.live import LiveCluster, asked, look
from logdirwatch.collect.kafka.log_dir_usage import no_capacity
from logdirwatch.errors import UserError
from logdirwatch.kafka.settings import KafkaSettings
from logdirwatch.model.capabilities import CAPABILITIES
from logdirwatch.model.vocabulary import Cause, NotReported
from logdirwatch.plan.cluster.from_brokers import live_facts
from logdirwatch.plan.cluster.layout import LogDirId
from logdirwatch.plan.cluster.snapshot import ClusterSnapshot
from logdirwatch.settings import ClusterSettings, Settings, refused_option
from logdirwatch.text.words import counted


def named(brokers: str, settings: Settings, command: str) -> tuple[str, ClusterSettings]:
    """Return the configured cluster of that name, or an unnamed one at these addresses; UserError for neither."""
    if brokers in settings.clusters:
        return brokers, settings.clusters[brokers]
    if ":" not in brokers:
        known = f"; configured: {', '.join(settings.clusters)}" if settings.clusters else ""
        raise UserError(
            f"{command}: {brokers} is neither host:port of a broker nor a configured cluster{known}", exit_code=2
        )
    found = addressed(brokers, {}, command)
    return settings.default_cluster, ClusterSettings(bootstrap_servers=found.bootstrap_servers)


def addressed(bootstrap_server: str, client: dict[str, str], option: str) -> KafkaSettings:
    """Return the brokers at an address; raises UserError naming the ``option`` for one that is none."""
    try:
        return KafkaSettings(bootstrap_servers=bootstrap_server, client=client)
    except ValidationError as error:
        raise refused_option(option, error) from None


def seen(cluster: KafkaSettings, settings: Settings) -> LiveCluster:
    """Return the present answers of a cluster's brokers; raises UserError when none answers."""
    return asked(cluster, settings.collect, lambda admin, bootstrap: look(admin, bootstrap, now_ms))


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
