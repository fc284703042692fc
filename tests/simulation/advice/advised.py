"""What the planner advises for a world, as copies and cuts: a person carries out what is ready, in order."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from logdirwatch.model.actions.operations import Operation
from logdirwatch.model.records import ActionRecord
from logdirwatch.model.vocabulary import FOLLOWER_THROTTLE, BrokerStatus, Cause, LogDirStatus, OperationKind, Severity
from logdirwatch.plan.cluster.assignment import ANY
from logdirwatch.plan.cluster.layout import Topic
from logdirwatch.plan.cluster.snapshot import Broker, ClusterSnapshot, LogDir
from logdirwatch.plan.commands.operations import from_record
from logdirwatch.plan.recommend import recommend
from logdirwatch.plan.settings import TopicRule
from tests.simulation.advice.world import DAY_S, SOURCE, Copy, Cut, LogDirId, TopicModel, World
from tests.unit.plan.builders import NOW_MS, facts, policy, replica, space_alert, topic

PERSON_S = 600
COPY_BYTES_PER_S = 50e6
WEEK_S = 7 * DAY_S


@dataclass
class Plan:
    """Every action, and what carrying out the ready ones means."""

    actions: list[ActionRecord]
    copies: list[Copy] = field(default_factory=list)
    cuts: list[Cut] = field(default_factory=list)

    @property
    def ready(self) -> list[ActionRecord]:
        """Those without a veto."""
        return [action for action in self.actions if not action.vetoes]


def advised(world: World) -> Plan:
    """Ask the planner, and carry out."""
    status = _status(world, SOURCE)
    severity = Severity.WARNING if status is LogDirStatus.FILLING else Severity.CRITICAL
    alert = space_alert(status.value, number=SOURCE[0], log_dir=SOURCE[1], severity=severity)
    rules = tuple(
        TopicRule(topic=one.name, min_retention_ms=int(one.floor_s * 1000))
        for one in world.topics
        if one.floor_s is not None
    )
    return carried_out(world, recommend(alert, snapshot(world), policy(topics=rules), NOW_MS))


def carried_out(world: World, actions: list[ActionRecord]) -> Plan:
    """Return what a person does who carries out what is ready, in order."""
    plan = Plan(actions)
    free_s = dict.fromkeys(world.brokers, float(PERSON_S))
    for action in plan.ready:
        for operation in from_record(action.operations):
            if operation.op is OperationKind.SET_TOPIC_CONFIG:
                plan.cuts += _cut(operation)
            elif operation.op is OperationKind.REASSIGN:
                plan.copies += _copies(operation, world, free_s)
    return plan


def _cut(operation: Operation) -> Iterator[Cut]:
    args = operation.args
    assert args.topic is not None
    if args.key == "retention.ms" and isinstance(args.value, str):
        yield Cut(PERSON_S, args.topic, keeps_s=int(args.value) / 1000)
    elif args.key == "retention.bytes" and isinstance(args.value, str):
        yield Cut(PERSON_S, args.topic, keeps_bytes=float(args.value))


def _copies(operation: Operation, world: World, free_s: dict[int, float]) -> Iterator[Copy]:
    """Each copy begins when its brokers are free, as fast as the action's own throttle lets it."""
    args = operation.args
    limits = args.limits.brokers.values() if args.limits is not None else ()
    rate = float(min((value for one in limits for value in one.values()), default=COPY_BYTES_PER_S))
    assert args.reassignment is not None
    for one in args.reassignment.partitions:
        model = world.topic(one.topic)
        before = dict(model.places[one.partition])
        leaving = [(b, p) for b, p in before.items() if b not in one.replicas]
        for broker, path in zip(one.replicas, one.log_dirs or [ANY] * len(one.replicas), strict=True):
            if broker in before and path in {ANY, before[broker]}:
                continue
            source = (broker, before[broker]) if broker in before else leaving.pop()
            destination = broker, path if path != ANY else _fewest(world, broker)
            begin_s = max(free_s[source[0]], free_s[broker])
            most = min(rate, float(world.throttles.get(broker, rate)) if broker != source[0] else rate)
            end_s = begin_s + model.size_bytes / max(1.0, most - model.growth)
            free_s[source[0]] = free_s[broker] = end_s
            yield Copy(begin_s, end_s, (one.topic, one.partition), source, destination)


def _fewest(world: World, broker: int) -> str:
    held = {path: 0 for other, path in world.totals if other == broker and (other, path) not in world.broken}
    for model in world.topics:
        for places in model.places:
            for other, path in places:
                if other == broker and path in held:
                    held[path] += 1
    return min(held, key=lambda path: (held[path], path))


def snapshot(world: World) -> ClusterSnapshot:
    """Return the world as an inventory and samples show it."""
    brokers = [
        Broker(
            broker,
            BrokerStatus.OFFLINE if broker in world.away else BrokerStatus.ONLINE,
            world.racks[broker],
            is_fenced=broker in world.away,
            configs={
                **({FOLLOWER_THROTTLE: str(world.throttles[broker])} if broker in world.throttles else {}),
                "log.dirs": ",".join(path for other, path in world.totals if other == broker),
                "log.retention.check.interval.ms": "300000",
                "log.segment.delete.delay.ms": "60000",
                "process.roles": "broker",
            },
        )
        for broker in world.brokers
    ]
    held = [
        (place, replica(*place, model.name, number, int(model.size_bytes)), model.growth)
        for model in world.topics
        for number, places in enumerate(model.places)
        for place in places
        if place not in world.broken
    ]
    return facts(
        *brokers,
        *(_directory(world, place) for place in world.totals),
        *(_topic(model, world) for model in world.topics),
        *(one for _, one, _ in held),
        growth={(place, one.key): rate for place, one, rate in held} if world.is_growth_known else {},
        metadata_version="4.3-IV0",
    )


def _topic(model: TopicModel, world: World) -> Topic:
    configs = {
        "cleanup.policy": model.policy,
        "retention.ms": str(int(model.keeps_s * 1000)),
        "retention.bytes": str(-1 if model.keeps_bytes is None else int(model.keeps_bytes)),
        "segment.bytes": str(1 << 30),
        "min.insync.replicas": "1",
    }
    unread = {} if model.unread_ratio is None else dict.fromkeys(range(len(model.places)), model.unread_ratio)
    assignments = [tuple(broker for broker, _ in places) for places in model.places]
    isr = {
        number: tuple(place[0] for place in places if place[0] not in world.away and place not in world.broken)
        for number, places in enumerate(model.places)
    }
    return topic(
        model.name,
        *assignments,
        configs=configs,
        overridden=frozenset({"retention.ms", "retention.bytes"}),
        unread=unread,
        leaderless=[number for number, here in isr.items() if not here],
        isr={number: here for number, here in isr.items() if here},
    )


def _directory(world: World, place: LogDirId) -> LogDir:
    if place in world.broken:
        return LogDir(*place, LogDirStatus.OFFLINE, cause=Cause.FAILED, sample_at_ms=NOW_MS)
    used, total, growth = world.used(place), world.totals[place], world.growth(place)
    full_s = (total - used) / growth if growth > 0 else None
    return LogDir(
        *place,
        _status(world, place),
        total_bytes=int(total),
        usable_bytes=int(total - used),
        growth_bytes_per_s=growth,
        lasting_growth_bytes_per_s=growth,
        full_at_ms=NOW_MS + int(full_s * 1000) if full_s is not None and full_s < WEEK_S else None,
        unaccounted_bytes=int(world.others[place]),
        is_cordoned=place in world.cordoned,
        is_metadata_dir=False,
        sample_at_ms=NOW_MS,
    )


def _status(world: World, place: LogDirId) -> LogDirStatus:
    if place[0] in world.away:
        return LogDirStatus.UNKNOWN
    ratio, growth = world.used(place) / world.totals[place], world.growth(place)
    full_s = (world.totals[place] - world.used(place)) / growth if growth > 0 else WEEK_S
    if ratio >= 0.95 or full_s < 3600:
        return LogDirStatus.SATURATED
    if ratio >= 0.85 or full_s < DAY_S:
        return LogDirStatus.CRITICAL
    return LogDirStatus.FILLING if ratio >= 0.75 or full_s < 4 * DAY_S else LogDirStatus.ONLINE
