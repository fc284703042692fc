"""A real Prometheus over a history that is written beforehand, and promtool beside it; gone at the end."""

import json
import os
import shutil
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import requests
import yaml

from logdirwatch.errors import UserError
from logdirwatch.observe import children
from logdirwatch_lab import ports, processes
from logdirwatch_lab.state import HOST
from tests.support.waiting import DEADLINE_S, wait_until

NAMED = "TEST_PROMETHEUS"
STOP_GRACE_S = 20.0

Sample = tuple[Mapping[str, str], float, float]
"""Labels, value and seconds since the epoch."""


def program(name: str) -> str:
    """Return the path of prometheus or promtool; raises FileNotFoundError with one line that says what to do."""
    beside = os.environ.get(NAMED)
    found = shutil.which(str(Path(beside).with_name(name)) if beside else name)
    if found is None:
        raise FileNotFoundError(f"no {name}: run make test-prometheus, or name a Prometheus in {NAMED}")
    return found


def open_metrics(series: Mapping[str, Iterable[Sample]]) -> Iterator[str]:
    """Yield the lines of gauges by name, as promtool reads a history."""
    for name, samples in series.items():
        yield f"# TYPE {name} gauge\n"
        for labels, value, at_s in samples:
            named = ",".join(f"{label}={json.dumps(text)}" for label, text in labels.items())
            yield f"{name}{{{named}}} {value:.0f} {at_s:.0f}\n"
    yield "# EOF\n"


class Prometheus:
    """A running server at ``url``."""

    def __init__(self, url: str) -> None:
        self.url = url

    def get(self, path: str, **asked: Any) -> Any:
        """Return the data of an answer of its API."""
        answer = requests.get(f"{self.url}/api/v1/{path}", params=asked, timeout=DEADLINE_S).json()
        assert answer["status"] == "success", answer
        return answer["data"]

    def is_ready(self) -> bool:
        """Tell whether it answers."""
        try:
            return requests.get(f"{self.url}/-/ready", timeout=5).ok
        except requests.RequestException:
            return False


@contextmanager
def serving(
    folder: Path, lines: Iterable[str] = ("# EOF\n",), configuration: Mapping[str, Any] | None = None
) -> Iterator[Prometheus]:
    """Run a server over a history in OpenMetrics; what it writes goes into ``folder``."""
    folder.mkdir(parents=True, exist_ok=True)
    written, data = folder / "history.om", folder / "data"
    with written.open("w") as file:
        file.writelines(lines)
    backfill(written, data)
    (folder / "prometheus.yml").write_text(yaml.safe_dump(configuration or {"scrape_configs": []}))
    (port,) = ports.free_ports(1)
    output = folder / "prometheus.log"
    process = processes.spawn(command(folder, data, port), output)
    server = Prometheus(f"http://{HOST}:{port}")
    try:

        def started() -> bool:
            if processes.find(process) is None:
                raise UserError(f"Prometheus ended:\n{processes.tail(output, 30)}")
            return server.is_ready()

        wait_until(started, DEADLINE_S, lambda: f"Prometheus does not start:\n{processes.tail(output)}")
        yield server
    finally:
        processes.stop(process, STOP_GRACE_S)


def backfill(written: Path, data: Path) -> None:
    """Make blocks of a history; of days rather than of two hours, which would take many times as long."""
    line = [program("promtool"), "tsdb", "create-blocks-from", "--max-block-duration=480h", "openmetrics"]
    subprocess.run([*line, str(written), str(data)], check=True, capture_output=True)


def command(folder: Path, data: Path, port: int) -> list[str]:
    """Return how a server is started that forgets nothing."""
    return [
        *children.dying_with_parent(),
        program("prometheus"),
        f"--config.file={folder}/prometheus.yml",
        f"--storage.tsdb.path={data}",
        "--storage.tsdb.retention.time=100y",
        f"--web.listen-address={HOST}:{port}",
        "--log.level=warn",
    ]
