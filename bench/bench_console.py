"""What the console's pages cost for a large fleet: bytes as sent and unpacked, seconds on the server.

    python bench/bench_console.py [--brokers 2000] [--log-dirs 12] [--bad-ratio 0.01] [--replicas 10] [--times 5]

Writes the tables of a fleet into a folder that is removed at the end, asks the application for each page without a
socket, and prints markdown. The first request reads the tables cold, the others as an open page does. ``--keep FOLDER``
leaves the tables there, and uses those that are there already; ``--only PATH`` measures one page.
"""

import argparse
import gzip
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))  # the fleet is that of the tests

from flask.testing import FlaskClient

from lakehouse import machine
from logdirwatch.clock import wall_ms
from tests.support.console import application_over
from tests.support.delta import Written
from tests.support.fleet import Fleet

PAGES = (
    "/",
    "/?q=status:offline",
    "/?q=rack:r3",
    "/?q=topic:orders.000",
    "/brokers",
    "/broker?cluster=prod&broker=7",
    "/directory?cluster=prod&broker=7&log_dir=/var/lib/kafka/data-00",
    "/topic?cluster=prod&topic=orders.000",
    "/alerts",
    f"/alerts/{0:032x}",
    "/actions",
    f"/actions/{0:032x}",
    "/executions",
    "/timeline",
    "/capacity",
    "/capacity?growth=1.5x",
    "/capacity?lose-broker=7",
    "/capacity?add-disks=7:2x8TB",
    "/capacity?retention=orders.000:3d",
)


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--brokers", type=int, default=2_000)
    arguments.add_argument("--log-dirs", type=int, default=12)
    arguments.add_argument("--bad-ratio", type=float, default=0.01, help="of the directories")
    arguments.add_argument("--replicas", type=int, default=10, help="in each directory")
    arguments.add_argument("--times", type=int, default=5)
    arguments.add_argument("--keep", type=Path, help="where the tables are kept")
    arguments.add_argument("--only", action="append", help="a page to measure instead of all")
    chosen = arguments.parse_args()
    fleet = Fleet(chosen.brokers, chosen.log_dirs, chosen.bad_ratio, chosen.replicas)
    size = f"{fleet.brokers:,} brokers with {fleet.log_dirs} directories of {fleet.replicas} replicas each"
    print(f"{machine()}, {size}\n")
    with tempfile.TemporaryDirectory(prefix="logdirwatch-bench-") as temporary:
        folder = chosen.keep or Path(temporary)
        if not (folder / "broker_state").exists():
            fleet.write(Written(folder), wall_ms())
        client = application_over(folder)[0].test_client()
        print("| page | first s | median s | bytes | gzip bytes |\n|---|---|---|---|---|")
        for page in chosen.only or PAGES:
            print(_measured(client, page, chosen.times), flush=True)


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


if __name__ == "__main__":
    main()
