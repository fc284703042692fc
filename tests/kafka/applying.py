"""Shared by the tests of ``apply`` and ``autopilot``: actions on real brokers, and what becomes of them there."""

import time
import uuid

import msgspec
from kafka.admin import ConfigResource, ConfigResourceType, NewTopic
from msgspec.structs import replace as changed

from logdirwatch.detect.pipeline.heartbeats import HeartbeatMemory, answer
from logdirwatch.execute import begin
from logdirwatch.kafka import clients
from logdirwatch.kafka.settings import KafkaSettings
from logdirwatch.model import topics
from logdirwatch.model.records import ExecutionRecord, HeartbeatRecord
from logdirwatch.model.vocabulary import LOG_DIR_THROTTLE, ActionKind, ActionStatus, ExecutionState
from logdirwatch.plan.cluster.assignment import Assignment, to_json
from logdirwatch.plan.commands import operations
from logdirwatch.plan.commands.throttles import Limits, of_plan, within_brokers
from logdirwatch.plan.content_hash import content_hash
from logdirwatch_lab.config import CLUSTER
from tests.kafka.telemetry import send_records
from tests.support.waiting import DEADLINE_S, wait_until
from tests.unit.plan.builders import action, space_alert

MIB = 1 << 20


def now():
    return time.time_ns() // 1_000_000


def watched(own):
    return KafkaSettings(bootstrap_servers=own.clusters[CLUSTER].bootstrap_servers)


def places(admin, name, brokers=(0, 1, 2)):
    return {
        answer["broker"]: found["log_dir"]
        for answer in admin.describe_log_dirs([name], brokers=list(brokers))
        for found in answer["log_dirs"]
        for topic in found["topics"]
        for part in topic["partitions"]
        if not part["is_future_key"]
    }


def topic_of_4_mib(own, admin, purpose, **configs):
    """Return the name of a new topic with 4 MiB in one partition on brokers 1 and 2."""
    name = f"{purpose}-{time.time_ns()}"
    admin.create_topics([NewTopic(name, replica_assignments={0: [1, 2]}, topic_configs=configs)])
    writing = clients.producer(watched(own), max_block_ms=20_000)
    for _ in range(8):
        writing.send(name, value=b"x" * (MIB // 2), partition=0).get(timeout=30)
    clients.discard(writing, 1)
    wait_until(lambda: len(places(admin, name)) == 2, DEADLINE_S, "both replicas to be there")
    return name


def other_dir(disks, broker, path):
    return next(found for found in disks.state().broker(broker).log_dirs if found != path)


def configs(admin, kind, name):
    found = admin.describe_configs([ConfigResource(kind, name)], config_filter="all")[kind.name.lower()][name]
    return {key: one["value"] for key, one in found.items() if one["config_source"].startswith("DYNAMIC")}


def throttles_of(admin, kind, name):
    """The throttles that are set on a broker, or a topic's lists of throttled replicas."""
    held = configs(admin, kind, name)
    return {key: value for key, value in held.items() if ".throttled." in key or key == LOG_DIR_THROTTLE}


def limits_left(admin, name):
    """Every throttle that is set anywhere."""
    found = {f"broker {b}": throttles_of(admin, ConfigResourceType.BROKER, str(b)) for b in (0, 1, 2)}
    found["topic"] = throttles_of(admin, ConfigResourceType.TOPIC, name)
    return {(who, key): value for who, held in found.items() for key, value in held.items()}


def of_move(own, name, there, here, limits, **fields):
    plan, before = to_json([there]), to_json([here])
    operation = operations.reassign(plan, before, "plan.json", limits=limits, back=limits)
    return published(
        own,
        kind=ActionKind.MOVE_LOG_DIR if there.replicas == here.replicas else ActionKind.REASSIGN,
        target={"broker": here.replicas[0], "log_dir": here.log_dirs[0]},
        reassignment=plan,
        operations=operations.as_data([operation]),
        undo={"reassignment": before},
        **fields,
    )


def published(own, **fields):
    made = action(
        fields.pop("kind"),
        **{
            "action_id": uuid.uuid4().hex,
            "cluster": CLUSTER,
            "status": ActionStatus.ACCEPTED,
            "commands": ["true"],
            "expires_at_ms": now() + 600_000,
            "alert": {"rule": "log_dir_space", "severity": "warning"},
            **fields,
        },
    )
    made = changed(made, content_hash=content_hash(made))
    send_records(own, topics.ACTIONS, made)
    firing = changed(space_alert(), alert_id=made.alert_id, cluster=CLUSTER)
    send_records(own, topics.ALERTS, firing, passing())
    return made


def passing():
    """The heartbeat of a collector whose samples pass the stream."""
    beat = HeartbeatRecord(
        version=1, cluster=CLUSTER, collector="a", timestamp_ms=now(), interval_ms=10_000, samples_overdue_ms=0
    )
    return answer(HeartbeatMemory(), [beat])[0]


def within_broker(own, disks, admin, name, rate=None, **fields):
    here = places(admin, name)[1]
    there = other_dir(disks, 1, here)
    old, new = (Assignment(name, 0, (1, 2), (path, "any")) for path in (here, there))
    limits = Limits() if rate is None else within_brokers([1], rate)
    return of_move(own, name, new, old, limits, **fields), here, there


def to_broker_0(own, disks, admin, name, rate=None):
    here, target = places(admin, name)[1], disks.state().broker(0).log_dirs[1]
    old, new = Assignment(name, 0, (1, 2), (here, "any")), Assignment(name, 0, (0, 2), (target, "any"))
    limits = Limits() if rate is None else of_plan(to_json([new]), log_dir_rate=None, rate=rate)
    return of_move(own, name, new, old, limits), here, target


def states(own, made):
    """Every state of an action's executions that the journal got, in order."""
    return [str(one.state) for one in _noted(own, made)]


def executions(own, made):
    """The last record of each execution of an action."""
    return list({one.execution_id: one for one in _noted(own, made)}.values())


def _noted(own, made):
    read = clients.read_all(own.telemetry, topics.EXECUTIONS, isolation_level="read_committed")
    found = [msgspec.json.decode(record.value, type=ExecutionRecord) for record in read]
    return [one for one in found if one.action_id == made.action_id]


def begun(made):
    return changed(begin.begun(made, "a test", now()), state=ExecutionState.CHECKED)
