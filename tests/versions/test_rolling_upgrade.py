"""A cluster that is upgraded under watch, broker by broker: it alerts of the restarts alone, and of what breaks."""

import subprocess

from logdirwatch.reference.support import UPGRADED_KAFKA

BEFORE, AFTER = UPGRADED_KAFKA
RELEASE = AFTER.rpartition(".")[0]


def upgrade_features(cluster):
    """Let the brokers use what the new release brings, as an operator does when all of them run it."""
    command = [cluster.tool("kafka-features"), "--bootstrap-server", cluster.bootstrap_servers]
    done = subprocess.run(
        [*command, "upgrade", "--release-version", RELEASE], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_an_upgrade_alerts_of_its_restarts_alone_and_what_breaks_afterwards_is_told_of(watch):
    world = watch(brokers=4, log_dirs=2, kafka_version=BEFORE)
    world.known_topic("orders", [0, 1, 2], [1, 2, 3], [2, 3, 0], [3, 0, 1])
    world.read_by("readers", "orders", 4)
    world.cluster.use_release(AFTER)
    for broker in world.brokers:
        world.restart(broker)
    upgrade_features(world.cluster)
    world.wait(
        lambda: all(world.newest_metrics(broker)["metadata_version"].startswith(RELEASE) for broker in world.brokers),
        f"metadata.version of {RELEASE}",
    )
    assert {world.newest_metrics(broker)["kafka_version"] for broker in world.brokers} == {RELEASE}
    world.settle()
    world.nothing_else()
    world.lose_and_restore(3, 1)
