"""The present state of a cluster: every request of the collector made once, without writing a record."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import TypeVar

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
from logdirwatch.collect.kafka.connections import Address
from logdirwatch.collect.kafka.consumer_groups import with_unread
from logdirwatch.collect.kafka.requests import ASK_ERRORS, Admin
from logdirwatch.kafka.clients import one_line
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


async def look(admin: Admin, bootstrap: Sequence[Address], now_ms: Callable[[], int]) -> LiveCluster:
    """Make every request once; raises the last error when no broker answers at all."""
    topology = await admin.topology(bootstrap, now_ms)
    asked = _Asked(admin)
    addresses = {number: Address(node.host, node.port) for number, node in topology.nodes.items()}
    log_dirs, configs = await asyncio.gather(
        asyncio.gather(*(admin.replicas(address) for address in addresses.values())),
        asyncio.gather(*(asked.configs_of(number, address) for number, address in addresses.items())),
    )
    answers = dict(zip(addresses, log_dirs, strict=True))
    answering = [addresses[number] for number, answer in answers.items() if answer.status is PollStatus.OK]
    asked_broker = (answering or list(bootstrap))[0]
    topics = await asked.of("topics", admin.all_topics(asked_broker))
    alive = {number: address for number, address in addresses.items() if address in answering}
    hidden: tuple[str, ...] = ()
    if topics is not None:
        hidden = await asked.hidden_topics(asked_broker, topics, answers.values())
        topics = await asked.of("consumer groups", with_unread(admin, topics, alive)) or topics
    moves = await asked.of("reassignments", admin.reassignments(asked_broker))
    names = [topic.name for topic in topics or ()]
    topic_configs = await asked.of("topic configs", admin.topic_configs(asked_broker, names, TOPIC_KEYS))
    return LiveCluster(
        at_ms=topology.at_ms,
        nodes=topology.nodes,
        lists_fenced=topology.lists_fenced,
        log_dirs=answers,
        broker_configs={number: found for number, found in zip(addresses, configs, strict=True) if found is not None},
        topics=topics if topics is None or moves is None else with_reassignments(topics, moves),
        topic_configs=topic_configs or Configs(),
        reassignments=moves,
        quorum=await asked.of("quorum", admin.quorum(asked_broker)),
        hidden_topics=hidden,
        api_versions={number: found for number, address in addresses.items() if (found := admin.api_versions(address))},
        unknown=asked.unknown,
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
