"""How large the record of a plan is in the journal of executions.

    python bench/bench_journal.py [--partitions 100000]

A tenth of the partitions move two of their three replicas, the others one; brokers, directories and sizes are random.
Prints the bytes of the operations in the record, compressed, what Kafka takes by default, and the processor seconds of
packing.
"""

import argparse
import sys
import time
import zlib
from pathlib import Path

import msgspec

sys.path.insert(0, str(Path(__file__).parents[1]))  # the plan of the tests

from logdirwatch.execute import journal
from logdirwatch.execute.packing import packed
from logdirwatch.plan.commands.operations import as_data
from tests.unit.execute.test_packing import plan, rolled


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--partitions", type=int, default=100_000)
    chosen = arguments.parse_args()
    found = as_data([rolled(*plan(chosen.partitions))])
    begun_s = time.process_time()
    size_bytes = len(zlib.compress(msgspec.json.encode(packed(found))))
    taken_s = time.process_time() - begun_s
    print(f"{chosen.partitions} partitions: {size_bytes} bytes of {journal.MOST_BYTES}, {taken_s:.1f} processor s")


if __name__ == "__main__":
    main()
