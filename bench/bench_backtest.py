"""``logdirwatch backtest --prometheus`` over the history of a real Prometheus.

    python bench/bench_backtest.py [--days 90] [--directories 100] [--hosts 25]

Writes generated histories, those of ``bench_forecast.py`` one after another, as node_exporter would have, as blocks for
a Prometheus that must be installed, and starts it. Prints the comparison, the seconds that the command took and the
processor seconds of it and of Prometheus.
"""

import argparse
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import psutil

from bench_forecast import DAY_MS, KINDS, STEP_MS, TOTAL_BYTES, made
from tests.support.prometheus import Sample, open_metrics, serving

FULL_STEPS = 36
"""A full directory is given room after six hours."""


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--days", type=int, default=90)
    arguments.add_argument("--directories", type=int, default=100)
    arguments.add_argument("--hosts", type=int, default=25)
    chosen = arguments.parse_args()
    end_s = int(time.time()) // 3_600 * 3_600
    used = {number: used_bytes(number, chosen.days) for number in range(chosen.directories)}

    def samples(free: bool) -> Iterator[Sample]:
        for number, course in used.items():
            labels = {"instance": f"kafka-{number % chosen.hosts}:9100", "mountpoint": f"/kafka/{number}"}
            for step, bytes_in_use in enumerate(course):
                at_s = end_s - (len(course) - step) * STEP_MS / 1000
                yield labels, TOTAL_BYTES - bytes_in_use if free else TOTAL_BYTES, at_s

    series = {"node_filesystem_size_bytes": samples(False), "node_filesystem_avail_bytes": samples(True)}
    with tempfile.TemporaryDirectory() as home, serving(Path(home), open_metrics(series)) as server:
        line = [sys.executable, "-m", "logdirwatch", "backtest", "--prometheus", server.url]
        begun_s, before = time.monotonic(), psutil.Process().cpu_times()
        said = subprocess.run(
            [*line, "--from", f"{chosen.days}d"], cwd=home, check=True, capture_output=True, text=True
        ).stdout
        took_s, after = time.monotonic() - begun_s, psutil.Process().cpu_times()
    print(said[said.rindex("\nrule") :])
    processor_s = sum(after[2:4]) - sum(before[2:4])
    print(f"{chosen.days} days of {chosen.directories} directories: {took_s:.0f} s, processor {processor_s:.0f} s")


def used_bytes(seed: int, days: int) -> list[int]:
    """Return a directory's use at every step: one history after another, each until it is full or a month is over."""
    rng, found = random.Random(seed), list[int]()
    steps = days * DAY_MS // STEP_MS
    while len(found) < steps:
        history = made(KINDS[rng.randrange(len(KINDS))], rng)
        found += [sample.used_bytes for sample in history.samples]
        found += [TOTAL_BYTES * 99 // 100] * (FULL_STEPS if history.full_at_ms else 0)
    return found[:steps]


if __name__ == "__main__":
    main()
