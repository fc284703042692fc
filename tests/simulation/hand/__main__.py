"""``python -m tests.simulation.hand --schedules 100000 --seed 1``: many schedules; exit code 1 if a law is broken."""

import argparse
import gc
import multiprocessing
import os
import sys
import time
from collections import Counter, defaultdict
from itertools import chain

from tests.simulation.hand.pair import of_pair
from tests.simulation.hand.run import Ran, every, of_seed, of_story, shrunk

MOST_SEEDS = 20
WAYS = 3
"""In how many ways each event of a small world happens: which broker, which directory."""


def main() -> int:
    """Run the schedules, and print the shortest of each broken law."""
    parser = argparse.ArgumentParser(prog="python -m tests.simulation.hand", description=__doc__)
    parser.add_argument("--schedules", type=int, default=1, help="how many, from --seed on")
    parser.add_argument("--pairs", type=int, default=0, help="of two executions beside each other, from --seed on")
    parser.add_argument("--seed", type=int, default=1, help="the first one")
    parser.add_argument("--worlds", type=int, default=0, help="small worlds, with every event at every edge")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)), help="processes")
    given = parser.parse_args()
    began_s, states, broken = time.monotonic(), Counter[str](), Counter[str]()
    shortest: dict[str, Ran] = {}
    seeds: dict[str, list[int]] = defaultdict(list)
    # Schedules leave no cycles behind, for which the collector looks in a sixth of the time.
    few = {"initializer": gc.set_threshold, "initargs": (100_000,)}
    with multiprocessing.get_context("spawn").Pool(given.jobs, **few) as pool:
        drawn = pool.imap_unordered(of_seed, range(given.seed, given.seed + given.schedules), chunksize=200)
        whole = pool.imap_unordered(of_story, every(given.worlds, WAYS), chunksize=200)
        pairs = pool.imap_unordered(of_pair, range(given.seed, given.seed + given.pairs), chunksize=50)
        for ran in chain(drawn, whole, pairs):
            states[ran.state] += 1
            for law in {one.partition(":")[0] for one in ran.broken}:
                broken[law] += 1
                seeds[law].append(ran.seed)
                if law not in shortest or len(ran.log) < len(shortest[law].log):
                    shortest[law] = ran
    for law, times in broken.most_common():
        ran = shrunk(shortest[law], law)
        sys.stdout.write(
            f"\n{times} times: {law}; seeds {sorted(seeds[law])[:MOST_SEEDS]}, {ran.seed}:\n  "
            + "\n  ".join((*ran.log, *ran.broken))
            + "\n"
        )
    took_s = time.monotonic() - began_s
    sys.stdout.write(f"\n{states.total()} schedules in {took_s:.0f} s; ends: {dict(states)}; {broken.total()} broken\n")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
