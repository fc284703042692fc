"""logdirwatch itself over a modelled cluster, for bench_closed_loop.py: its own state machine and its own planner.

Samples go through ``detect.machine.advance``, alerts into ``plan``'s ``ActionTracker`` with a snapshot of the model, as
the stream does it with Kafka and tables between them.
"""

from collections.abc import Iterable, Mapping

import msgspec

from logdirwatch.config.section import HOUR_MS
from logdirwatch.detect import machine
from logdirwatch.detect.observations import Sample
from logdirwatch.detect.settings import DetectSettings
from logdirwatch.detect.state.broker_state import BrokerMemory
from logdirwatch.model import topics
from logdirwatch.model.identity import Origin
from logdirwatch.model.records import ActionRecord, AlertRecord, DecisionRecord, LogDirSample, MetricsRecord
from logdirwatch.model.vocabulary import KAFKA_STORAGE_ERROR, AlertStatus, Decision, PollStatus
from logdirwatch.plan.cluster.growth import Growth
from logdirwatch.plan.cluster.layout import Layout, Partition, Replica, Topic
from logdirwatch.plan.cluster.snapshot import Broker, ClusterSnapshot, LogDir
from logdirwatch.plan.commands.kafka_tools import Tools
from logdirwatch.plan.lifecycle.action_tracker import ActionTracker
from logdirwatch.plan.proposal import Policy
from logdirwatch.plan.settings import PlanSettings, ToolSettings, TopicRule
from loop_world import SEGMENT_BYTES, LogDirId, PartitionId, World

CLUSTER = "model"
VERSIONS = {"metadata_version": "4.3-IV0"}
EPOCH_MS = 1_700_000_000_000
"""The model's time 0."""


class Watch:
    """The machine and the tracker of one cluster; ``step`` shows them the world and returns what to choose from."""

    def __init__(self, world: World, interval_ms: int) -> None:
        self._world, self._interval_ms = world, interval_ms
        self._settings = DetectSettings()
        self._brokers = {broker: BrokerMemory(cluster=CLUSTER, broker=broker) for broker, _ in world.log_dirs}
        self._tracker, self._growth = ActionTracker(0), Growth()
        self._policy = _policy(world, interval_ms)
        self._offset = self._copies = self._planned_ms = 0
        self._has_news = False
        self._actions: dict[str, ActionRecord] = {}
        self.alerts: dict[str, AlertRecord] = {}

    def step(self, now_ms: int) -> Iterable[ActionRecord]:
        """Show one poll of every broker and return the latest revision of every action."""
        at_ms, self._offset = EPOCH_MS + now_ms, self._offset + 1
        for broker, memory in self._brokers.items():
            record = self._poll(broker, at_ms)
            sample = Sample(record, Origin(topics.METRICS, 0, self._offset, at_ms))
            for alert in machine.advance(memory, sample, at_ms, self._settings).alerts:
                self._tell(alert, at_ms)
        if self._is_round(now_ms):
            snapshot = self._growth.taught(self._snapshot(at_ms))
            if self._tracker.open_clusters:
                for action in self._tracker.revise({CLUSTER: snapshot}, lambda _: self._policy, at_ms):
                    self._actions[action.action_id] = action
            self._has_news, self._copies, self._planned_ms = False, len(self._world.copies), now_ms
        return self._actions.values()

    def _is_round(self, now_ms: int) -> bool:
        """Plan when an alert or a copy is news, and else by the hour: the stream does it each minute."""
        return self._has_news or len(self._world.copies) != self._copies or now_ms - self._planned_ms >= HOUR_MS

    def accept(self, action: ActionRecord, now_ms: int) -> None:
        """Take an action up, as ``logdirwatch actions accept`` does."""
        at_ms = EPOCH_MS + now_ms
        decision = DecisionRecord(
            version=1, id=action.action_id, decision=Decision.ACCEPT, by="bench", reason="the model's rule", at_ms=at_ms
        )
        self._has_news = True
        self._tracker.take(topics.DECISIONS, action.action_id.encode(), msgspec.json.encode(decision), at_ms)

    def _tell(self, alert: AlertRecord, at_ms: int) -> None:
        self._has_news = True
        if alert.status is AlertStatus.FIRING:
            self.alerts[alert.alert_id] = alert
        else:
            self.alerts.pop(alert.alert_id, None)
        self._tracker.take(topics.ALERTS, alert.alert_id.encode(), msgspec.json.encode(alert), at_ms)

    def _poll(self, broker: int, at_ms: int) -> MetricsRecord:
        return MetricsRecord(
            version=1,
            cluster=CLUSTER,
            broker=broker,
            timestamp_ms=at_ms,
            status=PollStatus.OK,
            collector="bench",
            interval_ms=self._interval_ms,
            is_fenced=False,
            is_registered=True,
            controller_at_ms=at_ms,
            kafka_version="4.3.1",
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

    def _snapshot(self, at_ms: int) -> ClusterSnapshot:
        return ClusterSnapshot(
            cluster=CLUSTER,
            brokers={
                broker: Broker(broker, memory.status, is_fenced=False) for broker, memory in self._brokers.items()
            },
            directories={place: self._directory(place, at_ms) for place in self._world.log_dirs},
            layout=Layout(topics=_topics(self._world), replicas=tuple(_replicas(self._world))),
            state_at_ms=at_ms,
            inventory_at_ms=at_ms,
            metadata_version=VERSIONS["metadata_version"],
        )

    def _directory(self, place: LogDirId, at_ms: int) -> LogDir:
        known = self._brokers[place[0]].log_dirs[place[1]]
        return LogDir(
            *place,
            known.status,
            cause=known.cause,
            total_bytes=known.total_bytes,
            usable_bytes=known.usable_bytes,
            growth_bytes_per_s=known.growth_bytes_per_s,
            replica_count=known.replica_count,
            unaccounted_bytes=self._world.log_dirs[place].other_bytes,
            incoming_bytes=known.incoming_bytes,
            is_cordoned=known.is_cordoned,
            is_metadata_dir=False,
            sample_at_ms=known.sample_at_ms,
            state_at_ms=at_ms,
            volume=known.volume,
        )


def _policy(world: World, interval_ms: int) -> Policy:
    """The owners' floors as the configuration has them; the commands are not run, so their tools have no address."""
    rules = tuple(TopicRule(topic=topic.name, min_retention_ms=topic.floor_ms) for topic in world.topics.values())
    return Policy(PlanSettings(topics=rules), Tools(ToolSettings(), "model:9092"), interval_ms)


def _topics(world: World) -> Mapping[str, Topic]:
    partitions: dict[str, list[Partition]] = {name: [] for name in world.topics}
    for key, places in world.replicas.items():
        partitions[key[0]].append(_partition(world, key, places))
    return {name: Topic(name, tuple(found), _configs(world, name), frozenset()) for name, found in partitions.items()}


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
        groups=0,
    )


def _replicas(world: World) -> Iterable[Replica]:
    for key, places in world.replicas.items():
        for place in places:
            if world.log_dirs[place].is_online:
                yield Replica(*place, *key, size_bytes=world.logs[key].size_bytes)
    for (key, source), copy in world.copies.items():
        is_future = copy.destination[0] == source[0]
        yield Replica(*copy.destination, *key, size_bytes=copy.copied_bytes, is_future=is_future)
