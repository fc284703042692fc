"""The planner on whole clusters: bytes beside the fewest possible, moves, fills, seconds and memory, judged apart.

    python bench/bench_planner.py [MODEL.csv ...] [--seeds 1 2 3] [--large-seeds 1 2]

Without files it makes models s, m and l of its own (planner_models.py), with equal disks and with a share of larger
ones. Every plan is made by the command itself, in a process of its own, and judged by planner_judge.py from its files.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import planner_judge
from planner_models import Shape, write

MODES = {"balance-disks": "disks", "balance-brokers": "brokers", "balance-all": "all"}
EVACUATED_BROKERS = 10
MOST_BROKERS = 100
TB = 1e12


class Ended(NamedTuple):
    exit_code: int
    summary: dict[str, Any]
    error: str
    peak_mib: float


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("models", nargs="*", type=Path)
    arguments.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    arguments.add_argument("--large-seeds", type=int, nargs="+", default=[1, 2])
    chosen = arguments.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        models = [(path.stem, path) for path in chosen.models] or list(
            made(Path(folder), chosen.seeds, chosen.large_seeds)
        )
        print(
            f"{os.cpu_count()} cores; tolerance 0.09; TB are 10^12 bytes; x bound, x in racks: bytes by the bounds; "
            "x busiest: time by that of the busiest broker alone\n"
        )
        balance(models, Path(folder))
        evacuate(models, Path(folder))


def made(folder: Path, seeds: Sequence[int], large_seeds: Sequence[int]) -> Iterator[tuple[str, Path]]:
    shapes = [Shape("s", 3, 2, 600)]
    for hetero in (0.0, 0.3):
        shapes += [Shape("m", 50, 8, 20_000, seed, hetero) for seed in seeds]
    for hetero in (0.0, 0.3):
        shapes += [Shape("l", 200, 12, 200_000, seed, hetero) for seed in large_seeds]
    for number, shape in enumerate(shapes):
        path = folder / f"{number}.csv"
        write(shape, path)
        yield shape.title, path


def balance(models: Sequence[tuple[str, Path]], folder: Path) -> None:
    columns = ("model", "mode", "moves", "TB", "x bound", "x in racks", "outside", "leaders", "hours", "x busiest")
    columns += ("fullest", "after", "spread", "broker", "broken", "plan s", "load s", "MiB")
    print("| " + " | ".join(columns) + " |\n|" + "---|" * len(columns))
    for title, path in models:
        before = planner_judge.read(path)
        for mode, name in MODES.items():
            print("| " + " | ".join((title, *row(path, mode, name, before, folder))) + " |", flush=True)


def row(path: Path, mode: str, name: str, before: planner_judge.Cluster, folder: Path) -> list[str]:
    ended = run(path, mode, folder)
    if ended.exit_code:
        raise SystemExit(f"{path} {mode}: {ended.error}")
    verdict, is_same = judged(before, folder)
    bound = getattr(verdict, f"bound_{name}")
    in_racks = getattr(verdict, f"bound_{name}_in_racks", bound)
    broken = verdict.twice_on_a_broker + verdict.racks_lost + verdict.replicas_changed + verdict.over_limit
    moved = ended.summary["moved"]
    return [
        mode,
        f"{verdict.moves:,}",
        f"{verdict.moved_bytes / TB:.2f}",
        _times(verdict.moved_bytes, bound),
        _times(verdict.moved_bytes, in_racks),
        str(getattr(verdict, f"outside_{name}")),
        str(verdict.leaders_moved),
        f"{moved['needs_ms'] / 3_600_000:.1f}",
        _times(moved["needs_ms"], round(verdict.busiest_ms)),
        f"{verdict.fullest_before:.3f}",
        f"{verdict.fullest_after:.3f}",
        f"{verdict.spread_after:.3f}",
        f"{verdict.fullest_broker_after:.3f}",
        str(broken + (not is_same)),
        f"{ended.summary['plan_ms'] / 1000:.2f}",
        f"{ended.summary['load_ms'] / 1000:.2f}",
        f"{ended.peak_mib:.0f}",
    ]


def evacuate(models: Sequence[tuple[str, Path]], folder: Path) -> None:
    """Empty the first directory of the first brokers of every model but the largest, and print the worst of them."""
    columns = ("model", "evacuated", "refused", "bytes beyond", "others moved", "fullest above the best", "broken", "s")
    print("\n| " + " | ".join(columns) + " |\n|" + "---|" * len(columns))
    for title, path in models:
        before = planner_judge.read(path)
        if len(before.rack) > MOST_BROKERS:
            continue
        ends = [_evacuated(path, before, broker, folder) for broker in sorted(before.rack)[:EVACUATED_BROKERS]]
        done = [end for end in ends if end is not None]
        worst = [max((end[n] for end in done), default=0) for n in range(5)]
        cells = (f"{len(done)}", f"{len(ends) - len(done)}", f"{worst[0]:.0f}", f"{worst[1]:.0f}", f"{worst[2]:.4f}")
        print("| " + " | ".join((title, *cells, f"{worst[3]:.0f}", f"{worst[4]:.2f}")) + " |", flush=True)


def _evacuated(path: Path, before: planner_judge.Cluster, broker: int, folder: Path) -> tuple[float, ...] | None:
    source = min(place for place in before.capacity if place[0] == broker)
    ended = run(path, f"evacuate:{broker}:{source[1]}", folder)
    if ended.exit_code:
        print(f"<!-- {ended.error.strip()} -->")
        return None
    verdict, is_same = judged(before, folder)
    after = planner_judge.read(folder / "after.csv").used()
    used, capacity = before.used(), before.capacity
    others = [place for place in capacity if place[0] == broker and place != source]
    fullest = max(after[place] / capacity[place] for place in others)
    touched = sum(after[place] != used[place] for place in capacity if place[0] != broker)
    broken = verdict.twice_on_a_broker + verdict.racks_lost + verdict.replicas_changed + verdict.over_limit
    return (
        abs(verdict.moved_bytes - used[source]) + after[source],
        touched,
        fullest - best_possible(before, source, others),
        broken + (not is_same),
        ended.summary["plan_ms"] / 1000,
    )


def best_possible(
    before: planner_judge.Cluster, source: planner_judge.Directory, others: Sequence[planner_judge.Directory]
) -> float:
    used, capacity = before.used(), before.capacity
    leaving = [r.size for rs in before.replicas.values() for r in rs if (r.broker, r.path) == source]
    fullest = max(used[place] / capacity[place] for place in others)
    mean = (sum(used[place] for place in others) + sum(leaving)) / sum(capacity[place] for place in others)
    emptiest = min((used[place] + max(leaving)) / capacity[place] for place in others)
    return max(fullest, mean, emptiest)


def judged(before: planner_judge.Cluster, folder: Path) -> tuple[planner_judge.Verdict, bool]:
    """Return the verdict, and whether the reassignment applied to what was before gives what was written."""
    after = planner_judge.read(folder / "after.csv")
    steps, plan = (json.loads((folder / name).read_text()) for name in ("steps.json", "plan.json"))
    verdict = planner_judge.judge(before, after, 0.09, steps)
    return verdict, planner_judge.applied(before, plan) == after.replicas


def run(path: Path, mode: str, folder: Path) -> Ended:
    """Run the command, and return what it printed and the most memory it had."""
    files = ["--out", folder / "after.csv", "--reassignment", folder / "plan.json", "--steps", folder / "steps.json"]
    command = [sys.executable, "-m", "logdirwatch", "plan", "--model", path, "--mode", mode, *files, "--json"]
    with (folder / "out").open("w+") as out, (folder / "error").open("w+") as error:
        process = subprocess.Popen(command, stdout=out, stderr=error)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        error.seek(0)
        summary = json.loads(out.read()) if process.returncode == 0 else {}
        return Ended(process.returncode, summary, error.read(), usage.ru_maxrss / 1024)


def _times(moved: int, bound: int) -> str:
    return f"{moved / bound:.3f}" if bound else "-"


if __name__ == "__main__":
    main()
