"""logdirwatch itself over a modelled cluster, for bench_closed_loop.py: its own state machine and its own planner.

Samples go through ``detect.machine.advance``, alerts into ``plan``'s ``ActionTracker`` with a snapshot of the model, as
the stream does it with Kafka and tables between them.
"""

from collections.abc import Iterable, Mapping

import msgspec

from logdirwatch.config.section import DAY_MS, HOUR_MS
from logdirwatch.detect import machine
from logdirwatch.detect.alerts import urgency
from logdirwatch.detect.observations import Sample
from logdirwatch.detect.settings import DetectSettings
from logdirwatch.detect.state.broker_state import BrokerMemory
from logdirwatch.model import topics
from logdirwatch.model.identity import Origin
from logdirwatch.model.records import ActionRecord, AlertRecord, DecisionRecord, LogDirSample, MetricsRecord
from logdirwatch.model.vocabulary import KAFKA_STORAGE_ERROR, AlertStatus, Decision, PollStatus, Severity
from logdirwatch.plan.cluster.growth import Growth
from logdirwatch.plan.cluster.layout import Layout, Partition, Replica, Topic
from logdirwatch.plan.cluster.snapshot import Broker, ClusterSnapshot, LogDir
from logdirwatch.plan.commands.kafka_tools import Tools
from logdirwatch.plan.content_hash import content_hash
from logdirwatch.plan.lifecycle.action_tracker import ActionTracker
from logdirwatch.plan.proposal import Policy
from logdirwatch.plan.settings import PlanSettings, ToolSettings, TopicRule
from loop_policies import is_night
from loop_world import SEGMENT_BYTES, LogDirId, PartitionId, World

CLUSTER = "model"
VERSIONS = {"metadata_version": "4.3-IV0"}
EPOCH_MS = 19_675 * DAY_MS
"""The model's time 0, a midnight."""
OWN_KEYS = frozenset({"retention.ms"})
"""What every topic sets itself: each has another retention, which cannot be the broker's default."""
IDLE_INVENTORY_MS = 6 * HOUR_MS
"""How often the sizes of replicas are looked at while nothing is planned."""
CALM_MS = 4 * HOUR_MS
"""How often is planned while no alert changes and none is a page."""


class Watch:
    """The machine and the tracker of one cluster; ``step`` shows them the world and returns what to choose from.

    ``news_ms`` is how long a change of an alert that is no page waits for its plan at most.
    """

    def __init__(self, world: World, interval_ms: int, news_ms: int) -> None:
        self._world, self._news_ms = world, news_ms
        self._settings = DetectSettings()
        self._brokers = {broker: BrokerMemory(cluster=CLUSTER, broker=broker) for broker, _ in world.log_dirs}
        self._tracker, self._growth = ActionTracker(0), Growth()
        self._offset = self._planned_ms = 0
        self._shown_ms = -interval_ms
        self.policy = _policy(world, interval_ms)
        self.has_news = False
        self._alerts: dict[str, tuple[AlertStatus, Severity, str | None]] = {}
        self.alerts: dict[str, AlertRecord] = {}
        self.actions: dict[str, ActionRecord] = {}

    @property
    def is_undecided(self) -> bool:
        """Whether a directory's last sample proposes another level: the next one decides."""
        return any(
            proposals and proposals[-1] is not seen.status
            for memory in self._brokers.values()
            for seen in memory.log_dirs.values()
            for proposals in seen.proposals.values()
        )

    def step(self, now_ms: int) -> Mapping[str, ActionRecord]:
        """Show one poll of every broker and return the latest revision of every action."""
        at_ms, self._offset = EPOCH_MS + now_ms, self._offset + 1
        interval_ms, self._shown_ms = now_ms - self._shown_ms, now_ms
        for broker, memory in self._brokers.items():
            record = self._poll(broker, at_ms, interval_ms)
            sample = Sample(record, Origin(topics.METRICS, 0, self._offset, at_ms))
            for alert in machine.advance(memory, sample, at_ms, self._settings).alerts:
                self._tell(alert, at_ms)
        if self._tracker.open_clusters and self._is_round(now_ms):
            snapshot = self._growth.taught(self.snapshot(at_ms))
            for action in self._tracker.revise({CLUSTER: snapshot}, lambda _: self.policy, at_ms):
                self.actions[action.action_id] = action
            self.has_news, self._planned_ms = False, now_ms
        elif now_ms - self._planned_ms >= IDLE_INVENTORY_MS:
            self._growth.taught(self.snapshot(at_ms))
            self._planned_ms = now_ms
        return self.actions

    def _is_round(self, now_ms: int) -> bool:
        """Plan after an alert says something else or an execution ended, without waiting for pages.

        The stream plans each minute.
        """
        passed_ms = now_ms - self._planned_ms
        if self._severest >= Severity.PAGE.rank:
            return self.has_news or passed_ms >= HOUR_MS
        return passed_ms >= (self._news_ms if self.has_news else CALM_MS)

    @property
    def planned_ms(self) -> int | None:
        """When the next plan is due that waits for nothing else; None: none is."""
        return self._planned_ms + self._news_ms if self.has_news else None

    @property
    def _severest(self) -> int:
        return max(
            (severity.rank for status, severity, _ in self._alerts.values() if status is AlertStatus.FIRING), default=0
        )

    def accept(self, action: ActionRecord, by: str, at_ms: int) -> DecisionRecord:
        """Take an action up, as ``logdirwatch actions accept`` does."""
        decision = DecisionRecord(
            version=1,
            id=action.action_id,
            cluster=CLUSTER,
            decision=Decision.ACCEPT,
            by=by,
            reason="the model's rule",
            at_ms=at_ms,
            revision=action.revision,
            content_hash=content_hash(action),
        )
        self._tracker.take(topics.DECISIONS, action.action_id.encode(), msgspec.json.encode(decision), at_ms)
        return decision

    def _tell(self, alert: AlertRecord, at_ms: int) -> None:
        said = alert.status, alert.severity, alert.to_status
        before = self._alerts.get(alert.alert_id)
        self.has_news = self.has_news or before != said
        if _rings(said) and not (before and _rings(before)):
            self._world.tally.night_pages += is_night(at_ms)
        self._alerts[alert.alert_id], self.alerts[alert.alert_id] = said, alert
        self._tracker.take(topics.ALERTS, alert.alert_id.encode(), msgspec.json.encode(alert), at_ms)

    def _poll(self, broker: int, at_ms: int, interval_ms: int) -> MetricsRecord:
        return MetricsRecord(
            version=1,
            cluster=CLUSTER,
            broker=broker,
            timestamp_ms=at_ms,
            status=PollStatus.OK,
            collector="bench",
            interval_ms=interval_ms,
            is_fenced=False,
            is_registered=True,
            controller_at_ms=at_ms,
            kafka_version="4.3.1",
            configs=self._configs(broker),
            **VERSIONS,
            log_dirs=[self._sample(place) for place in self._world.log_dirs if place[0] == broker],
        )

    def _sample(self, place: LogDirId) -> LogDirSample:
        seen, world = self._world.log_dirs[place], self._world
        if not seen.is_online:
            return LogDirSample(path=place[1], error_code=KAFKA_STORAGE_ERROR)
        held = world.held(place)
        coming = [(key, copy) for (key, _), copy in world.copies.items() if copy.destination == place]
        copied_bytes = sum(copy.copied_bytes for _, copy in coming)
        return LogDirSample(
            path=place[1],
            error_code=0,
            total_bytes=seen.total_bytes,
            usable_bytes=max(0, seen.total_bytes - seen.used_bytes),
            is_cordoned=seen.is_cordoned,
            is_metadata_dir=False,
            replica_count=len(held),
            replica_bytes=sum(world.logs[key].size_bytes for key in held),
            future_bytes=copied_bytes,
            incoming_bytes=sum(world.logs[key].size_bytes for key, _ in coming) - copied_bytes,
            outgoing_bytes=sum(
                world.logs[key].size_bytes for (key, _), copy in world.copies.items() if copy.source == place
            ),
        )

    def snapshot(self, at_ms: int) -> ClusterSnapshot:
        """Return the model as an inventory of it would show it."""
        return ClusterSnapshot(
            cluster=CLUSTER,
            brokers={
                broker: Broker(broker, memory.status, is_fenced=False, configs=self._configs(broker))
                for broker, memory in self._brokers.items()
            },
            directories={place: self._directory(place, at_ms) for place in self._world.log_dirs},
            layout=Layout(topics=_topics(self._world), replicas=tuple(_replicas(self._world))),
            state_at_ms=at_ms,
            inventory_at_ms=at_ms,
            metadata_version=VERSIONS["metadata_version"],
        )

    def _configs(self, broker: int) -> dict[str, str | None]:
        return {"log.dirs": ",".join(path for other, path in self._world.log_dirs if other == broker)}

    def _directory(self, place: LogDirId, at_ms: int) -> LogDir:
        known = self._brokers[place[0]].log_dirs[place[1]]
        lasting_bytes_per_s, full_at_ms = urgency.outlook(known)
        return LogDir(
            *place,
            known.status,
            cause=known.cause,
            total_bytes=known.total_bytes,
            usable_bytes=known.usable_bytes,
            growth_bytes_per_s=known.growth_bytes_per_s,
            lasting_growth_bytes_per_s=lasting_bytes_per_s,
            full_at_ms=full_at_ms,
            replica_count=known.replica_count,
            unaccounted_bytes=self._world.log_dirs[place].other_bytes,
            incoming_bytes=known.incoming_bytes,
            is_cordoned=known.is_cordoned,
            is_metadata_dir=False,
            sample_at_ms=known.sample_at_ms,
            state_at_ms=at_ms,
            volume=known.volume,
        )


def _rings(said: tuple[AlertStatus, Severity, str | None]) -> bool:
    """Whether an alert wakes somebody."""
    return said[0] is AlertStatus.FIRING and said[1].rank >= Severity.PAGE.rank


def _policy(world: World, interval_ms: int) -> Policy:
    """The owners' floors as the configuration has them; the commands are not run, so their tools have no address."""
    rules = tuple(
        TopicRule(topic=topic.name, min_retention_ms=topic.known_floor_ms)
        for topic in world.topics.values()
        if topic.known_floor_ms is not None
    )
    return Policy(PlanSettings(topics=rules), Tools(ToolSettings(), "model:9092"), interval_ms)


def _topics(world: World) -> Mapping[str, Topic]:
    partitions: dict[str, list[Partition]] = {name: [] for name in world.topics}
    for key, places in world.replicas.items():
        partitions[key[0]].append(_partition(world, key, places))
    return {name: Topic(name, tuple(found), _configs(world, name), OWN_KEYS) for name, found in partitions.items()}


def _configs(world: World, name: str) -> dict[str, str | None]:
    topic = world.topics[name]
    limits: dict[str, str | None] = {key: str(value) for key, value in topic.limits.items()}
    return {
        "cleanup.policy": "delete",
        "segment.bytes": str(SEGMENT_BYTES),
        "min.insync.replicas": str(topic.min_isr),
        **limits,
    }


def _partition(world: World, key: PartitionId, places: list[LogDirId]) -> Partition:
    in_sync = [broker for broker, _ in world.in_sync(key)]
    replicas = tuple(broker for broker, _ in places)
    moving = [
        copy for (found, _), copy in world.copies.items() if found == key and copy.source[0] != copy.destination[0]
    ]
    adding, removing = [copy.destination[0] for copy in moving], [copy.source[0] for copy in moving]
    return Partition(
        *key,
        leader=in_sync[0] if in_sync else None,
        replicas=(*replicas, *adding),
        isr=tuple(in_sync),
        offline_replicas=tuple(broker for broker in replicas if broker not in in_sync),
        is_reassigned=bool(moving),
        adding=tuple(adding),
        removing=tuple(removing),
        groups=0 if world.topics[key[0]].lag_ms is None else 1,
        unread_ratio=world.unread_ratio(key),
    )


def _replicas(world: World) -> Iterable[Replica]:
    for key, places in world.replicas.items():
        for place in places:
            if world.log_dirs[place].is_online:
                yield Replica(*place, *key, size_bytes=world.logs[key].size_bytes)
    for (key, source), copy in world.copies.items():
        is_future = copy.destination[0] == source[0]
        yield Replica(*copy.destination, *key, size_bytes=copy.copied_bytes, is_future=is_future)
