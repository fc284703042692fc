"""Reads and changes a cluster through kafka-python's admin client."""

import contextlib
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from kafka import KafkaAdminClient, TopicPartition, TopicPartitionReplica
from kafka.admin import ConfigResource, ConfigResourceType
from kafka.errors import (
    ElectionNotNeededError,
    KafkaError,
    NoError,
    ReplicaNotAvailableError,
    RetriableError,
    UnknownBrokerIdError,
    UnknownTopicOrPartitionError,
    for_code,
)
from kafka.protocol.admin import ElectionType

from logdirwatch.execute.calls import Call, ChangeConfig, ElectLeaders, PlaceReplicas, Reassign
from logdirwatch.execute.ports import NoAnswerError, RefusedError
from logdirwatch.execute.seen import Copy, Entity, Held, PartitionSeen, Seen
from logdirwatch.execute.step_kinds.cancel import Cancel
from logdirwatch.execute.step_kinds.elect import Elect
from logdirwatch.execute.step_kinds.move import Move
from logdirwatch.execute.step_kinds.order import Order
from logdirwatch.execute.step_kinds.set_config import SetConfig
from logdirwatch.execute.step_kinds.throttle import Throttle
from logdirwatch.execute.steps import Step
from logdirwatch.execute.surroundings import Around, Surroundings
from logdirwatch.kafka.clients import one_line
from logdirwatch.kafka.cluster_description import describe_cluster
from logdirwatch.model.vocabulary import LOG_DIR_THROTTLE, REPLICATION_THROTTLES, THROTTLED_REPLICAS
from logdirwatch.plan.cluster.layout import LogDirId
from logdirwatch.plan.cluster.layout import TopicPartition as Key
from logdirwatch.plan.commands.throttles import Limit

T = TypeVar("T")

_TYPES = {"topics": ConfigResourceType.TOPIC, "brokers": ConfigResourceType.BROKER}
_DEFAULT = "DEFAULT_CONFIG"
_TOPIC_OWN = "DYNAMIC_TOPIC_CONFIG"
_CLEANS_AFTER_CANCEL = (4, 2)
"""The release in which a broker goes on cleaning a replica whose copy was cancelled (KAFKA-19458)."""
_MIN_ISR = "min.insync.replicas"
_THROTTLES = frozenset({*REPLICATION_THROTTLES, *THROTTLED_REPLICAS, LOG_DIR_THROTTLE})


class AdminCluster:
    """Observes what one step concerns, and makes its calls. Raises NoAnswerError and RefusedError."""

    def __init__(self, client: KafkaAdminClient) -> None:
        self._client = client

    def look(self, step: Step | None, limits: Sequence[Limit]) -> Seen:
        """Return the state that a step is decided on, and the values of ``limits``."""
        return _asked(lambda: self._look(step, limits))

    def look_around(self, ours: Around) -> Surroundings:
        """Return what happens on the cluster around an execution."""
        return _asked(lambda: self._look_around(ours))

    def hosts(self, topics: frozenset[str]) -> frozenset[int]:
        """Return every broker that has a replica of one of the topics."""
        shown = _asked(lambda: self._client.describe_topics(sorted(topics))) if topics else []
        return frozenset(broker for topic in shown for one in topic["partitions"] for broker in one["replica_nodes"])

    def call(self, call: Call) -> None:
        """Make a call."""
        _asked(lambda: self._call(call))

    def _look(self, step: Step | None, limits: Sequence[Limit]) -> Seen:
        if isinstance(step, Move | Order | Elect | Cancel):
            return self._of_partitions(step)
        if isinstance(step, Throttle):
            return self._of_throttles(step)
        entities = {(one.entity, one.name) for one in limits}
        if isinstance(step, SetConfig):
            entities.add((step.entity, step.name))
        for _, name in sorted({one for one in entities if one[0] == "brokers"} - self._alive()):
            raise NoAnswerError(f"broker {name} is not alive")
        topics = self._client.describe_topics(sorted(name for entity, name in entities if entity == "topics"))
        return Seen(configs=self._configs(entities), topic_ids=_topic_ids(topics))

    def _of_throttles(self, step: Throttle) -> Seen:
        """Return the throttles of topics and of brokers that are alive: a dead one copies nothing, a slow one does."""
        entities = {(one.entity, one.name) for one in step.limits}
        dead = {one for one in entities if one[0] == "brokers"} - self._alive()
        topics = self._client.describe_topics(sorted(name for entity, name in entities if entity == "topics"))
        silent = frozenset(int(name) for _, name in dead)
        return Seen(configs=self._configs(entities - dead), silent=silent, topic_ids=_topic_ids(topics))

    def _look_around(self, ours: Around) -> Surroundings:
        shown = self._client.describe_topics()
        known = {topic["name"] for topic in shown if not topic["error_code"]}
        values = self._of_brokers(self._alive())
        brokers = frozenset(int(name) for _, name in values)
        values |= self._configs({("topics", topic) for topic in ours.topics & known})
        return Surroundings(
            under_min_isr=self._under_min_isr(shown),
            reassigned=_reassigned(self._client.list_partition_reassignments()),
            throttles=frozenset(_throttles(values)),
            brokers=brokers,
            used_ratios=self._used_ratios(ours.destinations),
        )

    def _of_brokers(self, wanted: Iterable[Entity]) -> dict[Entity, dict[str, str | None]]:
        """Return the configuration of the brokers that answer, each queried separately."""
        found: dict[Entity, dict[str, str | None]] = {}
        for broker in sorted(wanted):
            with contextlib.suppress(OSError, RetriableError, UnknownBrokerIdError):
                found |= self._configs({broker})
        return found

    def _under_min_isr(self, shown: Iterable[Mapping[str, Any]]) -> frozenset[Key]:
        short = {
            (topic["name"], one["partition_index"]): len(one["isr_nodes"])
            for topic in shown
            for one in (() if topic["error_code"] else topic["partitions"])
            if len(one["isr_nodes"]) < len(one["replica_nodes"])
        }
        if not short:
            return frozenset()
        resources = [ConfigResource(_TYPES["topics"], topic) for topic in sorted({key[0] for key in short})]
        found = self._client.describe_configs(resources, config_filter="all").get("topic", {})
        least = {topic: int(entries[_MIN_ISR]["value"]) for topic, entries in found.items() if _MIN_ISR in entries}
        return frozenset(key for key, in_sync in short.items() if in_sync < least.get(key[0], 1))

    def _used_ratios(self, places: Iterable[LogDirId]) -> dict[LogDirId, float]:
        found: dict[LogDirId, float] = {}
        for broker in sorted({broker for broker, _ in places}):
            try:
                answers = self._client.describe_log_dirs({}, brokers=[broker])
            except (KafkaError, OSError):
                continue
            for log_dir in (one for answer in answers for one in answer["log_dirs"]):
                # A release before 3.3 does not tell the sizes (KIP-827).
                total, usable = log_dir.get("total_bytes", -1), log_dir.get("usable_bytes", -1)
                if total > 0 and usable >= 0 and not log_dir["error_code"]:
                    found[broker, log_dir["log_dir"]] = 1 - usable / total
        return {place: found[place] for place in places if place in found}

    def _configs(self, entities: Iterable[Entity]) -> dict[Entity, dict[str, str | None]]:
        """Return the values that are set, not defaults; for a topic, only its own, and none if it is gone."""
        resources = [ConfigResource(_TYPES[entity], name) for entity, name in sorted(entities)]
        answer = self._client.describe_configs(resources, config_filter="all")
        found: dict[Entity, dict[str, str | None]] = {}
        for entity, name in entities:
            entries = answer.get(_TYPES[entity].name.lower(), {}).get(name)
            if not entries and entity == "topics" and self._is_gone(name):
                entries = {}
            elif not entries:
                whose = f"{entity.removesuffix('s')} {name}"
                raise RefusedError(f"the configuration of {whose} is not shown: is the ACL DescribeConfigs missing?")
            found[entity, name] = {
                key: entry["value"]
                for key, entry in entries.items()
                if (entry["config_source"] == _TOPIC_OWN if entity == "topics" else entry["config_source"] != _DEFAULT)
            }
        return found

    def _alive(self) -> frozenset[Entity]:
        """Return the brokers that are alive: one that is dead is not asked, which would take its timeout."""
        return frozenset(("brokers", str(broker)) for broker in describe_cluster(self._client).unfenced)

    def _is_gone(self, topic: str) -> bool:
        (found,) = self._client.describe_topics([topic])
        return bool(found["error_code"] == UnknownTopicOrPartitionError.errno)

    def _of_partitions(self, step: Move | Order | Elect | Cancel) -> Seen:
        keys = [TopicPartition(*key) for key in step.keys]
        running = self._client.list_partition_reassignments(keys)
        replicas, futures, log_dirs, silent = self._placements(step)
        topics = self._client.describe_topics(sorted({key.topic for key in keys}))
        return Seen(
            partitions=_partitions(topics, running),
            replicas=replicas,
            futures=futures,
            log_dirs=log_dirs,
            silent=frozenset(silent),
            topic_ids=_topic_ids(topics),
            stops_cleaning=self._client.broker_release < _CLEANS_AFTER_CANCEL,
        )

    def _placements(
        self, step: Move | Order | Elect | Cancel
    ) -> tuple[dict[Held, Copy], dict[Held, Copy], dict[tuple[int, str], int], set[int]]:
        """Query every broker separately: one that does not answer must not hide the others."""
        wanted = _by_topic(step.keys)
        replicas: dict[Held, Copy] = {}
        futures: dict[Held, Copy] = {}
        log_dirs: dict[tuple[int, str], int] = {}
        silent: set[int] = set()
        for broker in sorted(step.brokers):
            try:
                answers = self._client.describe_log_dirs(wanted, brokers=[broker])
            except (KafkaError, OSError):
                silent.add(broker)
                continue
            for log_dir in (found for answer in answers for found in answer["log_dirs"]):
                log_dirs[broker, log_dir["log_dir"]] = log_dir["error_code"]
                for named in log_dir["topics"]:
                    for part in named["partitions"]:
                        found = futures if part["is_future_key"] else replicas
                        held = (named["name"], part["partition_index"], broker)
                        found[held] = Copy(log_dir["log_dir"], part["partition_size"])
        return replicas, futures, log_dirs, silent

    def _call(self, call: Call) -> None:
        if isinstance(call, ChangeConfig):
            self._change(call)
        elif isinstance(call, PlaceReplicas):
            self._place(call)
        elif isinstance(call, Reassign):
            self._reassign(call)
        else:
            self._elect(call)

    def _change(self, call: ChangeConfig) -> None:
        change = ("DELETE", None) if call.value is None else ("SET", call.value)
        resource = ConfigResource(_TYPES[call.entity], call.name, configs={call.key: change})
        answer = self._client.alter_configs([resource], raise_on_unknown=False, incremental=True)
        for results in answer.values():
            for said in results.values():
                if said != "OK":
                    raise RefusedError(said)

    def _place(self, call: PlaceReplicas) -> None:
        """Place replicas.

        Kafka refuses one that does not exist yet, and remembers its place (Kafka 4.3.1 ``ReplicaManager``).
        """
        answer = self._client.alter_replica_log_dirs(
            {TopicPartitionReplica(*held): path for held, path in call.paths.items()}
        )
        for replica, error in answer.items():
            if error not in {NoError, ReplicaNotAvailableError}:
                label = f"{replica.topic}-{replica.partition}"
                _raise(error, f"{label} to {call.paths[replica.topic, replica.partition, replica.broker_id]}")

    def _reassign(self, call: Reassign) -> None:
        wanted = {TopicPartition(*key): replicas for key, replicas in call.replicas.items()}
        answer = self._client.alter_partition_reassignments(wanted, allow_replication_factor_change=call.changes_factor)
        for partition, error in answer.items():
            if error is not None and error.__name__ != "NoReassignmentInProgressError":
                _raise(error, f"{partition.topic}-{partition.partition}")

    def _elect(self, call: ElectLeaders) -> None:
        """Elect preferred leaders; Kafka's answer that one leads already is no error."""
        answer = self._client.elect_leaders(ElectionType.PREFERRED, _by_topic(call.partitions), raise_errors=False)
        if answer.error_code:
            _raise(for_code(answer.error_code), "the election")
        for topic in answer.replica_election_results:
            for one in topic.partition_result:
                error = for_code(one.error_code)
                if error not in {NoError, ElectionNotNeededError}:
                    _raise(error, f"{topic.topic}-{one.partition_id}")


def _topic_ids(topics: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """Return the id of each topic; a release before 2.8 has none."""
    return {one["name"]: str(one["topic_id"]) for one in topics if not one["error_code"] and one["topic_id"]}


def _partitions(topics: Iterable[Mapping[str, Any]], running: Mapping[Any, Any]) -> dict[Key, PartitionSeen]:
    found: dict[Key, PartitionSeen] = {}
    for topic in topics:
        for one in topic["partitions"] if not topic["error_code"] else ():
            key = (topic["name"], one["partition_index"])
            # The controller tells what is reassigned; a broker's metadata may be older.
            still = {"replicas": one["replica_nodes"], "adding_replicas": (), "removing_replicas": ()}
            move = running.get(TopicPartition(*key), still)
            found[key] = PartitionSeen(
                tuple(move["replicas"]),
                tuple(one["isr_nodes"]),
                tuple(move["adding_replicas"]),
                tuple(move["removing_replicas"]),
                None if one["leader_id"] < 0 else one["leader_id"],
            )
    return found


def _reassigned(running: Mapping[Any, Any]) -> dict[Key, tuple[int, ...]]:
    return {
        (partition.topic, partition.partition): tuple(
            broker for broker in move["replicas"] if broker not in move["removing_replicas"]
        )
        for partition, move in running.items()
    }


def _throttles(configs: Mapping[Entity, Mapping[str, str | None]]) -> Iterator[Limit]:
    for (entity, name), values in configs.items():
        yield from (Limit(entity, name, key, value) for key, value in values.items() if key in _THROTTLES and value)


def _by_topic(keys: Iterable[Key]) -> dict[str, list[int]]:
    found: defaultdict[str, list[int]] = defaultdict(list)
    for topic, partition in keys:
        found[topic].append(partition)
    return dict(found)


def _raise(error: type[KafkaError], what: str) -> None:
    kind = NoAnswerError if getattr(error, "retriable", False) else RefusedError
    raise kind(f"{what}: {one_line(error())}")


def _asked(ask: Callable[[], T]) -> T:
    try:
        return ask()
    except KafkaError as error:
        kind = NoAnswerError if getattr(error, "retriable", False) or not getattr(error, "errno", 0) else RefusedError
        raise kind(one_line(error)) from None
    except OSError as error:
        raise NoAnswerError(one_line(error)) from None
