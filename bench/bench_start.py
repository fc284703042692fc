"""What a start of the stream costs: processor seconds until alerts come, all queries run, and each has ended a batch.

    python bench/bench_start.py [--starts 3] [--busy 15] [--conf KEY=VALUE ...] [--java=" OPTION ..."]

Starts a cluster of four brokers with three directories each and the collector, then the whole stream several times with
the defaults of the configuration: first without tables and checkpoints, then with those of the start before. Prints for
each start the processor seconds of the driver (Python), the JVM and the Python workers, those of the JVM's compilers
and its garbage collection, how many processes the workers were and their memory (PSS), how many tables were created,
and how many queries failed and were started again. ``--busy`` processes that only use the processor run beside each
start, which then ends when all queries run. ``--conf`` and ``--java`` are configuration of Spark and options of Java to
compare with, such as ``spark.python.daemon.module=pyspark.daemon``.
"""

import argparse
import contextlib
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import psutil

from logdirwatch.jobs.application import QUERIES
from logdirwatch.jobs.queries import detect, fast_lane, fleet
from logdirwatch_lab.demo.services import Service
from running import Bench, bench

BROKERS, LOG_DIRS = 4, 3
LOOK_S = 0.1
MIB = 1 << 20
ALERTING = (detect.NAME, fleet.NAME)
# A batch of the real-time query takes minutes.
IN_BATCHES = tuple(name for name in QUERIES if name != fast_lane.NAME)
DRIVER, JVM, WORKERS = "driver", "JVM", "workers"
COMPILERS, COLLECTOR = "compilers", "garbage collection"
PARTS = (DRIVER, JVM, WORKERS)
# The beginning of the names of Java's own threads.
THREADS = {"C1 Compiler": COMPILERS, "C2 Compiler": COMPILERS, "VM Thread": COLLECTOR}


class Moment(NamedTuple):
    """What was used up to a moment of the start."""

    what: str
    elapsed_s: float
    cpu_s: dict[str, float]


class Start(NamedTuple):
    moments: list[Moment]
    workers: int
    workers_pss_bytes: int
    tables: int
    failed: int


class Meter:
    """The processor time of a process tree, also of what has ended meanwhile."""

    def __init__(self, root: int) -> None:
        self._root, self._begun_s = root, time.monotonic()
        self._used: dict[int, tuple[str, float]] = {}

    @property
    def workers(self) -> list[int]:
        return [pid for pid, (part, _) in self._used.items() if part == WORKERS]

    def look(self) -> None:
        root = psutil.Process(self._root)
        for process in [root, *root.children(recursive=True)]:
            # A process or a thread may end between two looks at it; reading of a thread that ended is an OSError.
            with contextlib.suppress(psutil.NoSuchProcess, OSError):
                part = DRIVER if process.pid == root.pid else JVM if process.name() == "java" else WORKERS
                self._used[process.pid] = part, sum(process.cpu_times()[:2])
                if part == JVM:
                    self._used.update(java_threads(process))

    def moment(self, what: str) -> Moment:
        cpu_s: Counter[str] = Counter()
        for part, used_s in self._used.values():
            cpu_s[part] += used_s
        return Moment(what, time.monotonic() - self._begun_s, cpu_s)


def java_threads(process: psutil.Process) -> Iterator[tuple[int, tuple[str, float]]]:
    """Yield the threads of a JVM that compile and collect; their ids are no process's."""
    for thread in process.threads():
        name = Path(f"/proc/{process.pid}/task/{thread.id}/comm").read_text()
        for begin, part in THREADS.items():
            if name.startswith(begin):
                yield thread.id, (part, thread.user_time + thread.system_time)


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--starts", type=int, default=3)
    arguments.add_argument("--busy", type=int, default=0)
    arguments.add_argument("--conf", nargs="*", default=[], metavar="KEY=VALUE")
    arguments.add_argument("--java", default="", metavar="OPTIONS")
    chosen = arguments.parse_args()
    extra = dict(pair.split("=", 1) for pair in chosen.conf)
    with bench(BROKERS, LOG_DIRS, extra=extra) as running:
        running.add_java_options(chosen.java)
        log = running.config.parent / "collect.log"
        collector = Service("collect", ["--config", str(running.config), "collect"], log).start()
        try:
            report([one_start(running, chosen.busy) for _ in range(chosen.starts)], chosen.busy)
        finally:
            collector.stop()


def one_start(running: Bench, busy: int) -> Start:
    """Start the stream, wait until every query has ended a batch or, on a busy machine, until all run, and stop it."""
    tables, before = first_logs(running), last_batches(running)
    with busy_processes(busy), running.stream() as stream:
        meter, said_before = Meter(stream.pid), stream.log_file.stat().st_size
        reached = {
            "alerts can come": lambda: have_ended_one(ALERTING, before, last_batches(running)),
            "all run": lambda: "stream.running" in said(stream, said_before),
            "each ended a batch": lambda: have_ended_one(IN_BATCHES, before, last_batches(running)),
        }
        if busy:
            del reached["each ended a batch"]
        moments: dict[str, Moment] = {}
        while len(moments) < len(reached):
            stream.check()
            meter.look()
            moments |= {what: meter.moment(what) for what in reached if what not in moments and reached[what]()}
            time.sleep(LOOK_S)
        failed = said(stream, said_before).count("query.failed")
        pss, new_tables = pss_bytes(meter.workers), len(first_logs(running) - tables)
        return Start(list(moments.values()), len(meter.workers), pss, new_tables, failed)


def said(stream: Service, before: int) -> str:
    return stream.log_file.read_bytes()[before:].decode(errors="replace")


@contextlib.contextmanager
def busy_processes(number: int) -> Iterator[None]:
    processes = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(number)]
    try:
        for process in processes:
            os.setpriority(os.PRIO_PROCESS, process.pid, 0)
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()


def pss_bytes(pids: list[int]) -> int:
    """Return the memory of the processes that still run; a page that several share counts once."""
    total = 0
    for pid in pids:
        with contextlib.suppress(psutil.NoSuchProcess):
            total += psutil.Process(pid).memory_full_info().pss
    return total


def have_ended_one(names: Iterable[str], before: dict[str, int], now: dict[str, int]) -> bool:
    return all(now[name] > before[name] for name in names)


def last_batches(running: Bench) -> dict[str, int]:
    """Return each query's last batch that ended, -1 for none."""
    return {name: last_batch(running, name) for name in IN_BATCHES}


def last_batch(running: Bench, name: str) -> int:
    batches = Path(running.settings.checkpoints.path, name, "commits").glob("[0-9]*")
    return max((int(batch.name) for batch in batches), default=-1)


def first_logs(running: Bench) -> set[Path]:
    return set(Path(running.settings.tables_path).glob("*/_delta_log/00000000000000000000.json"))


def report(starts: list[Start], busy: int) -> None:
    beside = f", {busy} busy processes" if busy else ""
    print(
        f"\n{psutil.cpu_count()} cores, {BROKERS} brokers with {LOG_DIRS} directories each{beside}; processor seconds"
    )
    columns = (*PARTS, COMPILERS, COLLECTOR)
    print(f"{'':<34}{'s':>7}{'cpu s':>8}" + "".join(f"{name:>{len(name) + 3}}" for name in columns))
    for number, start in enumerate(starts, 1):
        for at in start.moments:
            parts = "".join(f"{at.cpu_s[name]:>{len(name) + 3}.1f}" for name in columns)
            total = sum(at.cpu_s[part] for part in PARTS)
            print(f"{f'start {number}, {at.what}':<34}{at.elapsed_s:>7.1f}{total:>8.1f}{parts}")
        print(
            f"         {start.failed} queries failed; {start.tables} tables created; {start.workers} processes of "
            f"Python workers, {start.workers_pss_bytes / MIB:.0f} MiB\n"
        )
    print(f"{COMPILERS} and {COLLECTOR} are parts of the {JVM}")


if __name__ == "__main__":
    main()
