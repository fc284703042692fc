"""One environment for all scenarios: real brokers with sized disks, the collector, and the stream with every query."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from logdirwatch_lab.config import ClusterSpec
from tests.kafka.conftest import cluster_in
from tests.scenarios.turns import InTime, in_turn
from tests.scenarios.world import World, now_ms

# Broker 3 halts with its first directory, as Kafka's brokers do by default; the controllers keep theirs apart.
SPEC = ClusterSpec(brokers=4, log_dirs=3, log_dir_size_bytes=64 << 20, metadata_in_first_dir=frozenset({3}))
# Brokers seldom run as root: without these rights a closed directory is closed to root too, where they can be dropped.
FEWER_RIGHTS = "setpriv --bounding-set=-dac_override,-dac_read_search --inh-caps=-dac_override,-dac_read_search --"
UNDER = ("sh", "-c", f'{FEWER_RIGHTS} true 2>/dev/null && exec {FEWER_RIGHTS} "$@"; exec "$@"', "sh")
TIMEOUT_S = 1_500
PASSED = pytest.StashKey[bool]()
DURATIONS = Path(__file__).with_name("durations.json")


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("scenarios")
    group.addoption("--begin", default="0", help="hexadecimal number that says with which scenario to begin")
    group.addoption("--minutes", type=float, help="leave out, by name, the scenarios that would end later than this")


def pytest_configure(config: pytest.Config) -> None:
    if (minutes := config.getoption("minutes", None)) is not None:
        config.pluginmanager.register(InTime(minutes * 60, json.loads(DURATIONS.read_text())), "in-time")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """A scenario with its restarts, and the start of everything in the first one, take minutes on two cores."""
    mine = {item.nodeid: item for item in items if item.path.parent.name == "scenarios"}
    for item in mine.values():
        item.add_marker(pytest.mark.timeout(TIMEOUT_S))
    turn = in_turn(list(mine), int(config.getoption("begin", "0"), 16))
    items[:] = [item for item in items if item.nodeid not in mine] + [mine[nodeid] for nodeid in turn]


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
    home = tmp_path_factory.mktemp("scenarios")
    with cluster_in(home, SPEC, UNDER) as cluster, World(cluster, logs).running() as world:
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
