"""Real brokers: those that the tier shares, and clusters of a test's own."""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

import pytest
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling

from logdirwatch import settings as configuration
from logdirwatch.kafka import telemetry_topics
from logdirwatch.settings import Settings
from logdirwatch_lab.cluster import LocalCluster
from logdirwatch_lab.config import ClusterSpec
from tests.kafka.secured import Secured, secured_broker

# The jars stay between runs: downloading them is no part of what is tested.
JARS_HOME = Path(os.environ.get("LOGDIRWATCH_HOME", Path(__file__).parents[2] / ".logdirwatch")).absolute()

ON_DISKS = {
    "test_apply_kafka.py",
    "test_autopilot_kafka.py",
    "test_degradation.py",
    "test_demo.py",
    "test_least_privilege.py",
    "test_pipeline.py",
    "test_recommend_stream.py",
    "test_secrets.py",
    "test_secured_telemetry.py",
    "test_stream.py",
    "test_stream_alerts.py",
}
"""These start the stream, or need the cluster with small disks, whose telemetry broker serves both."""

OWN_CLUSTERS = {
    "test_deleted_meanwhile.py",
    "test_few_inodes.py",
    "test_local_cluster_disks.py",
    "test_recommend_kafka.py",
}
"""These need nothing of a shared cluster: whichever process is free runs them."""


class _StreamsApart(LoadScopeScheduling):
    """One process runs what starts the stream or needs small disks, one what needs the other shared cluster.

    Two streams at once hold each other up on two cores. Releases of Kafka share no cluster, so both run them.
    """

    def _split_scope(self, nodeid: str) -> str:
        file = Path(nodeid.partition("::")[0]).name
        if file == "test_versions.py":
            return nodeid
        return file if file in OWN_CLUSTERS else "disks" if file in ON_DISKS else "brokers"


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> LoadScopeScheduling:
    """Share the tests out to the processes."""
    return _StreamsApart(config, log)


def cluster_in(home: Path, spec: ClusterSpec | None = None, under: Sequence[str] = ()) -> LocalCluster:
    """A cluster that is not up yet; whoever reads its configuration finds the jars in its home."""
    JARS_HOME.joinpath("jars").mkdir(parents=True, exist_ok=True)
    home.joinpath("jars").symlink_to(JARS_HOME / "jars")
    return LocalCluster(home, spec, jars_home=JARS_HOME, under=under)


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalCluster]:
    """Four brokers with two log directories each, and a telemetry broker. A test mends what it breaks."""
    with cluster_in(tmp_path_factory.mktemp("cluster"), ClusterSpec(brokers=4, log_dirs=2)) as running:
        yield running


@pytest.fixture(scope="session")
def disks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalCluster]:
    """Three brokers with two small disks each: executions move, fill and lose what is on them."""
    with cluster_in(tmp_path_factory.mktemp("disks"), ClusterSpec(3, 2, 96 << 20)) as running:
        yield running


@pytest.fixture(scope="session")
def on_disks(disks: LocalCluster) -> Settings:
    """The configuration that points at the cluster with small disks."""
    return configuration.load(disks.config_path)


@pytest.fixture(scope="session")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    """A broker that asks who you are; until a test grants something, only ``admin`` may do anything."""
    with secured_broker(tmp_path_factory.mktemp("secured"), JARS_HOME) as running:
        yield running


@pytest.fixture
def make_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., LocalCluster]]:
    """A function that brings up a cluster of its own, as ClusterSpec's arguments say; it goes down after the test."""
    with ExitStack() as running:

        def make(**spec: object) -> LocalCluster:
            return running.enter_context(cluster_in(tmp_path_factory.mktemp("own"), ClusterSpec(**spec)))

        yield make


@pytest.fixture(scope="session")
def watched(cluster: LocalCluster) -> Settings:
    """The configuration that points at the shared cluster."""
    return configuration.load(cluster.config_path)


@pytest.fixture(scope="module")
def collected_cluster(cluster: LocalCluster, watched: Settings) -> LocalCluster:
    """The shared cluster with the telemetry topics made."""
    telemetry_topics.create_missing(watched)
    return cluster
