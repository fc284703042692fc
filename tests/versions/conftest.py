"""Clusters of older and newer releases under watch: brokers with sized disks, the collector and the stream."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from logdirwatch_lab.config import ClusterSpec
from tests.kafka.conftest import cluster_in
from tests.versions.watched import Watched

TIMEOUT_S = 2_400


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A whole story with its restarts takes minutes on two cores."""
    for item in items:
        if item.path.parent == Path(__file__).parent:
            item.add_marker(pytest.mark.timeout(TIMEOUT_S))


@pytest.fixture(scope="module")
def watch(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Watched]]:
    """A function that brings up a cluster as ClusterSpec's arguments say, and watches it until another one is wanted.

    With ``has_hosts``, ``watch-host`` runs for every broker. The logs outlive the cluster.
    """
    with ExitStack() as stack:

        def begin(*, has_hosts: bool = False, **spec: object) -> Watched:
            stack.close()
            logs, home = tmp_path_factory.mktemp("logs"), tmp_path_factory.mktemp("cluster")
            cluster = stack.enter_context(cluster_in(home, ClusterSpec(**spec)))
            watched = Watched(cluster, logs, has_hosts=has_hosts)
            stack.enter_context(watched.running())
            return watched

        yield begin
