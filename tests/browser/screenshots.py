"""Pictures of the console in ten scenes: what a person looks at before a release, and what the documentation shows.

    python -m tests.browser.screenshots docs/images     # make screenshots

The tables are those of a fleet with some faults (``tests.support.fleet``); a heartbeat says that they are current. The
browser is that of the tests.
"""

import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from msgspec.structs import replace
from playwright.sync_api import sync_playwright
from werkzeug.serving import make_server

from logdirwatch.clock import wall_ms
from logdirwatch.detect.pipeline.heartbeats import HeartbeatMemory, answer
from logdirwatch.model.records import AlertRecord, HeartbeatRecord
from logdirwatch.model.vocabulary import Lane
from tests.browser import chromium
from tests.browser.test_accessible import PHONE
from tests.support.console import application_over
from tests.support.delta import Written
from tests.support.fleet import HOUR_MS, Fleet

DESK = {"viewport": {"width": 1280, "height": 1000}}
WALL = {"viewport": {"width": 1920, "height": 1080}}
LIGHT, DARK = ({"color_scheme": scheme} for scheme in ("light", "dark"))
FIRST = f"{0:032x}"


class Scene(NamedTuple):
    """A fleet, a page of it and a window; ``silent_ms`` is how long ago the last heartbeat came."""

    fleet: str
    path: str
    window: dict[str, Any]
    silent_ms: int = 0


FLEETS: dict[str, Callable[[], Fleet]] = {
    "quiet": lambda: Fleet(24, 12, 0.0, racks=3),
    "night": lambda: Fleet(24, 12, 0.02, racks=3),
    "rack": lambda: Fleet(24, 12, 0.0, racks=3, lost_rack=1),
    "large": lambda: Fleet(2_000, 12, 0.002, replicas=2),
}
STUCK = f"{21:032x}"
SCENES = {
    "quiet": Scene("quiet", "/", {**DESK, **LIGHT}),
    "fleet-light": Scene("night", "/", {**WALL, **LIGHT}),
    "fleet-dark": Scene("night", "/", {**WALL, **DARK}),
    "directory-dark": Scene("night", "/directory?cluster=prod&broker={broker}&log_dir={log_dir}", {**DESK, **DARK}),
    "alert": Scene("night", f"/alerts/{FIRST}", {**DESK, **LIGHT}),
    "action": Scene("night", f"/actions/{1:032x}", {**DESK, **LIGHT}),
    "execution": Scene("night", f"/executions/{STUCK}", {**DESK, **LIGHT}),
    "rack": Scene("rack", "/", {**WALL, **LIGHT}),
    "stale": Scene("night", "/", {**WALL, **LIGHT}, silent_ms=2 * HOUR_MS),
    "large-dark": Scene("large", "/", {**WALL, **DARK}),
    "phone": Scene("night", "/", {**PHONE, **LIGHT}),
}
"""By the name of the picture."""


def main(folder: Path, names: list[str]) -> None:
    """Write the picture of each scene."""
    folder.mkdir(parents=True, exist_ok=True)
    wanted = {name: SCENES[name] for name in names or SCENES}
    with tempfile.TemporaryDirectory() as root, sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=chromium.program(), args=["--no-sandbox", *chromium.FLAGS])
        for name, scene in wanted.items():
            tables = Path(root) / scene.fleet
            if not tables.exists():
                FLEETS[scene.fleet]().write(Written(tables), wall_ms())
            with serving(tables, scene.silent_ms) as (address, place):
                page = browser.new_context(**scene.window).new_page()
                page.goto(f"http://{address}{scene.path.format(**place)}")
                page.screenshot(path=folder / f"console-{name}.png")
                page.context.close()
        browser.close()


@contextmanager
def serving(tables: Path, silent_ms: int) -> Iterator[tuple[str, dict[str, Any]]]:
    """Serve the console over tables; yield its address, and the place of a directory that fills."""
    pages, reader = application_over(tables, lambda: [*(reader.open_alerts() or ()), *beat(wall_ms() - silent_ms)])
    server = make_server("127.0.0.1", 0, pages, threaded=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        rows = [
            row for row in reader.rows("log_dir_state") or () if row["status"] in {"critical", "saturated", "filling"}
        ]
        yield f"127.0.0.1:{server.server_port}", rows[0] if rows else {}
    finally:
        server.shutdown()


def beat(at_ms: int) -> list[AlertRecord]:
    """Return the heartbeat of a collector whose samples passed the stream then, and a canary of the fast lane."""
    found = HeartbeatRecord(
        version=1, cluster="prod", collector="a", timestamp_ms=at_ms, interval_ms=10_000, samples_overdue_ms=0
    )
    passed = answer(HeartbeatMemory(), [found])
    return [*passed, *(replace(one, alert_id="canary", lane=Lane.FAST) for one in passed)]


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
