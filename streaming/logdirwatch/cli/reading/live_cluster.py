"""A live cluster, queried once by a command with the collector's requests."""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from pydantic import ValidationError

from logdirwatch.cli.reading.records import now_ms, read_into
from logdirwatch.collect.kafka.answers import LogDirAnswer, LogDirsAnswer
from logdirwatch.collect.kafka.capabilities import not_reported
from logdirwatch.collect.kafka.live import LiveCluster, asked, look
from logdirwatch.collect.kafka.log_dir_usage import no_capacity
from logdirwatch.errors import UserError
from logdirwatch.kafka.settings import KafkaSettings
from logdirwatch.model import topics
from logdirwatch.model.capabilities import CAPABILITIES, CapacitySource
from logdirwatch.model.records import LogDirView, StateRecord
from logdirwatch.model.vocabulary import Cause, NotReported
from logdirwatch.plan.cluster.from_brokers import live_facts
from logdirwatch.plan.cluster.layout import LogDirId
from logdirwatch.plan.cluster.snapshot import ClusterSnapshot
from logdirwatch.report.folding import Latest
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


FRESH_STATES = 3
"""A size that so many refreshes of ``logdir.state`` did not repeat is too old for a present answer."""


def with_host_sizes(name: str, found: LiveCluster, settings: Settings) -> LiveCluster:
    """Return the answers with the sizes that ``watch-host`` told, of brokers whose release reports none."""
    silent = _without_sizes(found)
    if not silent:
        return found
    states = read_into(
        Latest(topics.STATE, StateRecord, lambda one: (f"{one.cluster}/{one.broker}", one.sequence), None),
        settings.telemetry,
    ).records
    since_ms = found.at_ms - FRESH_STATES * settings.detect.state_refresh_ms
    told = {
        (state.broker, view.path): view
        for state in states
        if state.cluster == name and state.at_ms >= since_ms and state.broker in silent
        for view in state.log_dirs
        if view.capacity_source == CapacitySource.HOST
    }

    def completed(broker: int, answer: LogDirsAnswer) -> LogDirsAnswer:
        return replace(answer, log_dirs=tuple(_with_size(one, told.get((broker, one.path))) for one in answer.log_dirs))

    return replace(found, log_dirs={broker: completed(broker, answer) for broker, answer in found.log_dirs.items()})


def _with_size(answer: LogDirAnswer, told: LogDirView | None) -> LogDirAnswer:
    if told is None or answer.error_code:
        return answer
    source = CapacitySource.HOST
    return replace(answer, total_bytes=told.total_bytes, usable_bytes=told.usable_bytes, capacity_source=source)


def _without_sizes(found: LiveCluster) -> set[int]:
    """Return the brokers whose release does not report the size of a log directory."""
    listed = found.api_versions.items()
    return {number for number, versions in listed if NotReported.CAPACITY in (not_reported(versions) or ())}


def not_known(found: LiveCluster, facts: ClusterSnapshot) -> Iterator[str]:
    """Yield what is unknown about the cluster, one line each.

    These are failed requests, and sizes that its release does not report.
    """
    yield from (f"not known: {what}: {error}" for what, error in found.unknown.items())
    silent = _without_sizes(found)
    unsized = [d for d in facts.directories.values() if d.broker in silent and d.is_serving and d.total_bytes is None]
    if unsized:
        since = CAPABILITIES[NotReported.CAPACITY].since
        yield (
            f"not known: the size of {counted(len(unsized), 'log directory', 'log directories')}: Kafka before {since} "
            f"does not report it. Name the capacity in clusters.{facts.cluster}.log_dirs, or run watch-host on the "
            "brokers and plan from the tables (without --live)"
        )
