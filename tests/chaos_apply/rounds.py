"""The executions that are struck: one of each kind of action, on a topic of its own, and what shows that it is done."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from kafka import TopicPartition
from kafka.admin import ConfigResource, ConfigResourceType

from logdirwatch.model.records import ActionRecord
from logdirwatch.model.vocabulary import FOLLOWER_THROTTLE, ActionKind
from logdirwatch.plan.cluster.assignment import Assignment, to_json
from logdirwatch.plan.commands import operations
from logdirwatch.plan.commands.throttles import Limits
from logdirwatch.settings import Settings
from logdirwatch_lab.cluster import LocalCluster
from tests.kafka.applying import MIB, configs, places, published, to_broker_0, within_broker
from tests.support.waiting import DEADLINE_S, wait_until

SLOW = MIB // 2
CORDON = "cordoned.log.dirs"


@dataclass(frozen=True)
class World:
    """The cluster, and the topic of a round: 4 MiB in one partition on brokers 1 and 2."""

    own: Settings
    disks: LocalCluster
    admin: Any
    name: str

    def led(self) -> tuple[int, list[int]]:
        """Return the leader and the replicas of the partition."""
        (topic,) = self.admin.describe_topics([self.name])
        return topic["partitions"][0]["leader_id"], topic["partitions"][0]["replica_nodes"]

    def ordered(self, *replicas: int) -> dict:
        """Return the replicas in Kafka's form, wherever they lie."""
        return to_json([Assignment(self.name, 0, replicas, ("any",) * len(replicas))])

    def retention(self) -> str | None:
        """Return the topic's own retention."""
        return configs(self.admin, ConfigResourceType.TOPIC, self.name).get("retention.ms")

    def on_broker(self, number: int, key: str) -> str | None:
        """Return a broker's own value."""
        return configs(self.admin, ConfigResourceType.BROKER, str(number)).get(key)

    def set_on_broker(self, number: int, key: str, value: str | None) -> None:
        """Set a value as somebody else does."""
        change = ("DELETE", None) if value is None else ("SET", value)
        resource = ConfigResource(ConfigResourceType.BROKER, str(number), {key: change})
        self.admin.alter_configs([resource], raise_on_unknown=False, incremental=True)

    def set_retention(self, value: str) -> None:
        """Set it as somebody else does."""
        change = {"retention.ms": ("SET", value)}
        self.admin.alter_configs([ConfigResource(ConfigResourceType.TOPIC, self.name, change)], incremental=True)

    def reassign(self, *replicas: int) -> None:
        """Begin a reassignment as somebody else does."""
        self.admin.alter_partition_reassignments({TopicPartition(self.name, 0): list(replicas)})


@dataclass(frozen=True)
class Planned:
    """An accepted action; ``is_there`` tells that all of it is done, ``is_here`` that it is as before.

    ``change`` changes by hand what the action changes, and returns what tells that this is still so.
    """

    action: ActionRecord
    is_there: Callable[[], bool]
    is_here: Callable[[], bool] | None
    copies: bool = False
    change: Callable[[], Callable[[], bool]] | None = None


def move(world: World) -> Planned:
    """A replica to the other directory of its broker."""
    action, here, there = within_broker(world.own, world.disks, world.admin, world.name, rate=SLOW)
    return Planned(action, lambda: _at(world, 1) == there, lambda: _at(world, 1) == here, copies=True)


def reassign(world: World) -> Planned:
    """A replica to another broker."""
    action, here, target = to_broker_0(world.own, world.disks, world.admin, world.name, rate=SLOW)
    return Planned(
        action,
        lambda: world.led()[1] == [0, 2] and _at(world, 0) == target,
        lambda: world.led()[1] == [1, 2] and _at(world, 1) == here,
        copies=True,
    )


def cut(world: World) -> Planned:
    """A lower retention."""
    one = operations.topic_config(world.name, "retention.ms", "7200000", now="9000000", old="9000000")
    action = published(
        world.own,
        kind=ActionKind.LOWER_RETENTION,
        target={"broker": None, "log_dir": None, "topic": world.name},
        operations=operations.as_data([one]),
    )

    def change():
        world.set_retention("8000000")
        return lambda: world.retention() == "8000000"

    return Planned(
        action, lambda: world.retention() == "7200000", lambda: world.retention() == "9000000", change=change
    )


def cordon(world: World) -> Planned:
    """A directory that gets no new replicas."""
    path = world.disks.state().broker(2).log_dirs[1]
    one = operations.broker_list(2, CORDON, [path], old=[])
    action = published(
        world.own,
        kind=ActionKind.CORDON_LOG_DIR,
        target={"broker": 2, "log_dir": path},
        operations=operations.as_data([one]),
    )

    def change():
        other = world.disks.state().broker(2).log_dirs[0]
        world.set_on_broker(2, CORDON, other)
        return lambda: world.on_broker(2, CORDON) == other

    return Planned(
        action, lambda: world.on_broker(2, CORDON) == path, lambda: not world.on_broker(2, CORDON), change=change
    )


def demote(world: World) -> Planned:
    """Another leader."""
    one = operations.prefer_leaders(world.ordered(2, 1), world.ordered(1, 2), "f.json")
    action = published(world.own, kind=ActionKind.DEMOTE_LEADERS, operations=operations.as_data([one]))

    def change():
        world.reassign(2, 0)
        return lambda: world.led()[1] == [2, 0]

    return Planned(action, lambda: world.led() == (2, [2, 1]), lambda: world.led() == (1, [1, 2]), change=change)


def elect(world: World) -> Planned:
    """The preferred leader leads again."""
    world.reassign(2, 1)
    wait_until(lambda: world.led()[1] == [2, 1], DEADLINE_S, "the other order")
    election = {"partitions": [{"topic": world.name, "partition": 0}]}
    one = operations.elect_leaders(election, "f.json")
    action = published(
        world.own,
        kind=ActionKind.ELECT_LEADERS,
        target={"broker": 1, "log_dir": None, "election": "preferred"},
        expected={"election": election, "frees_bytes": None, "on": []},
        operations=operations.as_data([one]),
        undo={"text": "leaders move again"},
    )
    return Planned(action, lambda: world.led()[0] == 2, None)


def cancel(world: World) -> Planned:
    """A reassignment of somebody that ends; it would take minutes."""
    listed = {"follower.replication.throttled.replicas": ("SET", "*")}
    world.admin.alter_configs([ConfigResource(ConfigResourceType.TOPIC, world.name, listed)], incremental=True)
    world.set_on_broker(0, FOLLOWER_THROTTLE, "20000")
    world.reassign(0, 2)
    goal = world.ordered(0, 2)
    one = operations.cancel_moves(goal, goal, world.ordered(2, 1), "f.json", again=Limits())
    action = published(world.own, kind=ActionKind.CANCEL_MOVES, operations=operations.as_data([one]))
    return Planned(action, lambda: sorted(world.led()[1]) == [1, 2], None)


def clear(world: World) -> Planned:
    """A throttle that nothing needs."""
    world.set_on_broker(0, FOLLOWER_THROTTLE, "5000000")
    one = operations.clear_throttles(Limits({0: {FOLLOWER_THROTTLE: 5_000_000}}))
    action = published(world.own, kind=ActionKind.CLEAR_THROTTLES, operations=operations.as_data([one]))

    def change():
        world.set_on_broker(0, FOLLOWER_THROTTLE, "6000000")
        return lambda: world.on_broker(0, FOLLOWER_THROTTLE) == "6000000"

    return Planned(
        action,
        lambda: world.on_broker(0, FOLLOWER_THROTTLE) is None,
        lambda: world.on_broker(0, FOLLOWER_THROTTLE) == "5000000",
        change=change,
    )


KINDS = (move, reassign, cut, demote, reassign, cordon, move, elect, cancel, clear)
"""In turn; those that copy more often, as they take longest and can go wrong most."""


def _at(world: World, broker: int) -> str | None:
    return places(world.admin, world.name, (broker,)).get(broker)
