"""Queries both clusters for the input of the checks. Connects, but writes nothing."""

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

from kafka import KafkaAdminClient
from kafka.errors import AuthorizationError, KafkaError, TopicAuthorizationFailedError, for_code

from logdirwatch.collect.kafka.capabilities import metadata_mode, not_reported
from logdirwatch.collect.kafka.connections import Address
from logdirwatch.collect.kafka.live import asked, look
from logdirwatch.collect.kafka.requests import ASK_ERRORS, Admin
from logdirwatch.collect.rounds import records
from logdirwatch.doctor.monitored import Clock, ClusterFacts
from logdirwatch.doctor.telemetry import TelemetryFacts
from logdirwatch.kafka import clients, telemetry_topics
from logdirwatch.kafka.cluster_description import allowed_operations, describe_cluster
from logdirwatch.kafka.deadline import answers_by
from logdirwatch.model.capabilities import mode_of_cluster
from logdirwatch.settings import Settings

Now = Callable[[], int]


class Monitored(NamedTuple):
    """The answers of a monitored cluster; no clock if it does not report its time."""

    facts: ClusterFacts
    clock: Clock | None


def monitored(settings: Settings, name: str, now_ms: Now) -> Monitored:
    """Query a monitored cluster once; raises UserError when no broker answers."""

    async def ask(admin: Admin, bootstrap: list[Address]) -> Monitored:
        seen = await look(admin, bootstrap, now_ms)
        brokers = {number: Address(node.host, node.port) for number, node in seen.nodes.items()}
        level = await _metadata_level(admin, [*brokers.values(), *bootstrap])
        facts = ClusterFacts(
            name=name,
            seen=seen,
            kafka_versions={number: admin.kafka_version(address) for number, address in brokers.items()},
            metadata_version=None if level is None else records.metadata_version(level),
            metadata_mode=mode_of_cluster(
                metadata_mode(seen.api_versions.get(number), seen.broker_configs.get(number)) for number in brokers
            ),
            not_reported=frozenset(
                what for versions in seen.api_versions.values() for what in not_reported(versions) or ()
            ),
        )
        return Monitored(facts, await _clock(admin, f"cluster {name}", bootstrap, now_ms))

    return asked(settings.clusters[name], settings.collect, ask)


def telemetry_clock(settings: Settings, now_ms: Now) -> Clock | None:
    """Query the telemetry cluster's time; None if it does not report it."""

    async def ask(admin: Admin, bootstrap: list[Address]) -> Clock | None:
        return await _clock(admin, "telemetry", bootstrap, now_ms)

    return asked(settings.telemetry, settings.collect, ask)


async def _metadata_level(admin: Admin, candidates: list[Address]) -> int | None:
    for address in candidates:
        try:
            return await admin.metadata_level(address)
        except ASK_ERRORS:  # noqa: PERF203 - the next broker tells the same
            continue
    return None


async def _clock(admin: Admin, where: str, candidates: list[Address], now_ms: Now) -> Clock | None:
    for address in candidates:
        asked_ms = now_ms()
        try:
            quorum = await admin.quorum(address)
        except ASK_ERRORS:
            continue
        theirs_ms = None if quorum is None else quorum.leader_at_ms
        return None if theirs_ms is None else Clock(where, asked_ms, now_ms(), theirs_ms)
    return None


async def _answers(admin: Admin, bootstrap: list[Address]) -> None:
    await admin.topology(bootstrap, lambda: 0)


def telemetry_facts(settings: Settings) -> tuple[str | None, TelemetryFacts]:
    """Query the telemetry cluster's id and topics; raises UserError when it does not answer."""
    asked(settings.telemetry, settings.collect, _answers)  # kafka-python's own client only says that it failed
    with answers_by(None), clients.admin(settings.telemetry) as client:
        try:
            cluster = describe_cluster(client)
            facts = TelemetryFacts(len(cluster.brokers), {}, {}, [], [])
            for topic in telemetry_topics.wanted(settings.topics):
                facts = _with_topic(facts, client, topic.name)
        except KafkaError as error:
            raise clients.unreachable(settings.telemetry, error) from None
    return cluster.cluster_id, facts


def cluster_operations(settings: Settings, name: str) -> frozenset[str] | None:
    """Return the operations that the user of a monitored cluster may do on the cluster itself; None if not reported."""
    cluster = settings.clusters[name]
    with clients.admin(cluster) as client:
        try:
            return allowed_operations(client)
        except KafkaError as error:
            raise clients.unreachable(cluster, error) from None


def _with_topic(facts: TelemetryFacts, client: KafkaAdminClient, name: str) -> TelemetryFacts:
    (described,) = client.describe_topics([name])
    if described["error_code"]:
        is_hidden = for_code(described["error_code"]) is TopicAuthorizationFailedError
        return replace(facts, hidden=[*facts.hidden, name]) if is_hidden else facts
    facts = replace(facts, operations={**facts.operations, name: described.get("authorized_operations")})
    try:
        return replace(facts, existing={**facts.existing, **telemetry_topics.describe(client, [name])})
    except AuthorizationError:
        return replace(facts, no_configs=[*facts.no_configs, name])
