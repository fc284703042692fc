"""What an hour costs in which nothing happens: processor, memory, Spark jobs, files, and what grows on disk.

    python bench/bench_idle.py [--minutes 60] [--warm-up-minutes 5] [--query NAME ...] [--micro-batches]

Starts a cluster of four brokers with three directories each, the collector and the whole stream, with the defaults of
the configuration, and touches nothing. Prints what share of a core each process took, the memory of each kind of
process (PSS: a shared page is divided by those who share it), what the stream's Java keeps after a collection, batches
and Spark jobs of each query, files written a minute, by folder of each checkpoint too, and files and bytes of every
checkpoint and of the tables at the beginning and at the end. ``--query`` runs only some queries, ``--micro-batches``
runs ``fast_lane`` without real-time mode, ``--java-options`` adds options to those of the stream's Java.
"""

import argparse
import contextlib
import os
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import psutil

import spark_events
from logdirwatch_lab.demo.services import Service
from running import Bench, bench, heap

BROKERS, LOG_DIRS = 4, 3
MIB = 1 << 20
PRODUCTION: dict[str, Any] = {"collect": {}, "plan": {}}
"""A local cluster is polled more often than a real one, and plans allow for its hurried tables."""

Written = set[tuple[Path, int]]
"""Files with the time of their last change in nanoseconds."""


class Disk(NamedTuple):
    files: int
    size_bytes: int


class Look(NamedTuple):
    """What is known at one moment: time, processor seconds of each service, and folders by name."""

    at_ms: int
    cpu_s: list[float]
    disks: dict[str, Disk]


@dataclass
class Idle:
    """The services, and the files they write while nothing happens."""

    running: Bench
    services: tuple[Service, ...]

    def wait(self, minutes: float) -> Written:
        """Let time pass as long as everything runs, and return the files that were written."""
        written: Written = set()
        began_ns, ends_s = time.time_ns(), time.monotonic() + minutes * 60
        while time.monotonic() < ends_s:
            for service in self.services:
                service.check()
            # Old batches are deleted after a while, so files are counted while they exist.
            for folder in folders(self.running).values():
                written.update((path, changed.st_mtime_ns) for path, changed in files(folder))
            time.sleep(1)
        return {(path, at_ns) for path, at_ns in written if at_ns >= began_ns}

    def look(self) -> Look:
        disks = {name: disk(folder) for name, folder in folders(self.running).items()}
        return Look(time.time_ns() // 1_000_000, [cpu_seconds(service) for service in self.services], disks)


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--minutes", type=float, default=60.0)
    arguments.add_argument("--warm-up-minutes", type=float, default=5.0)
    arguments.add_argument("--query", action="append", default=[])
    arguments.add_argument("--micro-batches", action="store_true")
    arguments.add_argument("--java-options", default="", metavar="=OPTIONS")
    chosen = arguments.parse_args()
    mode = {"fast_lane_mode": "micro_batch"} if chosen.micro_batches else {}
    with contextlib.ExitStack() as stack:
        events = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        extra = {**spark_events.ON, "spark.eventLog.dir": events.as_uri()}
        running = stack.enter_context(bench(BROKERS, LOG_DIRS, PRODUCTION, extra=extra, **mode))
        if chosen.java_options:
            running.add_java_options(chosen.java_options.removeprefix("="))
        stream = stack.enter_context(running.stream(*chosen.query))
        log = running.config.parent / "collect.log"
        collector = Service("collect", ["--config", str(running.config), "collect"], log).start()
        stack.callback(collector.stop)
        idle = Idle(running, (collector, stream))
        idle.wait(chosen.warm_up_minutes)
        before, written, after = idle.look(), idle.wait(chosen.minutes), idle.look()
        found = {service.name: memory(service) for service in idle.services}
        report(before, after)
        report_memory(found)
        print(f"stream, heap after a collection: {heap(stream)}")
        report_work(events, before, after)
        report_disks(before, after, written, folders(running))


def tree(service: Service) -> list[psutil.Process]:
    """Return the processes of a service that run now."""
    root = psutil.Process(service.pid)
    return [root, *root.children(recursive=True)]


def cpu_seconds(service: Service) -> float:
    """Return the processor time of a service with everything it started, also what has ended."""
    total = 0.0
    for process in tree(service):
        with contextlib.suppress(psutil.NoSuchProcess):
            total += sum(process.cpu_times()[:4])
    return total


def memory(service: Service) -> dict[str, list[int]]:
    """Return the PSS of each of a service's processes in bytes, by kind: itself, Java, Python workers."""
    found: defaultdict[str, list[int]] = defaultdict(list)
    for process in tree(service):
        with contextlib.suppress(psutil.NoSuchProcess):
            kind = "itself" if process.pid == service.pid else _kind(process)
            found[kind].append(process.memory_full_info().pss)
    return found


def _kind(process: psutil.Process) -> str:
    return "Java" if process.name() == "java" else "Python workers and their daemon"


def folders(running: Bench) -> dict[str, Path]:
    """Return the folder of every checkpoint and that of the tables."""
    checkpoints = sorted(path for path in Path(running.settings.checkpoints.path).glob("*") if path.is_dir())
    return {**{f"checkpoint {path.name}": path for path in checkpoints}, "tables": Path(running.settings.tables_path)}


def files(folder: Path) -> Iterator[tuple[Path, os.stat_result]]:
    """Yield the files below a folder; they come and go meanwhile."""
    for parent, _, names in os.walk(folder):
        for name in names:
            path = Path(parent, name)
            with contextlib.suppress(FileNotFoundError):
                yield path, path.stat()


def disk(folder: Path) -> Disk:
    sizes = [found.st_size for _, found in files(folder)]
    return Disk(len(sizes), sum(sizes))


def report(before: Look, after: Look) -> None:
    seconds = (after.at_ms - before.at_ms) / 1000
    print(f"\n{seconds / 60:.1f} minutes, {os.cpu_count()} cores, {BROKERS} brokers with {LOG_DIRS} directories each")
    for name, then, now in zip(("collector", "stream"), before.cpu_s, after.cpu_s, strict=True):
        print(f"{name}: {now - then:.1f} processor s, {100 * (now - then) / seconds:.1f} % of a core")


def report_memory(found: dict[str, dict[str, list[int]]]) -> None:
    rows = [(f"{name}, {kind}", sizes) for name, kinds in found.items() for kind, sizes in kinds.items()]
    total_bytes = sum(sum(sizes) for _, sizes in rows)
    print(f"\n{'PSS':<42}{'processes':>10}{'MiB':>8}\n{'all':<42}{'':>10}{total_bytes / MIB:>8.0f}")
    for name, sizes in rows:
        print(f"{name:<42}{len(sizes):>10}{sum(sizes) / MIB:>8.0f}")


def report_work(events: Path, before: Look, after: Look) -> None:
    minutes = (after.at_ms - before.at_ms) / 60_000
    print(f"\n{'':<26}{'batches/min':>12}{'with input':>12}{'jobs':>8}{'jobs/batch':>12}{'jobs/min':>10}{'s/batch':>9}")
    for name, work in sorted(spark_events.work(events, before.at_ms, after.at_ms).items()):
        batches = work.batches or 1
        print(
            f"{name:<26}{work.batches / minutes:>12.1f}{work.with_input / minutes:>12.1f}{work.jobs:>8}"
            f"{work.jobs / batches:>12.1f}{work.jobs / minutes:>10.1f}{work.batch_ms / 1000 / batches:>9.2f}"
        )


def report_disks(before: Look, after: Look, written: Written, places: dict[str, Path]) -> None:
    minutes = (after.at_ms - before.at_ms) / 60_000
    print(f"\n{'':<26}{'written/min':>12}{'files':>8}{'then':>8}{'MiB':>10}{'then':>10}")
    for name, then in after.disks.items():
        was = before.disks.get(name, Disk(0, 0))
        sizes = f"{was.size_bytes / MIB:>10.1f}{then.size_bytes / MIB:>10.1f}"
        own = [path for path, _ in written if path.is_relative_to(places[name])]
        print(f"{name:<26}{len(own) / minutes:>12.1f}{was.files:>8}{then.files:>8}{sizes}")
        if name != "tables":
            for kind, number in sorted(Counter(_folder(path, places[name]) for path in own).items()):
                print(f"  {kind:<24}{number / minutes:>12.1f}")
    print(f"{'all':<26}{len(written) / minutes:>12.1f}")


def _folder(path: Path, checkpoint: Path) -> str:
    """Return where in a checkpoint a file is, and how its name ends."""
    inside = path.relative_to(checkpoint)
    place = "/".join(part for part in inside.parts[:-1] if not part.isdigit())
    return f"{place or '.'} {path.suffix or 'plain'}"


if __name__ == "__main__":
    main()
