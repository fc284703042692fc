"""What advice is worth: a month of modelled clusters, several ways to act on them, and what is lost in each.

    python bench/bench_closed_loop.py [--clusters 8] [--days 30] [--step-minutes 10] [--seed 1] [--processes 2]
        [--disks cloud|ordered|fixed] [--out FILE]

The clusters are models (loop_models.py) that behave as real brokers were measured to (loop_world.py). The state
machine, the planner, the autopilot's rules and the steps of an execution are the product's own (loop_watch.py,
loop_product.py, loop_execution.py); what people do without it are habits (loop_policies.py). The same seeds meet every
way to act, and every way has the same right to buy disk space (loop_orders.py), except "nothing": ``cloud`` grows a
volume at once, ``ordered`` two to five days after the order, ``fixed`` never.

Two tables are printed in Markdown: what happened in all clusters, and what was done in those in which doing nothing
would have lost no directory. Intervals hold 95 % of 2,000 draws of as many clusters (bootstrap).

Time passes in steps of an hour where no directory could fill meanwhile, else of ``--step-minutes``. The machine sees
every step near a change, and every four hours where nothing changes. The autopilot is not run again where the advice
never held an action that could be carried out.

With ``--out`` every cluster is written to a file as it ends; seeds that are there already are not run again.
"""

import argparse
import json
import os
import random
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import NamedTuple

from logdirwatch.config.section import DAY_MS, HOUR_MS
from loop_models import Month, month
from loop_orders import Disks, Orders
from loop_policies import Balance, Buy, DeleteOldest, Pager, Together, Way
from loop_product import Advised, Autopilot, Logdirwatch
from loop_world import Tally, World

TB = 1e12
NOTHING, BUY, BALANCE, OLDEST = "nothing", "+10 % at 80 %", "balance", "delete oldest"
ADVISED, AUTOPILOT = "logdirwatch, a person acts", "logdirwatch autopilot"
HABITS: Mapping[str, Callable[[World], Way]] = {BALANCE: Balance, OLDEST: DeleteOldest}
WAYS = {
    Disks.FIXED: (NOTHING, BALANCE, OLDEST, f"{BALANCE}, {OLDEST}", ADVISED, AUTOPILOT),
    Disks.ORDERED: (NOTHING, BUY, f"{BALANCE}, {BUY}", f"{BALANCE}, {OLDEST}, {BUY}", ADVISED, AUTOPILOT),
}
WAYS[Disks.CLOUD] = WAYS[Disks.ORDERED]
PART = 4
"""In a step no directory takes in more than this part of its free bytes."""
DRAWS = 2_000
COLUMNS: Mapping[str, Callable[[Tally], float]] = {
    "directories lost": lambda one: one.full,
    "partition minutes unavailable": lambda one: one.unavailable_minutes,
    "under min ISR": lambda one: one.under_min_isr_minutes,
    "deleted early TB": lambda one: one.early_bytes / TB,
    "below floors TB": lambda one: one.below_floor_bytes / TB,
    "unread TB": lambda one: one.unread_bytes / TB,
    "bought TB": lambda one: one.added_bytes / TB,
    "moved TB": lambda one: one.moved_bytes / TB,
    "pages at night": lambda one: one.night_pages,
    "actions": lambda one: one.actions,
}
REGRETTED = ("deleted early TB", "below floors TB", "bought TB", "moved TB", "pages at night", "actions")

Tallies = Mapping[str, Tally]


class Task(NamedTuple):
    days: int
    step_ms: int
    disks: Disks = Disks.CLOUD


def main() -> None:
    chosen = arguments()
    seeds = range(chosen.seed, chosen.seed + chosen.clusters)
    task = Task(chosen.days, chosen.step_minutes * 60_000, chosen.disks)
    print(f"{chosen.days} days, disks {task.disks.value}, seeds {seeds[0]} to {seeds[-1]}, commit {commit()}")
    show(lived(seeds, task, chosen.processes, chosen.out), task)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clusters", type=int, default=8)
    parser.add_argument("--days", type=int, default=30)
    parser.add_argument("--step-minutes", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    parser.add_argument("--disks", type=Disks, choices=list(Disks), default=Disks.CLOUD)
    parser.add_argument("--out", type=Path)
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


def show(found: Mapping[int, Tallies], task: Task) -> None:
    clusters = list(found.values())
    print(f"\n{len(clusters)} clusters\n")
    table(clusters, task, tuple(COLUMNS))
    needless = [tallies for tallies in clusters if not tallies[NOTHING].full]
    print(f"\n{len(needless)} clusters in which doing nothing loses no directory\n")
    table(needless, task, REGRETTED)
    for seed, tallies in found.items():
        if tallies[AUTOPILOT].full:
            print(
                f"seed {seed}: what no cut may delete takes {protected_ratio(seed, task.days):.0%} of all disks at its "
                "peak"
            )


def table(clusters: list[Tallies], task: Task, columns: Iterable[str]) -> None:
    print("| way | " + " | ".join(columns) + " |")
    print("|---|" + "---|" * len(list(columns)))
    for way in WAYS[task.disks]:
        tallies = [one[way] for one in clusters]
        print(f"| {way} | " + " | ".join(cell([COLUMNS[name](one) for one in tallies]) for name in columns) + " |")


def cell(values: list[float]) -> str:
    """Return the sum of a column with its interval."""
    total = sum(values)
    if not total:
        return "0"
    draw = random.Random(len(values))
    sums = sorted(sum(draw.choices(values, k=len(values))) for _ in range(DRAWS))
    low, high = sums[DRAWS // 40], sums[-DRAWS // 40]
    digits = 0 if total >= 100 else 1 if total >= 1 else 3
    return f"{total:,.{digits}f} ({low:,.{digits}f} to {high:,.{digits}f})"


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
    found: dict[str, Tally] = {}
    for name in WAYS[task.disks][:-1]:
        world, way = live(seed, name, task)
        found[name] = world.tally
    found[AUTOPILOT] = found[ADVISED]
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
    world = life.world
    if name in {ADVISED, AUTOPILOT}:
        return (Advised if name == ADVISED else Autopilot)(world, life.seed, task.step_ms, disks=task.disks)
    habits: list[Way] = [HABITS[part](world) for part in name.split(", ") if part in HABITS]
    if BUY in name:
        habits.append(Buy(world, Orders(world, life.seed, task.disks), life.seed))
    return Together([*habits, Pager(world)])


def times(life: Month, way: Way, task: Task) -> Iterator[int]:
    """Yield the ends of the steps. What begins or ends by itself, and what somebody waits for, ends a step."""
    end_ms, now_ms = task.days * DAY_MS, 0
    events = [*life.events_ms(), end_ms]
    while now_ms < end_ms:
        step_ms = longest_ms(life, now_ms, task.step_ms)
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
            inflow[place] += rates[key[0]] * world.shares[key]
    left_s = min(
        (seen.total_bytes - seen.used_bytes) / max(inflow[place], 1.0) for place, seen in world.log_dirs.items()
    )
    return max(step_ms, min(HOUR_MS, int(left_s * 1000 / PART) // step_ms * step_ms))


if __name__ == "__main__":
    main()
