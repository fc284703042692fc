"""Real brokers: one cluster that the tier shares, and clusters of a test's own."""

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from logdirwatch import settings as configuration
from logdirwatch import telemetry
from logdirwatch.local.cluster import LocalCluster
from logdirwatch.local.config import ClusterSpec
from logdirwatch.settings import Settings

# The jars stay between runs: downloading them is no part of what is tested.
JARS_HOME = Path(os.environ.get("LOGDIRWATCH_HOME", Path(__file__).parents[2] / ".logdirwatch")).absolute()

STREAMS = "streams"
"""What starts the stream: one process of pytest runs that, the other what brokers alone do. Two streams at once would
hold each other up on two cores."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Give every test that starts no stream to the other process."""
    for item in items:
        if item.get_closest_marker("xdist_group") is None:
            item.add_marker(pytest.mark.xdist_group("brokers"))


def cluster_in(home: Path, spec: ClusterSpec | None = None) -> LocalCluster:
    """A cluster that is not up yet; whoever reads its configuration finds the jars in its home."""
    JARS_HOME.joinpath("jars").mkdir(parents=True, exist_ok=True)
    home.joinpath("jars").symlink_to(JARS_HOME / "jars")
    return LocalCluster(home, spec, jars_home=JARS_HOME)


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalCluster]:
    """Four brokers with two log directories each, and a telemetry broker. A test mends what it breaks."""
    with cluster_in(tmp_path_factory.mktemp("cluster"), ClusterSpec(brokers=4, log_dirs=2)) as running:
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
    telemetry.create_missing(watched)
    return cluster
