"""A cluster that migrates from ZooKeeper to KRaft under watch: no false alert on the way, and none is missed."""

import time

from logdirwatch.model.vocabulary import MetadataMode
from logdirwatch.reference.support import MIGRATED_KAFKA
from tests.versions.migrating import Migration

PAUSE_S = 3.0
ZOOKEEPER_SESSION_S = 20.0
"""A little more than Kafka's ``zookeeper.session.timeout.ms``."""


def shows(world, mode):
    """Wait until ``logdirwatch status`` shows where the cluster keeps its metadata."""
    world.wait(lambda: world.status()["metadata_mode"] == mode, f"status to show {mode}", pause_s=PAUSE_S)


def lose_while_migrating(world, broker):
    """Kafka 3.9 halts a broker that loses a directory during a migration: its absence is what is told of."""
    world.expects({("log_dir_offline", broker, world.log_dir(broker, 1))})
    told = {("broker_offline", broker), ("broker_unknown", broker)}
    mark = world.mark()
    world.cluster.break_log_dir(broker, 1)
    world.wait(
        lambda: told & {(one["rule"], one["broker"]) for one in world.since(mark)}, f"broker {broker} to be told of"
    )
    # The broker that halted is registered in ZooKeeper until its session ends, and no second one may be.
    time.sleep(ZOOKEEPER_SESSION_S)
    world.restore(broker, 1)
    world.settle()
    world.nothing_else()


def test_a_migration_is_shown_and_alerts_of_its_restarts_alone_and_of_what_breaks_meanwhile(watch):
    world = watch(brokers=3, log_dirs=2, kafka_version=MIGRATED_KAFKA, metadata=MetadataMode.ZOOKEEPER)
    migration = Migration(world.cluster)
    world.known_topic("orders", [0, 1, 2], [1, 2, 0], [2, 0, 1])
    shows(world, MetadataMode.ZOOKEEPER)
    migration.start_controller()
    for broker in world.brokers:
        migration.join(broker)
        world.restart(broker)
    migration.wait_migrated()
    shows(world, MetadataMode.MIGRATING)
    world.settle()
    world.nothing_else()
    lose_while_migrating(world, 1)
    for broker in world.brokers:
        migration.leave_zookeeper(broker)
        world.restart(broker)
    migration.finish()
    shows(world, MetadataMode.KRAFT)
    world.settle()
    world.nothing_else()
    world.lose_and_restore(2, 1)
