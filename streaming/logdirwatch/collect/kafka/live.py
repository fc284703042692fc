"""The present state of a cluster: every request of the collector made once, without writing a record."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, TypeVar

from logdirwatch.collect.kafka.answers import (
    Configs,
    LogDirsAnswer,
    Node,
    Quorum,
    Reassignment,
    Topic,
    unlisted_topics,
    with_reassignments,
)
from logdirwatch.collect.kafka.capabilities import ApiVersions
from logdirwatch.collect.kafka.config_keys import BROKER_KEYS, TOPIC_KEYS
from logdirwatch.collect.kafka.connections import Address, Wire, addresses
from logdirwatch.collect.kafka.consumer_groups import with_unread
from logdirwatch.collect.kafka.requests import ASK_ERRORS, Admin
from logdirwatch.collect.settings import CollectSettings
from logdirwatch.kafka import clients
from logdirwatch.kafka.clients import one_line
from logdirwatch.kafka.settings import KafkaSettings
from logdirwatch.model.vocabulary import PollStatus

Answer = TypeVar("Answer")


@dataclass(frozen=True)
class LiveCluster:
    """The answers of one cluster's brokers at ``at_ms``.

    ``unknown`` names failed requests with their errors; their results are None or missing. ``hidden_topics`` are on the
    disks and the user may not see them. ``api_versions`` are the requests that brokers support.
    """

    at_ms: int
    nodes: Mapping[int, Node]
    lists_fenced: bool
    log_dirs: Mapping[int, LogDirsAnswer]
    broker_configs: Mapping[int, Mapping[str, str | None]]
    topics: tuple[Topic, ...] | None
    topic_configs: Configs
    reassignments: Mapping[tuple[str, int], Reassignment] | None
    quorum: Quorum | None
    hidden_topics: tuple[str, ...] = ()
    api_versions: Mapping[int, ApiVersions] = field(default_factory=dict)
    unknown: Mapping[str, str] = field(default_factory=dict)


def asked(
    cluster: KafkaSettings, collect: CollectSettings, ask: Callable[[Admin, list[Address]], Coroutine[Any, Any, Answer]]
) -> Answer:
    """Return what ``ask`` returns, over connections of its own; raises UserError when the cluster does not answer."""

    async def run() -> Answer:
        wire = Wire(clients.python_arguments(cluster))
        try:
            admin = Admin(wire, collect.request_timeout_ms, collect.inventory_timeout_ms)
            return await ask(admin, addresses(cluster.bootstrap_servers))
        finally:
            wire.close()

    try:
        return asyncio.run(run())
    except ASK_ERRORS as error:
        raise clients.unreachable(cluster, error) from None


async def look(admin: Admin, bootstrap: Sequence[Address], now_ms: Callable[[], int]) -> LiveCluster:
    """Make every request once; raises the last error when no broker answers at all."""
    topology = await admin.topology(bootstrap, now_ms)
    answered = _Asked(admin)
    at = {number: Address(node.host, node.port) for number, node in topology.nodes.items()}
    log_dirs, configs = await asyncio.gather(
        asyncio.gather(*(admin.replicas(address) for address in at.values())),
        asyncio.gather(*(answered.configs_of(number, address) for number, address in at.items())),
    )
    answers = dict(zip(at, log_dirs, strict=True))
    answering = [at[number] for number, answer in answers.items() if answer.status is PollStatus.OK]
    asked_broker = (answering or list(bootstrap))[0]
    topics = await answered.of("topics", admin.all_topics(asked_broker))
    alive = {number: address for number, address in at.items() if address in answering}
    hidden: tuple[str, ...] = ()
    if topics is not None:
        hidden = await answered.hidden_topics(asked_broker, topics, answers.values())
        topics = await answered.of("consumer groups", with_unread(admin, topics, alive)) or topics
    moves = await answered.of("reassignments", admin.reassignments(asked_broker))
    names = [topic.name for topic in topics or ()]
    topic_configs = await answered.of("topic configs", admin.topic_configs(asked_broker, names, TOPIC_KEYS))
    return LiveCluster(
        at_ms=topology.at_ms,
        nodes=topology.nodes,
        lists_fenced=topology.lists_fenced,
        log_dirs=answers,
        broker_configs={number: found for number, found in zip(at, configs, strict=True) if found is not None},
        topics=topics if topics is None or moves is None else with_reassignments(topics, moves),
        topic_configs=topic_configs or Configs(),
        reassignments=moves,
        quorum=await answered.of("quorum", admin.quorum(asked_broker)),
        hidden_topics=hidden,
        api_versions={number: found for number, address in at.items() if (found := admin.api_versions(address))},
        unknown=answered.unknown,
    )


class _Asked:
    """Collects the errors of failed requests."""

    def __init__(self, admin: Admin) -> None:
        self._admin = admin
        self.unknown: dict[str, str] = {}

    async def of(self, what: str, asking: Awaitable[Answer]) -> Answer | None:
        try:
            return await asking
        except ASK_ERRORS as error:
            self.unknown[what] = one_line(error)
            return None

    async def hidden_topics(
        self, address: Address, topics: Iterable[Topic], answers: Iterable[LogDirsAnswer]
    ) -> tuple[str, ...]:
        """Check the topics that are on the disks and not listed: hidden, or deleted meanwhile."""
        log_dirs = chain.from_iterable(answer.log_dirs for answer in answers)
        unlisted = unlisted_topics(log_dirs, [topic.name for topic in topics])
        if not unlisted:
            return ()
        return await self.of("hidden topics", self._admin.hidden_topics(address, unlisted)) or ()

    async def configs_of(self, broker: int, address: Address) -> Mapping[str, str | None] | None:
        answer = await self.of(f"configs of broker {broker}", self._admin.broker_configs(address, broker, BROKER_KEYS))
        return None if answer is None else answer.values.get(str(broker))
