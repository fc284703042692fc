"""What an hour costs in which nothing happens: processor, memory, and what grows on disk.

    python bench/bench_idle.py [--minutes 60] [--warm-up-minutes 5]

Starts a cluster of four brokers with three directories each, the collector and the whole stream, with the defaults of
the configuration, and touches nothing. Prints what share of a core each process took, what the stream's Java keeps
after a collection, and files and bytes of every checkpoint and of the tables at the beginning and at the end.
"""

import argparse
import contextlib
import os
import time
from pathlib import Path
from typing import NamedTuple

import psutil

from logdirwatch.demo.services import Service
from running import Bench, bench, heap

BROKERS, LOG_DIRS = 4, 3
MIB = 1 << 20


class Disk(NamedTuple):
    files: int
    size_bytes: int


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--minutes", type=float, default=60.0)
    arguments.add_argument("--warm-up-minutes", type=float, default=5.0)
    chosen = arguments.parse_args()
    with bench(BROKERS, LOG_DIRS) as running, running.stream() as stream:
        log = running.config.parent / "collect.log"
        collector = Service("collect", ["--config", str(running.config), "collect"], log).start()
        try:
            idle((collector, stream), chosen.warm_up_minutes)
            disks, cpu_s = on_disk(running), [cpu_seconds(service) for service in (collector, stream)]
            idle((collector, stream), chosen.minutes)
            spent_s = [cpu_seconds(s) - before for s, before in zip((collector, stream), cpu_s, strict=True)]
            report(chosen.minutes, spent_s, disks, on_disk(running), heap(stream))
        finally:
            collector.stop()


def idle(services: tuple[Service, ...], minutes: float) -> None:
    """Let time pass as long as everything runs."""
    ends_s = time.monotonic() + minutes * 60
    while time.monotonic() < ends_s:
        for service in services:
            service.check()
        time.sleep(1)


def cpu_seconds(service: Service) -> float:
    """Return the processor time of a service with everything it started, also what has ended."""
    total = 0.0
    root = psutil.Process(service.pid)
    for process in [root, *root.children(recursive=True)]:
        with contextlib.suppress(psutil.NoSuchProcess):
            total += sum(process.cpu_times()[:4])
    return total


def on_disk(running: Bench) -> dict[str, Disk]:
    """Return files and bytes of every checkpoint and of the tables."""
    checkpoints = sorted(path for path in Path(running.settings.checkpoints.path).iterdir() if path.is_dir())
    places = {f"checkpoint {path.name}": path for path in checkpoints}
    return {name: disk(path) for name, path in {**places, "tables": Path(running.settings.tables_path)}.items()}


def disk(folder: Path) -> Disk:
    sizes = []
    for path in folder.rglob("*"):
        # Files come and go meanwhile.
        with contextlib.suppress(FileNotFoundError):
            if path.is_file():
                sizes.append(path.stat().st_size)
    return Disk(len(sizes), sum(sizes))


def report(
    minutes: float, cpu_s: list[float], before: dict[str, Disk], after: dict[str, Disk], heap_after: str
) -> None:
    print(f"\n{minutes:g} minutes, {os.cpu_count()} cores, {BROKERS} brokers with {LOG_DIRS} directories each")
    for name, seconds in zip(("collector", "stream"), cpu_s, strict=True):
        print(f"{name}: {100 * seconds / (minutes * 60):.1f} % of a core")
    print(f"stream, heap after a collection: {heap_after}\n")
    print(f"{'':<26}{'files':>8}{'then':>8}{'MiB':>10}{'then':>10}")
    for name, then in after.items():
        was = before.get(name, Disk(0, 0))
        sizes = f"{was.size_bytes / MIB:>10.1f}{then.size_bytes / MIB:>10.1f}"
        print(f"{name:<26}{was.files:>8}{then.files:>8}{sizes}")


if __name__ == "__main__":
    main()
