"""``python -m tests.simulation.record --count 5000``: what each history and small world lead to, as one digest each.

A change that is not meant to change behavior leaves the output byte for byte as it is: record before it and after it,
and compare the files. ``history`` is of all alerts and messages with their times, ``world`` of all advised actions.
"""

import argparse
import hashlib
import multiprocessing
import os
import sys

import msgspec

from tests.simulation.advice.advised import advised
from tests.simulation.advice.world import world_of
from tests.simulation.run import of_seed


def main() -> int:
    """Print a line for each seed."""
    parser = argparse.ArgumentParser(prog="python -m tests.simulation.record", description=__doc__)
    parser.add_argument("--count", type=int, default=1, help="how many of each, from --seed on")
    parser.add_argument("--seed", type=int, default=1, help="the first one")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)), help="processes")
    given = parser.parse_args()
    seeds = range(given.seed, given.seed + given.count)
    with multiprocessing.get_context("spawn").Pool(given.jobs) as pool:
        for name, digests in (("history", history), ("world", world)):
            for seed, digest in zip(seeds, pool.imap(digests, seeds, chunksize=20), strict=True):
                sys.stdout.write(f"{name} {seed} {digest}\n")
    return 0


def history(seed: int) -> str:
    """Return the digest of everything that is written and told in the story of a seed."""
    return of_seed(seed).digest


def world(seed: int) -> str:
    """Return the digest of the actions that are advised for the small world of a seed."""
    return hashlib.sha256(msgspec.json.encode(advised(world_of(seed)).actions)).hexdigest()[:16]


if __name__ == "__main__":
    sys.exit(main())
