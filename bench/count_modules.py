"""Through how many modules what the service does goes, counted while it runs.

    python bench/count_modules.py [--names]

For each way: the modules of which a function runs, and the distinct steps from one of them into another one. Small
inputs of the tests are used; what is loaded and remembered at the first time does not count.
"""

import argparse
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))  # the inputs are those of the tests

import msgspec
from typer.testing import CliRunner

from logdirwatch.alone.judges import Judges
from logdirwatch.cli.main import app
from logdirwatch.clock import wall_ms
from logdirwatch.collect.publish.buffer import Outgoing
from logdirwatch.model import topics
from logdirwatch.plan.recommend import recommend
from logdirwatch.settings import Settings
from tests.support.console import application_over
from tests.support.delta import Written
from tests.support.fleet import Fleet
from tests.unit.detect import builders as of_broker
from tests.unit.plan.builders import MIB, NOW_MS, directory, facts, policy, replica, space_alert, topic

PACKAGE = "logdirwatch."


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--names", action="store_true", help="print the modules of each way too")
    chosen = arguments.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        print("| way | modules | steps between them |\n|---|---|---|")
        for name, way in ways(Path(folder)).items():
            way()
            modules, steps = counted(way)
            print(f"| {name} | {len(modules)} | {len(steps)} |")
            if chosen.names:
                print("  " + " ".join(sorted(modules)))


def ways(folder: Path) -> dict[str, Callable[[], Any]]:
    """Return what is counted, by name."""
    fleet = Fleet(brokers=3, log_dirs=2, bad_ratio=0.2, replicas=4)
    fleet.write(Written(folder), wall_ms())
    pages = application_over(folder)[0].test_client()
    return {
        "an alert becomes an action, with room in another directory": lambda: advised(room=True),
        "an alert becomes actions, without room": lambda: advised(room=False),
        "a sample becomes an alert": judged,
        "tables become `status`": lambda: CliRunner().invoke(app, ["status"]),
        "a console page": lambda: pages.get("/", headers={"Host": "localhost"}),
    }


def counted(way: Callable[[], Any]) -> tuple[set[str], set[tuple[str, str]]]:
    """Return the modules of which a function ran, and the steps between two of them."""
    modules: set[str] = set()
    steps: set[tuple[str, str]] = set()

    def called(frame: FrameType, event: str, _: object) -> None:
        if event != "call" or (name := module_of(frame)) is None or frame.f_code.co_name == "<module>":
            return
        modules.add(name)
        outer = frame.f_back
        while outer is not None and module_of(outer) is None:
            outer = outer.f_back
        if outer is not None and (before := module_of(outer)) not in {None, name}:
            steps.add((str(before), name))

    sys.setprofile(called)
    try:
        way()
    finally:
        sys.setprofile(None)
    return modules, steps


def module_of(frame: FrameType) -> str | None:
    name = str(frame.f_globals.get("__name__", ""))
    return name if name.startswith(PACKAGE) else None


def advised(*, room: bool) -> None:
    """Plan for a directory that fills, beside one that is empty or as full."""
    beside = 100 if room else 860
    snapshot = facts(
        directory(1, "/d1", used=880 * MIB, growth_bytes_per_s=1.0),
        directory(1, "/d2", used=beside * MIB),
        topic("orders", [1], [1], [1]),
        *(replica(1, "/d1", "orders", number, size=280 * MIB) for number in range(3)),
    )
    actions = recommend(space_alert("critical", number=1, log_dir="/d1"), snapshot, policy(), NOW_MS)
    assert actions


def judged() -> None:
    """Show the judges a directory that fills within two polls."""
    judges, written = Judges(Settings(clusters={"prod": {"bootstrap_servers": "h:1"}})), []
    for number in range(3):
        at_ms = of_broker.T0 + number * of_broker.POLL_MS
        record = of_broker.metrics(at_ms, of_broker.log_dir("/d1", 0.9))
        sent = Outgoing(topics.METRICS, b"prod/7", msgspec.json.encode(record))
        written += judges.take([sent], at_ms)
    assert any(topic == topics.ALERTS for topic, _, _ in written)


if __name__ == "__main__":
    main()
