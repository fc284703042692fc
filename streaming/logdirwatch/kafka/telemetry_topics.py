"""The telemetry topics: the wanted and the existing ones, and the creation of missing ones."""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from kafka import KafkaAdminClient
from kafka.admin import ConfigResource, ConfigResourceType
from kafka.errors import (
    InvalidReplicationFactorError,
    KafkaError,
    TopicAlreadyExistsError,
    TopicAuthorizationFailedError,
    UnknownTopicOrPartitionError,
    for_code,
)

from logdirwatch.errors import UserError
from logdirwatch.kafka import clients
from logdirwatch.kafka.settings import TelemetrySettings, TopicSettings
from logdirwatch.model import topics as model
from logdirwatch.model.topics import Topic

# When to give up on topics that were made and are not seen yet; kafka-python's own ten seconds are short on a busy
# machine.
TOPICS_DEADLINE_MS = 120_000

_TOO_MANY_REPLICAS = " Set topics.replication_factor to at most the number of brokers of the telemetry cluster"


_PARTITION_SETTINGS = {
    model.EVENTS: "topics.events_partitions",
    model.METRICS: "topics.metrics_partitions",
    model.INVENTORY: "topics.inventory_partitions",
}


@dataclass(frozen=True)
class Existing:
    """An existing topic; ``configs`` are effective values."""

    partitions: int
    replication_factor: int
    configs: Mapping[str, str | None]


@dataclass(frozen=True)
class Difference:
    """One setting of an existing topic that differs, and the command or advice that changes it."""

    text: str
    command: str


def wanted(settings: TopicSettings) -> tuple[Topic, ...]:
    """Return the telemetry topics with the configured numbers of partitions."""
    partitions = {
        model.EVENTS: settings.events_partitions,
        model.METRICS: settings.metrics_partitions,
        model.INVENTORY: settings.inventory_partitions,
    }
    return tuple(replace(topic, partitions=partitions.get(topic.name, topic.partitions)) for topic in model.TOPICS)


def differences(
    topic: Topic, existing: Existing, replication_factor: int, bootstrap_servers: str, brokers: int | None = None
) -> list[Difference]:
    """Return the differences of an existing topic; ``brokers`` is the number of brokers of its cluster, if known."""
    server = f"--bootstrap-server {shlex.quote(bootstrap_servers)}"
    found = []
    if existing.partitions != topic.partitions:
        found.append(_partitions(topic, existing, server))
    if existing.replication_factor != replication_factor:
        text = f"replication factor {existing.replication_factor}, wanted {replication_factor}"
        found.append(_replicas(text, replication_factor, server, brokers))
    changed = {key: value for key, value in topic.configs.items() if existing.configs.get(key) != value}
    if changed:
        text = ", ".join(f"{key} {existing.configs.get(key)}, wanted {value}" for key, value in changed.items())
        added = ",".join(f"{key}=[{value}]" if "," in value else f"{key}={value}" for key, value in changed.items())
        # A shell would interpret the brackets of a list as a pattern.
        command = (
            f"kafka-configs.sh {server} --alter --entity-type topics --entity-name {topic.name} "
            f"--add-config {shlex.quote(added)}"
        )
        found.append(Difference(text, command))
    return found


def _partitions(topic: Topic, existing: Existing, server: str) -> Difference:
    count = existing.partitions
    text = f"{count} partition{'' if count == 1 else 's'}, wanted {topic.partitions}"
    if count < topic.partitions:
        command = f"kafka-topics.sh {server} --alter --topic {topic.name} --partitions {topic.partitions}"
    elif topic.name in _PARTITION_SETTINGS:
        command = f"set {_PARTITION_SETTINGS[topic.name]} to {count}: the number of partitions can only grow"
    else:
        command = "leave it: the number of partitions can only grow, and more than wanted do no harm"
    return Difference(text, command)


def _replicas(text: str, wanted_replicas: int, server: str, brokers: int | None) -> Difference:
    if brokers is not None and brokers < wanted_replicas:
        have = f"the telemetry cluster has {brokers} broker{'' if brokers == 1 else 's'}"
        return Difference(f"{text}; {have}", f"set topics.replication_factor to {brokers}, or add brokers")
    return Difference(
        text,
        f"kafka-reassign-partitions.sh {server} --execute --reassignment-json-file replicas.json "
        "(docs/doctor.md describes replicas.json)",
    )


def describe(admin: KafkaAdminClient, names: Sequence[str]) -> dict[str, Existing]:
    """Return those of ``names`` that exist. Raises KafkaError."""
    present = []
    for topic in admin.describe_topics(list(names)):
        error = for_code(topic["error_code"])
        if topic["error_code"] and error is not UnknownTopicOrPartitionError:
            raise error(topic["name"])
        if not topic["error_code"]:
            present.append(topic)
    if not present:
        return {}
    resources = [ConfigResource(ConfigResourceType.TOPIC, topic["name"]) for topic in present]
    configs = admin.describe_configs(resources, config_filter="all")["topic"]
    # kafka-python drops the error of a resource; a topic that may be described has some setting.
    if hidden := [name for name, entries in configs.items() if not entries]:
        raise TopicAuthorizationFailedError(f"the user lacks the ACL DescribeConfigs on {', '.join(hidden)}")
    return {
        topic["name"]: Existing(
            partitions=len(topic["partitions"]),
            replication_factor=max((len(part["replica_nodes"]) for part in topic["partitions"]), default=0),
            configs={key: entry["value"] for key, entry in configs[topic["name"]].items()},
        )
        for topic in present
    }


def existing_topics(settings: TelemetrySettings) -> dict[str, Existing]:
    """Return the telemetry topics that exist.

    Raises UserError when the telemetry cluster does not answer.
    """
    with clients.admin(settings.telemetry) as admin:
        try:
            return describe(admin, [topic.name for topic in wanted(settings.topics)])
        except KafkaError as error:
            raise clients.unreachable(settings.telemetry, error) from None


def create_missing(settings: TelemetrySettings) -> list[Topic]:
    """Create the telemetry topics that do not exist and wait until they can be used; return them.

    Raises UserError when the telemetry cluster does not answer or refuses.
    """
    with clients.admin(settings.telemetry) as admin:
        try:
            present = describe(admin, [topic.name for topic in wanted(settings.topics)])
            missing = [topic for topic in wanted(settings.topics) if topic.name not in present]
            if missing:
                _create(admin, missing, settings.topics.replication_factor)
        except KafkaError as error:
            remedy = _TOO_MANY_REPLICAS if isinstance(error, InvalidReplicationFactorError) else ""
            raise UserError(
                f"topics: {settings.telemetry.bootstrap_servers}: {clients.one_line(error)}{remedy}"
            ) from None
    return missing


def _create(admin: KafkaAdminClient, missing: Sequence[Topic], replication_factor: int) -> None:
    answer = admin.create_topics(
        {
            topic.name: {
                "num_partitions": topic.partitions,
                "replication_factor": replication_factor,
                "configs": topic.configs,
            }
            for topic in missing
        },
        raise_errors=False,
    )
    for topic in answer["topics"]:
        error = for_code(topic["error_code"])
        if topic["error_code"] and error is not TopicAlreadyExistsError:
            raise error(f"{topic['name']}: {topic['error_message']}")
    admin.wait_for_topics([topic.name for topic in missing], TOPICS_DEADLINE_MS)
