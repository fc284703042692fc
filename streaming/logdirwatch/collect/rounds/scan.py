"""The slower rounds over one cluster: the inventory of replicas and topics, and the health of partitions."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import TypeVar

import structlog

from logdirwatch.collect.kafka.answers import (
    Configs,
    LogDirAnswer,
    LogDirsAnswer,
    Reassignment,
    Topic,
    unlisted_topics,
    with_acl,
    with_reassignments,
)
from logdirwatch.collect.kafka.config_keys import BROKER_KEYS, MIN_ISR_KEYS, TOPIC_KEYS
from logdirwatch.collect.kafka.connections import Address
from logdirwatch.collect.kafka.consumer_groups import with_unread
from logdirwatch.collect.kafka.log_dir_usage import Partition, usages
from logdirwatch.collect.kafka.partition_health import partition_health
from logdirwatch.collect.kafka.replica_moves import copy_threads, replica_moves, throttled_replicas, throttles_of
from logdirwatch.collect.kafka.requests import ASK_ERRORS
from logdirwatch.collect.rounds import records
from logdirwatch.collect.rounds.facts import BrokerFacts
from logdirwatch.collect.rounds.poll import ClusterPoller, address_of, outgoing
from logdirwatch.collect.rounds.rising_clock import RisingClock
from logdirwatch.kafka.clients import one_line
from logdirwatch.model import topics as telemetry
from logdirwatch.model.vocabulary import MetadataMode, PollStatus

log = structlog.get_logger(__name__)

# Decoding many large answers at once would block the polls.
SCANS_AT_ONCE = 8

# Number of brokers to query about the whole cluster before giving up until the next round.
ATTEMPTS = 2
MOST_ASKED = 20

Answer = TypeVar("Answer")
Ask = Callable[[Address], Awaitable[Answer]]


class Scanner:
    """The inventory scans and partition checks of one cluster, using its poller's facts."""

    def __init__(self, poller: ClusterPoller, record_max_bytes: int, *, reads_groups: bool) -> None:
        self._poller = poller
        self._admin = poller.admin
        self._origin = poller.origin
        self._max_bytes = record_max_bytes
        self._reads_groups = reads_groups
        self._min_isr: dict[str, int] = {}
        self._readers: dict[str, tuple[str, ...]] | None = None
        self._throttled: Mapping[int, int] | None = None
        self._hides_topics = False
        self._at_once = asyncio.Semaphore(SCANS_AT_ONCE)
        self._failing: set[str] = set()
        self._scan_clock = RisingClock(poller.clock)

    @property
    def is_lacking(self) -> bool:
        """Whether a request failed; a log line says which, and why."""
        return bool(self._failing)

    async def scan(self) -> bool:
        """Write the inventory: every broker's replicas, every topic, the end of the scan; tell whether it is complete.

        The last known placement of a broker that does not answer stays valid.
        """
        if not self._poller.brokers:
            return False
        at_ms = self._scan_clock()
        asked = [facts for number, facts in self._poller.brokers.items() if not self._poller.is_silent(number)]
        answers, (moves, topics) = await asyncio.gather(
            asyncio.gather(*(self._scan_broker(facts, at_ms) for facts in asked)), self._moves_and_topics(at_ms)
        )
        log_dirs = {broker: answer.log_dirs for broker, answer in answers if answer.status is PollStatus.OK}
        names = None if topics is None else [topic.name for topic in topics]
        if names is not None:
            await self._look_for_hidden(names, log_dirs.values())
        level = await self._tried("features", self._admin.metadata_level)
        facts = self._poller.facts
        throttles = {number: self._poller.brokers[number].throttles for number in log_dirs}
        threads = {number: copy_threads(self._poller.brokers[number].configs) for number in log_dirs}
        self._poller.facts = replace(
            facts,
            usages={**facts.usages, **usages(log_dirs, moves, topics)},
            moves={**facts.moves, **replica_moves(log_dirs, moves, throttles, self._throttled, at_ms, threads)},
            metadata_version=facts.metadata_version if level is None else records.metadata_version(level),
        )
        is_complete = topics is not None and not self._hides_topics
        self._end(names or (), at_ms, is_complete=is_complete)
        return is_complete and len(log_dirs) == len(self._poller.brokers)

    async def _scan_broker(self, broker: BrokerFacts, at_ms: int) -> tuple[int, LogDirsAnswer]:
        number, address = broker.node.broker, address_of(broker)
        async with self._at_once:
            answer, configs = await asyncio.gather(self._admin.replicas(address), self._broker_configs(number, address))
        parts = records.replicas_records(self._origin, number, answer.log_dirs, at_ms, self._max_bytes)
        cluster = self._origin.cluster
        self._poller.publish(
            outgoing(telemetry.INVENTORY, ((f"{cluster}/{number}/{part.log_dir}", part) for part in parts))
        )
        self._note_configs(number, configs)
        return number, answer

    def _note_configs(self, broker: int, answer: Configs | None) -> None:
        """Store a broker's configuration; without one its throttles become unknown."""
        known = self._poller.brokers[broker]
        if answer is None:
            self._poller.brokers[broker] = replace(known, throttles=None)
            return
        values = answer.values[str(broker)]
        throttles = throttles_of(values, answer.overridden.get(str(broker), ()))
        self._poller.brokers[broker] = replace(known, configs=values, throttles=throttles)
        self._poller.with_configs.add(broker)

    async def _broker_configs(self, broker: int, address: Address) -> Configs | None:
        """Return a broker's configuration; None if the request failed."""
        what = f"configs of broker {broker}"
        answer, error = await _attempt(self._admin.broker_configs(address, broker, BROKER_KEYS))
        if answer is None or str(broker) not in answer.values:
            self._failed(what, error or (answer.failed.get(str(broker), "not answered") if answer else ""))
            return None
        self._worked(what)
        return answer

    async def _moves_and_topics(
        self, at_ms: int
    ) -> tuple[Mapping[Partition, Reassignment] | None, tuple[Topic, ...] | None]:
        """Write every topic; return the reassignments and the topics, None for what could not be listed."""
        moves = await self._tried("reassignments", self._admin.reassignments)
        return moves, await self._scan_topics(at_ms, moves)

    async def _scan_topics(
        self, at_ms: int, moves: Mapping[Partition, Reassignment] | None
    ) -> tuple[Topic, ...] | None:
        """Write every topic; return them, None if they could not be listed."""
        self._throttled = None
        topics = await self._tried("topics", self._admin.all_topics)
        if topics is None:
            return None
        configs = await self._topic_configs(topics, TOPIC_KEYS)
        if configs is not None:
            self._throttled = None if configs.failed else throttled_replicas(topics, configs.values)
            self._min_isr = records.min_isr_by_topic(configs.values)
        if moves is not None:
            topics = with_reassignments(topics, moves)
        if self._reads_groups:
            topics = await self._with_unread(topics)
        parts = records.topic_records(self._origin, topics, configs or Configs(), at_ms, self._max_bytes)
        keyed = ((f"{self._origin.cluster}/{part.topic}", part) for part in parts)
        self._poller.publish(outgoing(telemetry.INVENTORY, keyed))
        return topics

    async def _look_for_hidden(self, topics: Iterable[str], log_dirs: Iterable[Sequence[LogDirAnswer]]) -> None:
        """Check for topics on the disks that the user may not see: a list without them looks complete."""
        unlisted = unlisted_topics(chain.from_iterable(log_dirs), topics)[:MOST_ASKED]
        hidden = (
            await self._tried("hidden topics", lambda at: self._admin.hidden_topics(at, unlisted)) if unlisted else ()
        )
        if hidden is not None:
            self._hides_topics = bool(hidden)
            error = f"TopicAuthorizationFailedError: {hidden[0]} lies on a disk and is not listed" if hidden else None
            self._note("some topics", error)

    async def _with_unread(self, topics: tuple[Topic, ...]) -> tuple[Topic, ...]:
        """Return the topics with the unread share of consumer groups; unchanged if that request failed."""
        brokers = self._poller.brokers
        alive = {number: address_of(facts) for number, facts in brokers.items() if not self._poller.is_silent(number)}
        found, error = await _attempt(with_unread(self._admin, topics, alive))
        if found is None:
            self._failed("consumer groups", error or "")
            return topics
        self._worked("consumer groups")
        # Kept while groups cannot be asked, as when __consumer_offsets is hurt itself: who reads what changes seldom.
        self._readers = {topic.name: topic.readers for topic in found if topic.readers}
        return found

    def _end(self, topics: Sequence[str], at_ms: int, *, is_complete: bool) -> None:
        """Write the end of the scan; readers get it after everything that it covers."""
        end = records.scan_record(self._origin, len(topics), at_ms, is_complete=is_complete)
        self._poller.publish(outgoing(telemetry.INVENTORY, [(self._origin.cluster, end)], waits=True))

    async def _topic_configs(self, topics: Iterable[Topic], keys: Sequence[str]) -> Configs | None:
        names = [topic.name for topic in topics]
        found = await self._tried("topic configs", lambda address: self._admin.topic_configs(address, names, keys))
        if found is not None:
            self._note("configs of some topics", next(iter(found.failed.values()), None))
        return found

    async def look_at_partitions(self) -> None:
        """Renew the health of the partitions and the active controller; failed requests leave them unknown."""
        topics, controller_id = await asyncio.gather(
            self._tried("partitions", self._admin.live_topics), self._controller_id()
        )
        health = None
        if topics is not None and not self._hides_topics:
            new = [topic for topic in topics if topic.name not in self._min_isr]
            if new and (configs := await self._topic_configs(new, MIN_ISR_KEYS)) is not None:
                self._min_isr |= records.min_isr_by_topic(configs.values)
            health = partition_health(topics, self._min_isr, self._poller.brokers, self._readers)
        self._poller.facts = replace(self._poller.facts, partitions=health, controller_id=controller_id)

    async def _controller_id(self) -> int | None:
        """Return the active controller, unknown during a migration: a ZooKeeper broker then names any live broker."""
        if self._poller.metadata_mode is MetadataMode.MIGRATING:
            return None
        return await self._tried("quorum", self._admin.controller_id)

    async def _tried(self, what: str, ask: Ask[Answer]) -> Answer | None:
        """Query one broker after another, two at most; None if neither answers."""
        error: str | None = "no broker is known"
        for address in self._poller.addresses()[:ATTEMPTS]:
            answer, error = await _attempt(ask(address))
            if error is None:
                self._worked(what)
                return answer
        self._failed(what, error or "")
        return None

    def _note(self, what: str, error: str | None) -> None:
        """Log once that something is unknown, and why, or that it is known again."""
        if error is None:
            self._worked(what)
        else:
            self._failed(what, error)

    def _failed(self, what: str, error: str) -> None:
        if what not in self._failing and not self._poller.is_away:
            self._failing.add(what)
            log.warning("collect.scan.failed", what=what, cluster=self._origin.cluster, error=with_acl(what, error))

    def _worked(self, what: str) -> None:
        if what in self._failing:
            self._failing.discard(what)
            log.warning("collect.scan.recovered", what=what, cluster=self._origin.cluster)


async def _attempt(asked: Awaitable[Answer]) -> tuple[Answer | None, str | None]:
    try:
        return await asked, None
    except ASK_ERRORS as error:
        return None, one_line(error)
