"""What the tables cost: a batch of ``store``, a scan of ``store_inventory``, a month of small files, weeks of samples.

    python bench/bench_tables.py [--only batch inventory month week] [--folder DIR] [...]

Everything goes through the product's own writers into real Delta tables; Kafka's rows come from files, so that no
broker is needed and none is measured. Prints markdown.

batch      2,000 brokers with 12 directories each: a poll and a state record of every one, then three polls of every
           one (what 30 seconds bring); beside it the same rows appended to plain Delta tables, in the same run
inventory  2,000,000 replicas listed whole: into empty tables, again unchanged, with a share changed, and batches
           without any scan, with nothing new and with a broker that goes offline
month      30 days of few brokers, ``maintain`` after each: files of every table in its snapshot, on disk, in its log
stores     batches of a small fleet, in a folder and on a server of S3's protocol: jobs and processor seconds of each
week       samples as ``store`` leaves them, ``maintain`` after each day; bytes a row, what each OPTIMIZE rewrites
"""

import argparse
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))  # the records of the tests

import tables_batch
import tables_inventory
import tables_month
import tables_stores
import tables_week
from lakehouse import machine

PARTS: dict[str, Callable[[Path, argparse.Namespace], None]] = {
    "batch": tables_batch.measure,
    "inventory": tables_inventory.measure,
    "month": tables_month.measure,
    "stores": tables_stores.measure,
    "week": tables_week.measure,
}


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--only", nargs="+", choices=PARTS, default=list(PARTS))
    arguments.add_argument("--folder", help="where the tables are made, in folders that are removed at the end")
    arguments.add_argument("--heap", default="3g", help="of the driver")
    arguments.add_argument("--brokers", type=int, default=2_000)
    arguments.add_argument("--batches", type=int, default=4, help="after the first, with one poll and with three each")
    arguments.add_argument("--replicas", type=int, default=2_000_000)
    arguments.add_argument("--month-days", type=int, default=30)
    arguments.add_argument("--batches-a-day", type=int, default=6)
    arguments.add_argument("--days", type=int, default=3, help="of samples")
    arguments.add_argument("--interval-s", type=int, default=10, help="between two samples")
    arguments.add_argument("--file-s", type=int, default=300, help="seconds of samples in a file; store has 30")
    arguments.add_argument(
        "--conf", nargs="+", default=[], metavar="KEY=VALUE", help="Spark's, over what the product sets: another design"
    )
    arguments.add_argument("--java-options", default="", metavar="=OPTIONS", help="beside the product's own")
    arguments.add_argument("--sampled-brokers", type=int, default=200, help="whose samples are made, in ten clusters")
    chosen = arguments.parse_args()
    print(f"{machine()}{''.join(f', {each}' for each in chosen.conf)}\n", flush=True)
    for name in chosen.only:
        with tempfile.TemporaryDirectory(dir=chosen.folder, prefix="logdirwatch-bench-") as folder:
            PARTS[name](Path(folder), chosen)


if __name__ == "__main__":
    main()
