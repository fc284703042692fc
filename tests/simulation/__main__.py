"""``python -m tests.simulation --seeds 10000 --seed 1``: many seeds; the stories of failing ones are made minimal."""

import argparse
import multiprocessing
import os
import sys
import time
from collections import Counter
from collections.abc import Iterator

import msgspec

from tests.simulation.defects import DEFECTS
from tests.simulation.run import Result, of_seed, simulate
from tests.simulation.shrink import shrunk
from tests.simulation.story import Story, story_of


def main() -> int:
    """Run the seeds; return 1 if one fails."""
    parser = argparse.ArgumentParser(prog="python -m tests.simulation", description=__doc__)
    parser.add_argument("--seeds", type=int, default=1, help="how many, from --seed on")
    parser.add_argument("--seed", type=int, default=1, help="the first one")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)), help="processes")
    parser.add_argument("--verbose", action="store_true", help="print all that is written to the alert topic, and told")
    parser.add_argument("--defects", action="store_true", help="plant each defect, and count the seeds that find it")
    given = parser.parse_args()
    seeds = range(given.seed, given.seed + given.seeds)
    if given.defects:
        return _count_defects(seeds)
    began_s = time.monotonic()
    failed, tally = [], Counter[str]()
    for result in _results(seeds, given.jobs, is_verbose=given.verbose):
        tally.update(runs=1, records=result.records, messages=result.messages)
        if result.wrong:
            failed.append(result)
            sys.stdout.write(f"seed {result.seed}: {result.wrong[0].law}\n")
    for law, of_law in _by_law(failed).items():
        _print(law, of_law)
    took_s = time.monotonic() - began_s
    sys.stdout.write(
        f"{tally['runs']} seeds in {took_s:.0f} s ({took_s * 1000 / max(1, tally['runs']):.0f} ms each): "
        f"{tally['records']} records, {tally['messages']} messages, {len(failed)} failed\n"
    )
    return 1 if failed else 0


def _count_defects(seeds: range) -> int:
    """Print how many seeds find each planted defect, and the first; return 1 if one is not found."""
    missed = 0
    for name, plant in DEFECTS.items():
        with plant():
            finding = [result for result in map(of_seed, seeds) if result.wrong]
        missed += not finding
        first = f"first {finding[0].seed}, {finding[0].wrong[0].law}" if finding else "MISSED"
        sys.stdout.write(f"{len(finding):4} of {len(seeds)}  {name}: {first}\n")
        sys.stdout.flush()
    return 1 if missed else 0


def _results(seeds: range, jobs: int, *, is_verbose: bool) -> Iterator[Result]:
    if is_verbose or jobs == 1 or len(seeds) == 1:
        for seed in seeds:
            if is_verbose:
                sys.stdout.write(f"{story_of(seed)}\n")
            yield simulate(story_of(seed), sys.stdout.write if is_verbose else None)
        return
    with multiprocessing.get_context("spawn").Pool(jobs) as pool:
        yield from pool.imap_unordered(of_seed, seeds, chunksize=20)


def _by_law(failed: list[Result]) -> dict[str, list[Result]]:
    found: dict[str, list[Result]] = {}
    for result in sorted(failed):
        found.setdefault(result.wrong[0].law, []).append(result)
    return found


def _print(law: str, failed: list[Result]) -> None:
    seeds = [result.seed for result in failed]
    sys.stdout.write(f"\n{len(seeds)} seeds break a law ({law}): {', '.join(map(str, seeds[:20]))}\n")
    story, result = shrunk(story_of(seeds[0]))
    sys.stdout.write(f"{story}\n{result.wrong[0]}\n")
    sys.stdout.write(f"replay: python -m tests.simulation --seed {seeds[0]} --verbose\n")
    sys.stdout.write(f"for tests/simulation/regressions.jsonl: {as_line(story, law)}\n")


def as_line(story: Story, why: str) -> str:
    """Return a story as a line of the list of regressions."""
    return msgspec.json.encode({"why": why, "story": story}).decode()


if __name__ == "__main__":
    sys.exit(main())
