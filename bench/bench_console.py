"""What the console's pages cost for a large fleet: bytes as sent and unpacked, seconds on the server.

    python bench/bench_console.py [--brokers 2000] [--log-dirs 12] [--bad-ratio 0.01] [--times 5]

Writes the tables of a fleet into a folder that is removed at the end, asks the application for each page without a
socket, and prints markdown. The first request reads the tables cold, the others as an open page does.
"""

import argparse
import gzip
import random
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))  # the rows of the tests

from flask.testing import FlaskClient

from lakehouse import machine
from logdirwatch.cli.reading.tables.delta_files import DeltaFiles
from logdirwatch.config.section import HOUR_MS
from logdirwatch.console.pages import application
from logdirwatch.console.reading import Reader
from logdirwatch.console.settings import ConsoleSettings
from logdirwatch.report.status.snapshot import Patience
from tests.support.delta import Written
from tests.unit.report.builders import alert
from tests.unit.report.rows import broker, log_dir

BAD = ("filling", "critical", "saturated", "offline")
PAGES = ("/", "/?q=status:offline", "/?q=rack:r3", "/actions")


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--brokers", type=int, default=2_000)
    arguments.add_argument("--log-dirs", type=int, default=12)
    arguments.add_argument("--bad-ratio", type=float, default=0.01, help="of the directories")
    arguments.add_argument("--times", type=int, default=5)
    chosen = arguments.parse_args()
    print(f"{machine()}, {chosen.brokers:,} brokers with {chosen.log_dirs} directories each\n")
    with tempfile.TemporaryDirectory(prefix="logdirwatch-bench-") as folder:
        _write(Path(folder), chosen)
        client = _client(folder)
        print("| page | first s | median s | bytes | gzip bytes |\n|---|---|---|---|---|")
        for page in PAGES:
            print(_measured(client, page, chosen.times), flush=True)


def _write(folder: Path, chosen: argparse.Namespace) -> None:
    tables, draw, now_ms = Written(folder), random.Random(7), _now_ms()
    tables.write(
        "broker_state",
        *(
            broker(number, rack=f"r{number % 20}", at_ms=now_ms, last_seen_ms=now_ms)
            for number in range(chosen.brokers)
        ),
    )
    found = list(_log_dirs(chosen, draw, now_ms))
    tables.write("log_dir_state", *found)
    bad = [row for row in found if row["status"] != "online"]
    tables.alerts(
        *(
            alert(f"{number:032x}", broker=row["broker"], log_dir=row["log_dir"], at_ms=now_ms, opened_at_ms=now_ms)
            for number, row in enumerate(bad)
        )
    )
    tables.write("log_dir_inventory", {"cluster": "prod", "inventory_at_ms": now_ms})
    tables.write("actions")


def _log_dirs(chosen: argparse.Namespace, draw: random.Random, now_ms: int) -> Iterator[dict[str, Any]]:
    for number in range(chosen.brokers):
        for path in range(chosen.log_dirs):
            status = draw.choice(BAD) if draw.random() < chosen.bad_ratio else "online"
            used = draw.uniform(0.3, 0.8)
            more = {
                "status": status,
                "growth_bytes_per_s": 1e5,
                "full_at_ms": now_ms + draw.randrange(24, 900) * HOUR_MS,
            }
            yield log_dir(number, f"/var/lib/kafka/data-{path:02}", used, at_ms=now_ms, **more)


def _client(folder: str) -> FlaskClient:
    tables = DeltaFiles(folder)
    reader = Reader(tables.select, tables.rows)
    patience = Patience(state_ms=HOUR_MS, inventory_ms=HOUR_MS, proof_ms=HOUR_MS, skew_ms=60_000)
    return application(reader, ConsoleSettings(), patience, _now_ms).test_client()


def _measured(client: FlaskClient, page: str, times: int) -> str:
    taken = []
    for _ in range(times):
        began = time.perf_counter()
        answer = client.get(page, headers={"Host": "localhost", "Accept-Encoding": "gzip"})
        taken.append(time.perf_counter() - began)
    assert answer.status_code == 200, answer.text
    is_packed = answer.headers.get("Content-Encoding") == "gzip"
    raw = gzip.decompress(answer.data) if is_packed else answer.data
    sent = f"{len(answer.data):,}" if is_packed else "not packed"
    return f"| `{page}` | {taken[0]:.2f} | {sorted(taken)[len(taken) // 2]:.2f} | {len(raw):,} | {sent} |"


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


if __name__ == "__main__":
    main()
