"""What advice is worth: a month of modelled clusters, five ways to act on them, and what is lost in each.

    python bench/bench_closed_loop.py [--clusters 8] [--days 30] [--step-minutes 10] [--seed 1] [--processes 2]

The clusters are models (loop_models.py) that behave as real brokers were measured to (loop_world.py); the state machine
and the planner are the product's own (loop_watch.py). The same seeds meet every way to act (loop_policies.py). Printed
for each way, summed over the clusters: log directories that went offline full, clusters with such a one, bytes deleted
before the retention that their owner wants, bytes deleted below what the owner says must stay, bytes moved, minutes of
partitions below min.insync.replicas, and how often somebody acted.
"""

import argparse
import os
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from typing import NamedTuple

from logdirwatch.config.section import DAY_MS
from loop_models import Month, month
from loop_policies import WAYS
from loop_world import Tally

TB = 1e12


class Task(NamedTuple):
    seed: int
    way: str
    days: int
    step_ms: int


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--clusters", type=int, default=8)
    arguments.add_argument("--days", type=int, default=30)
    arguments.add_argument("--step-minutes", type=int, default=10)
    arguments.add_argument("--seed", type=int, default=1)
    arguments.add_argument("--processes", type=int, default=os.cpu_count())
    chosen = arguments.parse_args()
    seeds = range(chosen.seed, chosen.seed + chosen.clusters)
    print(
        f"{chosen.clusters} clusters (seeds {seeds[0]} to {seeds[-1]}), {chosen.days} days, {chosen.step_minutes} min"
    )
    print(
        f"\n{'':<28}{'offline full':>13}{'clusters':>10}{'early TB':>10}{'below floor TB':>16}"
        f"{'moved TB':>10}{'min under ISR':>15}{'actions':>9}"
    )
    with ProcessPoolExecutor(chosen.processes) as pool:
        for way in WAYS:
            tasks = [Task(seed, way, chosen.days, chosen.step_minutes * 60_000) for seed in seeds]
            began_s = time.monotonic()
            tallies = list(pool.map(run, tasks, chunksize=1))
            print(row(way, tallies), f"  ({time.monotonic() - began_s:.0f} s)", flush=True)


def row(way: str, tallies: list[Tally]) -> str:
    return (
        f"{way:<28}{sum(t.full for t in tallies):>13}{sum(t.full > 0 for t in tallies):>10}"
        f"{sum(t.early_bytes for t in tallies) / TB:>10.1f}{sum(t.below_floor_bytes for t in tallies) / TB:>16.2f}"
        f"{sum(t.moved_bytes for t in tallies) / TB:>10.1f}"
        f"{sum(t.under_min_isr_minutes for t in tallies):>15.0f}{sum(t.actions for t in tallies):>9}"
    )


def run(task: Task) -> Tally:
    """Let one cluster live for its days under one way to act."""
    life = month(task.seed, task.days)
    way = WAYS[task.way](life.world, task.seed, task.step_ms)
    failures = iter([*life.failures, None])
    due = next(failures)
    for now_ms in times(task):
        while due is not None and due[0] <= now_ms:
            life.world.fail(due[1], now_ms + due[2])
            due = next(failures)
        life.world.step(now_ms, life.rates(now_ms), life.repair_ms() if _is_filling(life) else 0)
        way.act(now_ms)
    return life.world.tally


def times(task: Task) -> Iterator[int]:
    yield from range(task.step_ms, task.days * DAY_MS, task.step_ms)


def _is_filling(life: Month) -> bool:
    """The time of a repair is drawn only near a full directory, so that draws follow what happens."""
    return any(seen.used_ratio > 0.9 for seen in life.world.log_dirs.values())


if __name__ == "__main__":
    main()
