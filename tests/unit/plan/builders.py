"""Clusters small enough to read: brokers 1, 2, ... with directories of 1000 MiB each, unless said otherwise."""

from dataclasses import replace

from logdirwatch.model.records import ActionRecord, AlertRecord, DecisionRecord
from logdirwatch.model.vocabulary import (
    ActionKind,
    ActionStatus,
    AlertStatus,
    BrokerStatus,
    Cause,
    Decision,
    Lane,
    LogDirStatus,
    Rule,
    Severity,
)
from logdirwatch.plan.action_records import action_id
from logdirwatch.plan.cluster.layout import Layout, Partition, Replica, Topic
from logdirwatch.plan.cluster.snapshot import Broker, ClusterSnapshot, LogDir
from logdirwatch.plan.commands.kafka_tools import Tools
from logdirwatch.plan.proposal import Policy
from logdirwatch.plan.settings import PlanSettings, ToolSettings

MIB = 1 << 20
NOW_MS = 1_700_000_000_000
SIZE = 1000 * MIB
CONFIGS = {"cleanup.policy": "delete", "retention.bytes": "-1", "segment.bytes": str(10 * MIB)}


def policy(*, tools=None, bootstrap="kafka:9092", interval_ms=60_000, **limits):
    return Policy(PlanSettings(**limits), Tools(tools or ToolSettings(), bootstrap), interval_ms)


def broker(number, status=BrokerStatus.ONLINE, rack=None, **configs):
    return Broker(number, status, rack, configs=configs)


def directory(number, path="/d1", used=100 * MIB, *, total=SIZE, status=LogDirStatus.ONLINE, **fields):
    """A directory; its used bytes differ a little by path so that no two look like one volume."""
    usable = None if used is None else total - used
    return LogDir(number, path, status, total_bytes=total, usable_bytes=usable, **fields)


def offline(number, path="/d1", cause=Cause.FAILED, **fields):
    return directory(number, path, status=LogDirStatus.OFFLINE, cause=cause, **fields)


def topic(
    name,
    *assignments,
    leaderless=(),
    isr=None,
    configs=None,
    is_internal=False,
    overridden=frozenset(),
    reassigned=(),
    remote_copy_lag_bytes=None,
    unread=None,
    topic_id=None,
):
    """A topic whose partitions 0, 1, ... have these replicas, all in sync, the first one leading.

    ``unread``: by partition what a consumer group has still to read, {} where no group reads; None: not known.
    """
    partitions = tuple(
        Partition(
            name,
            number,
            leader=None if number in leaderless else (isr or {}).get(number, replicas)[0],
            replicas=tuple(replicas),
            isr=tuple((isr or {}).get(number, replicas)),
            is_reassigned=number in reassigned,
            **_readers(unread, number),
        )
        for number, replicas in enumerate(assignments)
    )
    return Topic(name, partitions, CONFIGS | (configs or {}), overridden, is_internal, remote_copy_lag_bytes, topic_id)


def _readers(unread, number):
    if unread is None:
        return {}
    if number not in unread:
        return {"groups": 0}
    return {"groups": 1, "slowest_group": "readers", "unread_ratio": unread[number]}


def replica(number, path, name, partition=0, size=100 * MIB, **fields):
    return Replica(number, path, name, partition, size, **fields)


def slowly(*parts, rate=1.0):
    """Growth of every replica among the parts: next to nothing, so that history which must stay takes no room."""
    return {(part.place, part.key): rate for part in parts if isinstance(part, Replica)}


def facts(*parts, cluster="c", state_at_ms=NOW_MS, inventory_at_ms=NOW_MS, **fields):
    """Facts made of brokers, directories, topics and replicas in any order; a directory's broker exists."""
    directories = {part.place: part for part in parts if isinstance(part, LogDir)}
    named = {part.id: part for part in parts if isinstance(part, Broker)}
    brokers = {number: broker(number) for number, _ in directories} | named
    for place in directories.values():
        if place.status is LogDirStatus.OFFLINE and brokers[place.broker].status is BrokerStatus.ONLINE:
            brokers[place.broker] = replace(brokers[place.broker], status=BrokerStatus.DEGRADED)
    return ClusterSnapshot(
        cluster=cluster,
        brokers=brokers,
        directories=directories,
        layout=Layout(
            topics={part.name: part for part in parts if isinstance(part, Topic)},
            replicas=tuple(part for part in parts if isinstance(part, Replica)),
        ),
        state_at_ms=state_at_ms,
        inventory_at_ms=inventory_at_ms,
        **fields,
    )


def alert(rule=Rule.LOG_DIR_OFFLINE, *, number=1, log_dir="/d1", to="offline", cause=Cause.FAILED, **fields):
    values = {
        "version": 1,
        "alert_id": "alert",
        "revision": 1,
        "status": AlertStatus.FIRING,
        "rule": rule,
        "severity": Severity.CRITICAL,
        "cluster": "c",
        "broker": number,
        "log_dir": log_dir,
        "from_status": "online",
        "to_status": to,
        "cause": cause,
        "opened_at_ms": NOW_MS,
        "at_ms": NOW_MS,
        "lane": Lane.STATEFUL,
        "evidence": {},
        "affected": {},
        "summary": "",
    }
    return AlertRecord(**(values | fields))


def space_alert(to="filling", **fields):
    return alert(Rule.LOG_DIR_SPACE, to=to, cause=None, **fields)


def action(kind=ActionKind.INVESTIGATE, *, target=None, status=ActionStatus.PROPOSED, severity="critical", **fields):
    target = target or {"broker": 1, "log_dir": "/d1"}
    values = {
        "version": 1,
        "action_id": action_id("alert", kind, target),
        "revision": 1,
        "status": status,
        "kind": kind,
        "alert_id": "alert",
        "alert": {"severity": severity, "to": "offline", "cause": "failed"},
        "cluster": "c",
        "target": target,
        "reason": "",
        "expected": {"frees_bytes": None, "on": [], "needs_ms": None},
        "preconditions": [],
        "vetoes": [],
        "data_loss": False,
        "requires_approval": True,
        "expires_at_ms": NOW_MS + 1_800_000,
        "commands": [],
        "reassignment": None,
        "configs": None,
        "undo": {},
        "based_on": {},
        "at_ms": NOW_MS,
    }
    return ActionRecord(**(values | fields))


def decision(said=Decision.ACCEPT, *, at_ms=NOW_MS + 1, identity="x", **fields):
    return DecisionRecord(version=1, id=identity, decision=said, by="ann", reason="because", at_ms=at_ms, **fields)


def partition_of(made, number=0, **fields):
    """Return the topic with other fields of one of its partitions."""
    changed = [replace(p, **fields) if p.partition == number else p for p in made.partitions]
    return replace(made, partitions=tuple(changed))


def moving(made, number=0, *, adding=(), removing=()):
    """Return the topic with a reassignment of one partition under way: what is added is among the replicas."""
    return partition_of(made, number, adding=tuple(adding), removing=tuple(removing), is_reassigned=True)


MINUTE = 60_000
FAILED = [
    offline(1),
    directory(2, used=10 * MIB),
    directory(3, used=20 * MIB),
    topic("t", (1, 2)),
    replica(1, "/d1", "t"),
    replica(2, "/d1", "t"),
]
FILLING = [
    directory(1, "/d1", 850 * MIB),
    directory(1, "/d2", 100 * MIB),
    directory(2, "/d1", 50 * MIB),
    topic("t", (1, 2)),
    replica(1, "/d1", "t", size=200 * MIB),
    replica(2, "/d1", "t", size=200 * MIB),
]


def later(minutes=1.0):
    return NOW_MS + int(minutes * MINUTE)
