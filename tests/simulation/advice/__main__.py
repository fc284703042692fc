"""``python -m tests.simulation.advice --worlds 10000 --seed 1``: small clusters; exit code 1 if a law is broken."""

import argparse
import multiprocessing
import os
import sys
import time
from collections import defaultdict

from tests.simulation.advice.laws import of_seed

EXAMPLES = 5


def main() -> int:
    """Judge the advice for every world; print the first ones of each broken law."""
    parser = argparse.ArgumentParser(prog="python -m tests.simulation.advice", description=__doc__)
    parser.add_argument("--worlds", type=int, default=1, help="how many, from --seed on")
    parser.add_argument("--seed", type=int, default=1, help="the first one")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)), help="processes")
    given = parser.parse_args()
    began_s, found = time.monotonic(), defaultdict[str, list[str]](list)
    seeds = range(given.seed, given.seed + given.worlds)
    with multiprocessing.get_context("spawn").Pool(given.jobs) as pool:
        for seed, laws in zip(seeds, pool.imap(of_seed, seeds, chunksize=20), strict=True):
            for law in laws:
                found[law.partition(":")[0]].append(f"{seed}: {law}")
    for law, worlds in found.items():
        sys.stdout.write(f"{len(worlds)} times: {law}\n  " + "\n  ".join(worlds[:EXAMPLES]) + "\n")
    took_s = time.monotonic() - began_s
    sys.stdout.write(f"{len(seeds)} worlds in {took_s:.0f} s; {sum(map(len, found.values()))} broken laws\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
