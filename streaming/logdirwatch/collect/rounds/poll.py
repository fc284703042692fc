"""Polls the brokers of one cluster and publishes each broker's record as soon as its answer arrives."""

import asyncio
import contextlib
import time
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace

import msgspec
import structlog

from logdirwatch.collect.kafka.answers import LogDirsAnswer, with_acl
from logdirwatch.collect.kafka.connections import Address
from logdirwatch.collect.kafka.log_dir_usage import CapacityOf, no_capacity
from logdirwatch.collect.kafka.requests import ASK_ERRORS, Admin
from logdirwatch.collect.publish.backoff import Backoff
from logdirwatch.collect.publish.buffer import Outgoing
from logdirwatch.collect.rounds import records
from logdirwatch.collect.rounds.changes import Change, ReserveOf, Seen, changes
from logdirwatch.collect.rounds.facts import BrokerFacts, ClusterFacts, brokers_after
from logdirwatch.collect.rounds.rising_clock import Clock, RisingClock
from logdirwatch.kafka.clients import one_line
from logdirwatch.model import topics
from logdirwatch.model.capabilities import OLDEST_KAFKA, is_too_old, mode_of_cluster
from logdirwatch.model.records import EventRecord, MetricsRecord
from logdirwatch.model.vocabulary import EventName, MetadataMode, PollStatus
from logdirwatch.observe.progress import Beat, declared_s

log = structlog.get_logger(__name__)

Publish = Callable[[list[Outgoing]], None]
MetricsOf = Callable[[BrokerFacts], Mapping[str, float | None]]
# How long the record of a failure waits for fresh partition health; its event does not wait.
LOOK_TIMEOUT_S = 1.0
# A round may be missed, and the next one be slow.
ROUNDS = 2.5
# An unregistered broker is reported this many times, and then no longer polled.
LAST_WORDS = 10
_encode = msgspec.json.Encoder().encode


@dataclass
class PollStats:
    """The results of the polls of one broker, and the duration of the last one."""

    polls: Counter[PollStatus] = field(default_factory=Counter)
    last_s: float = 0.0

    def add(self, status: PollStatus, took_s: float) -> None:
        """Count one poll."""
        self.polls[status] += 1
        self.last_s = took_s


class ClusterPoller:
    """The facts about one cluster, and the rounds that renew them; ``publish`` takes records in sending order."""

    def __init__(
        self,
        origin: records.Origin,
        bootstrap: list[Address],
        admin: Admin,
        publish: Publish,
        clock: Clock,
        reserve_of: ReserveOf,
        backoff_max_ms: int,
    ) -> None:
        self.origin = origin
        self.admin = admin
        self.publish = publish
        self.clock = clock
        self.brokers: dict[int, BrokerFacts] = {}
        self.facts = ClusterFacts()
        self.with_configs: set[int] = set()
        self.stats: dict[int, PollStats] = {}
        self.beat = Beat(f"poll:{origin.cluster}", more_s=_more_s(origin.interval_ms))
        self._bootstrap = bootstrap
        self._reserve_of = reserve_of
        self._backoff = Backoff(backoff_max_ms)
        self._again_s = 0.0
        self.monotonic_s: Callable[[], float] = time.monotonic
        self._unreachable: BaseException | None = None
        self._waiting: dict[int, int] = {}
        self._last: dict[int, LogDirsAnswer] = {}
        self._told: dict[int, PollStatus] = {}
        self._seen: dict[int, dict[str, Seen]] = {}
        self._clocks: defaultdict[int, RisingClock] = defaultdict(lambda: RisingClock(clock))
        self._missing: Counter[int] = Counter()
        self._rounds = 0
        self._is_too_old = False
        self.discovered = asyncio.Event()
        self.after_failure: Callable[[], Awaitable[None]] = _nothing
        self.metrics_of: MetricsOf = _no_metrics
        self.capacity_of: CapacityOf = no_capacity

    @property
    def last_round_s(self) -> float:
        """When a round ended last, by the monotonic clock: one that hangs is none."""
        return self.beat.last_s

    @last_round_s.setter
    def last_round_s(self, at_s: float) -> None:
        self.beat.last_s = at_s

    @property
    def is_away(self) -> bool:
        """Whether no broker of the cluster answered when it was last asked."""
        return self._backoff.is_away

    @property
    def metadata_mode(self) -> MetadataMode | None:
        """The metadata mode of the cluster."""
        return mode_of_cluster(facts.metadata_mode for facts in self.brokers.values())

    async def poll(self) -> None:
        """Query every known broker at once, and the list of brokers; one with a pending request is skipped.

        While the whole cluster is down it is queried less and less often; the rounds in between repeat the last facts.
        """
        self._rounds += 1
        if self.is_away and self.monotonic_s() < self._again_s:
            self._repeat_last()
            self.beat.beat()
            return
        known = set(self.brokers)
        polls = [asyncio.create_task(self._poll_broker(broker)) for broker in known]
        await self.refresh_brokers()
        polls += [asyncio.create_task(self._poll_broker(broker)) for broker in self.brokers.keys() - known]
        await asyncio.gather(*polls)
        self._settle()
        self._forget_unregistered()
        self.beat.beat()

    async def refresh_brokers(self) -> None:
        """Request which brokers are registered and fenced; without an answer the facts stay, with their age."""
        try:
            topology = await self.admin.topology(self.addresses(), self.clock)
        except ASK_ERRORS as error:
            self._unreachable = error
            return
        self._unreachable = None
        self.brokers = brokers_after(
            self.brokers, topology.nodes, lists_fenced=topology.lists_fenced, at_ms=topology.at_ms
        )
        self.discovered.set()

    def _settle(self) -> None:
        """End a round: log once that the cluster is down or back, or which brokers stopped or resumed answering."""
        if self._unreachable is not None and not any(map(self._answered, self._last)):
            if not self.is_away:
                log.warning("collect.cluster.failed", cluster=self.origin.cluster, error=one_line(self._unreachable))
            self._again_s = self.monotonic_s() + self._backoff.failed() / 1000
            return
        if self.is_away:
            log.warning("collect.cluster.recovered", cluster=self.origin.cluster)
        self._backoff.worked()
        self._tell_statuses()
        self._tell_release()

    def _forget_unregistered(self) -> None:
        """Forget brokers that the controller has not listed for some rounds: they were unregistered."""
        for broker, facts in list(self.brokers.items()):
            self._missing[broker] = self._missing[broker] + 1 if facts.is_registered is False else 0
            if self._missing[broker] >= LAST_WORDS and broker not in self._waiting:
                log.warning("collect.broker.unregistered", cluster=self.origin.cluster, broker=broker)
                for known in (self.brokers, self.stats, self._last, self._told, self._seen, self._missing):
                    known.pop(broker, None)

    def addresses(self) -> list[Address]:
        """Return the brokers to query about the cluster: those that answered last in turn, then all others."""
        turn = self._rounds % max(1, len(self.brokers))
        in_turn = [*self.brokers.values()][turn:] + [*self.brokers.values()][:turn]
        good = [facts for facts in in_turn if self._answered(facts.node.broker)]
        rest = [address_of(facts) for facts in in_turn if not self._answered(facts.node.broker)]
        start = self._rounds % (len(rest) + len(self._bootstrap))
        others = (rest + self._bootstrap)[start:] + (rest + self._bootstrap)[:start]
        return [address_of(facts) for facts in good] + others

    def _answered(self, broker: int) -> bool:
        answer = self._last.get(broker)
        return answer is not None and answer.status is PollStatus.OK

    def is_silent(self, broker: int) -> bool:
        """Whether a broker failed to answer when it was last polled."""
        return broker in self._last and not self._answered(broker)

    async def _poll_broker(self, broker: int) -> None:
        if broker in self._waiting:
            self._tell_waiting(broker)
            return
        self._waiting[broker] = 0
        began_s = time.monotonic()
        try:
            address = address_of(self.brokers[broker])
            answer = await self.admin.capacity(address)
        finally:
            del self._waiting[broker]
        version = self.admin.kafka_version(address)
        if version is not None:
            listed = self.admin.api_versions(address)
            self.brokers[broker] = replace(self.brokers[broker], kafka_version=version, api_versions=listed)
        self._last[broker] = answer
        self.stats.setdefault(broker, PollStats()).add(answer.status, time.monotonic() - began_s)
        await self._publish_answer(broker, answer)

    def _tell_waiting(self, broker: int) -> None:
        """Write a timeout if the limit is longer than a round; one that answered last has a round more."""
        self._waiting[broker] += 1
        if self._waiting[broker] > 1 or self.is_silent(broker):
            self._last[broker] = LogDirsAnswer(PollStatus.TIMEOUT, "no answer to an earlier poll yet")
            self.publish([self._record(broker, self._last[broker], self.stamp(broker), waits=False)])

    async def _publish_answer(self, broker: int, answer: LogDirsAnswer) -> None:
        """Publish the events of one poll, then its record: readers get the event before the sample with the error.

        After a directory failure the record describes the partitions after the failure, if they can be queried quickly.
        """
        self._seen[broker], news = changes(self._seen.get(broker, {}), answer.log_dirs, self._reserve_of)
        at_ms = self.stamp(broker, len(news))
        self.publish([self._event(broker, change, at_ms + number) for number, change in enumerate(news)])
        if any(change.event is EventName.LOG_DIR_FAILURE for change in news):
            with contextlib.suppress(asyncio.TimeoutError):
                await asyncio.wait_for(self.after_failure(), LOOK_TIMEOUT_S)
        self.publish([self._record(broker, answer, at_ms + len(news), waits=bool(news))])

    def _event(self, broker: int, change: Change, at_ms: int) -> Outgoing:
        event = records.event_record(self.origin, broker, change.event, change.log_dir, at_ms, change.detail)
        return event_outgoing(event)

    def _record(self, broker: int, answer: LogDirsAnswer, at_ms: int, *, waits: bool) -> Outgoing:
        with_configs = broker in self.with_configs
        self.with_configs.discard(broker)
        facts = self.brokers[broker]
        record = records.metrics_record(
            self.origin,
            facts,
            self.facts,
            answer,
            at_ms,
            with_configs=with_configs,
            metrics=self.metrics_of(facts),
            capacity_of=self.capacity_of,
        )
        return metrics_outgoing(record, waits=waits)

    def _repeat_last(self) -> None:
        for broker, answer in self._last.items():
            if broker not in self._waiting:
                error = f"not asked again yet, the whole cluster is away; last: {answer.error}"
                repeated = replace(answer, error=error)
                self.publish([self._record(broker, repeated, self.stamp(broker), waits=False)])

    def stamp(self, broker: int, more: int = 0) -> int:
        """Return a time later than all earlier ones for ``broker``, with ``more`` milliseconds free after it."""
        return self._clocks[broker](more)

    def _tell_statuses(self) -> None:
        """Log one line for each broker that stopped or resumed answering."""
        for broker, answer in self._last.items():
            before = self._told.get(broker, PollStatus.OK)
            self._told[broker] = answer.status
            if before == answer.status:
                continue
            event = "collect.broker.recovered" if answer.status is PollStatus.OK else "collect.broker.failed"
            error = answer.error and with_acl("broker", answer.error)
            log.warning(event, cluster=self.origin.cluster, broker=broker, status=str(answer.status), error=error)

    def _tell_release(self) -> None:
        """Log one line when brokers run a release that is too old."""
        old = {broker: facts.kafka_version for broker, facts in self.brokers.items() if is_too_old(facts.kafka_version)}
        if old and not self._is_too_old:
            log.warning(
                "collect.release.too_old",
                cluster=self.origin.cluster,
                brokers=sorted(old),
                kafka_version=min(map(str, old.values())),
                meaning=f"logdirwatch watches Kafka {OLDEST_KAFKA} and later; upgrade these brokers",
            )
        self._is_too_old = bool(old)


def _more_s(interval_ms: int) -> float:
    """Return what a long interval adds to the longest silence of the polls."""
    return max(0.0, ROUNDS * interval_ms / 1000 - declared_s("poll"))


async def _nothing() -> None:
    """Do nothing: the poller has no scanner yet."""


def _no_metrics(_: BrokerFacts) -> Mapping[str, float | None]:
    """Return no metrics: the poller has no exporters yet."""
    return {}


def address_of(facts: BrokerFacts) -> Address:
    """Return the address of a broker."""
    return Address(facts.node.host, facts.node.port)


def metrics_outgoing(record: MetricsRecord, *, waits: bool) -> Outgoing:
    """Return a metrics record under its key ``cluster/broker``."""
    return Outgoing(topics.METRICS, f"{record.cluster}/{record.broker}".encode(), _encode(record), waits=waits)


def event_outgoing(record: EventRecord) -> Outgoing:
    """Return an event under its key ``cluster/broker``."""
    return Outgoing(topics.EVENTS, f"{record.cluster}/{record.broker}".encode(), _encode(record))


def outgoing(topic: str, keyed: Iterable[tuple[str, msgspec.Struct]], *, waits: bool = False) -> list[Outgoing]:
    """Return records of one topic under their keys."""
    return [Outgoing(topic, key.encode(), _encode(record), waits=waits) for key, record in keyed]
