"""One environment for all scenarios: real brokers with sized disks, the collector, and the stream with every query."""

from collections.abc import Iterator

import pytest

from logdirwatch.local.config import ClusterSpec
from tests.kafka.conftest import cluster_in
from tests.scenarios.world import World, now_ms

SPEC = ClusterSpec(brokers=4, log_dirs=3, log_dir_size_bytes=64 << 20)
TIMEOUT_S = 1_500
PASSED = pytest.StashKey[bool]()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A scenario with its restarts, and the start of everything in the first one, take minutes on two cores."""
    for item in items:
        if item.path.parent.name == "scenarios":
            item.add_marker(pytest.mark.timeout(TIMEOUT_S))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
    """Remember whether the scenario itself passed."""
    report = yield
    if report.when == "call":
        item.stash[PASSED] = report.passed
    return report


@pytest.fixture(scope="session")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """Everything running and online. The logs outlive the cluster."""
    logs = tmp_path_factory.mktemp("scenario-logs")
    with cluster_in(tmp_path_factory.mktemp("scenarios"), SPEC) as cluster, World(cluster, logs).running() as world:
        yield world


@pytest.fixture
def world(environment: World, request: pytest.FixtureRequest) -> Iterator[World]:
    """The environment, whole before and after; what comes up in between must have been expected.

    A scenario asks for ``nothing_else`` itself where it leaves something broken: mending that is noticed too.
    """
    if not environment.is_whole:
        # What an earlier scenario left firing failed that one, not this.
        environment.begin = environment.mark()
        environment.settle()
    environment.begin, environment.begin_ms = environment.mark(), now_ms()
    environment.expected = set()
    environment.is_whole = False
    yield environment
    environment.heal()
    environment.settle()
    environment.is_whole = True
    if request.node.stash.get(PASSED, False):
        environment.nothing_else()
