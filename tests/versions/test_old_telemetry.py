"""Kafka 2.8 as the telemetry cluster of a new one: written to by the collector, read and written by the stream."""

from contextlib import ExitStack

import pytest

from logdirwatch.model.vocabulary import MetadataMode
from logdirwatch.reference.support import OLD_TELEMETRY
from logdirwatch_lab.config import ClusterSpec
from tests.kafka.conftest import cluster_in
from tests.versions.watched import Watched

OLD = ClusterSpec(brokers=1, log_dirs=1, kafka_version=OLD_TELEMETRY, metadata=MetadataMode.ZOOKEEPER)
NEW = ClusterSpec(brokers=3, log_dirs=2)


@pytest.fixture
def world(tmp_path_factory):
    """A cluster of the newest release under watch, whose telemetry topics lie in one of the oldest."""
    logs, homes = tmp_path_factory.mktemp("logs"), [tmp_path_factory.mktemp(name) for name in ("telemetry", "cluster")]
    with ExitStack() as stack:
        old, new = (stack.enter_context(cluster_in(home, spec)) for home, spec in zip(homes, (OLD, NEW), strict=True))
        watched = Watched(new, logs, telemetry={"bootstrap_servers": old.bootstrap_servers})
        yield stack.enter_context(watched.running())


def test_records_alerts_and_actions_pass_through_an_old_telemetry_cluster(world):
    world.known_topic("orders", [0, 1, 2], [1, 2, 0], [2, 0, 1])
    world.lose_and_restore(2, 1)
    assert world.proposed(), "an action that the stream wrote"
