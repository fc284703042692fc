"""What advice is worth: a month of modelled clusters, five ways to act on them, and what is lost in each.

    python bench/bench_closed_loop.py [--clusters 8] [--days 30] [--step-minutes 10] [--seed 1] [--processes 2]
        [--out FILE] [--fixed-step] [--without-new-disks]

The clusters are models (loop_models.py) that behave as real brokers were measured to (loop_world.py). The state
machine, the planner, the autopilot's rules and the steps of an execution are the product's own (loop_watch.py,
loop_product.py, loop_execution.py). The same seeds meet every way to act. Printed for each way, summed over the
clusters: log directories that went offline full, clusters with such a one, bytes deleted before the retention that
their owner wants, bytes deleted below what the owner says must stay, bytes moved, bytes of disk space that people
bought on advice (loop_orders.py), minutes of partitions below min.insync.replicas, and how often somebody acted.

Time passes in steps of an hour where no directory could fill meanwhile, else of ``--step-minutes``. The machine sees
every step near a change, and every four hours where nothing changes. ``--fixed-step`` shows it every step of
``--step-minutes`` instead, prints both for the same seeds, and takes twenty times as long. A way that cannot differ
from another is not run again: "delete oldest" and "rebalance" where no directory ever reached their limit, and the
autopilot where the advice never held an action that could be carried out.

With ``--without-new-disks`` nobody buys disk space.

Where the autopilot lost a directory, the share of all disks that is protected from cuts is printed.

With ``--out`` every cluster is written to a file as it ends; seeds that are there already are not run again.
"""

import argparse
import json
import os
import subprocess
import time
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import NamedTuple

from logdirwatch.config.section import DAY_MS, HOUR_MS
from loop_models import Month, month
from loop_policies import DeleteOldest, Nothing, Rebalance, Way
from loop_product import Advised, Autopilot, Logdirwatch
from loop_world import Tally, World

TB = 1e12
NOTHING, OLDEST, REBALANCE = "nothing", "delete oldest at 85 %", "rebalance at 80 %"
ADVISED, AUTOPILOT = "logdirwatch, a person acts", "logdirwatch autopilot"
WAYS = (NOTHING, OLDEST, REBALANCE, ADVISED, AUTOPILOT)
PART = 4
"""In a step no directory takes in more than this part of its free bytes."""

Tallies = Mapping[str, Tally]


class Task(NamedTuple):
    days: int
    step_ms: int
    is_fixed: bool = False
    buys: bool = True


def main() -> None:
    chosen = arguments()
    seeds = range(chosen.seed, chosen.seed + chosen.clusters)
    task = Task(chosen.days, chosen.step_minutes * 60_000, buys=not chosen.without_new_disks)
    print(f"{chosen.days} days, {chosen.step_minutes} min, seeds {seeds[0]} to {seeds[-1]}, commit {commit()}")
    show(found := lived(seeds, task, chosen.processes, chosen.out), task.days)
    if chosen.fixed_step:
        print("\nEvery step shown to the machine:")
        show(fixed := lived(seeds, task._replace(is_fixed=True), chosen.processes, None), task.days)
        differ = [s for s in seeds if [found[s][w].full for w in WAYS] != [fixed[s][w].full for w in WAYS]]
        print(f"seeds in which the directories that went offline full differ: {differ or 'none'}")


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clusters", type=int, default=8)
    parser.add_argument("--days", type=int, default=30)
    parser.add_argument("--step-minutes", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    parser.add_argument("--out", type=Path)
    parser.add_argument("--fixed-step", action="store_true")
    parser.add_argument("--without-new-disks", action="store_true")
    return parser.parse_args()


def commit() -> str:
    command = ("git", "-C", str(Path(__file__).parent), "rev-parse", "--short", "HEAD")
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()


def lived(seeds: Iterable[int], task: Task, processes: int, out: Path | None) -> dict[int, Tallies]:
    """Return what happened to every cluster, by seed."""
    began_s, found = time.monotonic(), known(out)
    left = [seed for seed in seeds if seed not in found]
    with ProcessPoolExecutor(processes) as pool:
        for seed, tallies in zip(left, pool.map(partial(tallies_of, task=task), left), strict=True):
            found[seed] = tallies
            if out is not None:
                with out.open("a") as file:
                    file.write(
                        json.dumps({"seed": seed, "ways": {way: asdict(t) for way, t in tallies.items()}}) + "\n"
                    )
    print(f"{len(left)} clusters in {time.monotonic() - began_s:.0f} s")
    return {seed: found[seed] for seed in seeds if seed in found}


def known(out: Path | None) -> dict[int, Tallies]:
    if out is None or not out.exists():
        return {}
    lines = [json.loads(line) for line in out.read_text().splitlines()]
    return {line["seed"]: {way: Tally(**tally) for way, tally in line["ways"].items()} for line in lines}


def show(found: Mapping[int, Tallies], days: int) -> None:
    print(
        f"\n{len(found):<28}{'offline full':>13}{'clusters':>10}{'early TB':>10}{'below floor TB':>16}"
        f"{'moved TB':>10}{'bought TB':>11}{'min under ISR':>15}{'actions':>9}"
    )
    for way in WAYS:
        print(row(way, [tallies[way] for tallies in found.values()]))
    for seed, tallies in found.items():
        if tallies[AUTOPILOT].full:
            print(
                f"seed {seed}: what no cut may delete takes {protected_ratio(seed, days):.0%} of all disks at its peak"
            )


def row(way: str, tallies: list[Tally]) -> str:
    return (
        f"{way:<28}{sum(t.full for t in tallies):>13}{sum(t.full > 0 for t in tallies):>10}"
        f"{sum(t.early_bytes for t in tallies) / TB:>10.1f}{sum(t.below_floor_bytes for t in tallies) / TB:>16.2f}"
        f"{sum(t.moved_bytes for t in tallies) / TB:>10.1f}{sum(t.added_bytes for t in tallies) / TB:>11.1f}"
        f"{sum(t.under_min_isr_minutes for t in tallies):>15.0f}{sum(t.actions for t in tallies):>9}"
    )


def protected_ratio(seed: int, days: int) -> float:
    """Return how much of all disks what no cut may delete takes at most: near 1 nobody can keep them from filling."""
    life, highest = month(seed, days), 0
    seen = life.world.log_dirs.values()
    total = sum(one.total_bytes for one in seen)
    for topic in life.world.topics.values():
        topic.limits["retention.ms"] = topic.floor_ms
    for one in seen:
        one.total_bytes *= 100
    for now_ms in range(HOUR_MS, days * DAY_MS + 1, HOUR_MS):
        life.world.step(now_ms, life.rates(now_ms), life.repair_ms)
        highest = max(highest, sum(one.used_bytes for one in seen))
    return highest / total


def tallies_of(seed: int, task: Task) -> Tallies:
    """Let one cluster live for its days under every way to act."""
    untouched, _ = live(seed, NOTHING, task)
    found = dict.fromkeys(WAYS, untouched.tally)
    if untouched.highest_ratio >= DeleteOldest.FROM:
        found[OLDEST] = live(seed, OLDEST, task)[0].tally
    if untouched.highest_ratio > Rebalance.LIMIT:
        found[REBALANCE] = live(seed, REBALANCE, task)[0].tally
    advised, way = live(seed, ADVISED, task)
    found[ADVISED] = found[AUTOPILOT] = advised.tally
    if isinstance(way, Logdirwatch) and way.had_choice:
        found[AUTOPILOT] = live(seed, AUTOPILOT, task)[0].tally
    return found


def live(seed: int, name: str, task: Task) -> tuple[World, Way]:
    """Let one cluster live for its days under one way to act."""
    life = month(seed, task.days)
    way = way_of(name, life, task)
    failures = iter([*life.failures, None])
    due = next(failures)
    for now_ms in times(life, way, task):
        while due is not None and due[0] <= now_ms:
            life.world.fail(due[1], now_ms + due[2])
            due = next(failures)
        life.world.step(now_ms, life.rates(now_ms), life.repair_ms)
        way.act(now_ms)
    return life.world, way


def way_of(name: str, life: Month, task: Task) -> Way:
    if name in {ADVISED, AUTOPILOT}:
        product = Advised if name == ADVISED else Autopilot
        return product(life.world, life.seed, task.step_ms, is_fixed=task.is_fixed, buys=task.buys)
    return Nothing() if name == NOTHING else (DeleteOldest if name == OLDEST else Rebalance)(life.world)


def times(life: Month, way: Way, task: Task) -> Iterator[int]:
    """Yield the ends of the steps. What begins or ends by itself, and what somebody waits for, ends a step."""
    end_ms, now_ms = task.days * DAY_MS, 0
    events = [*life.events_ms(), end_ms]
    while now_ms < end_ms:
        step_ms = task.step_ms if task.is_fixed else longest_ms(life, now_ms, task.step_ms)
        next_ms = (now_ms // step_ms + 1) * step_ms
        back = [seen.back_ms for seen in life.world.log_dirs.values() if not seen.is_online and seen.back_ms > now_ms]
        wanted = [] if way.next_ms is None else [way.next_ms]
        now_ms = min(at for at in (next_ms, *events, *back, *wanted) if at > now_ms)
        yield now_ms


def longest_ms(life: Month, now_ms: int, step_ms: int) -> int:
    """Return how long a step may be: an hour, or less where a directory could fill within the next hours."""
    world, rates = life.world, life.rates(now_ms)
    if world.copies:
        return step_ms
    inflow = dict.fromkeys(world.log_dirs, 0.0)
    for key, places in world.replicas.items():
        for place in places:
            inflow[place] += rates[key[0]]
    left_s = min(
        (seen.total_bytes - seen.used_bytes) / max(inflow[place], 1.0) for place, seen in world.log_dirs.items()
    )
    return max(step_ms, min(HOUR_MS, int(left_s * 1000 / PART) // step_ms * step_ms))


if __name__ == "__main__":
    main()
