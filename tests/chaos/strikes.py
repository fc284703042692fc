"""What strikes the stream, and when: each named, each drawn from the seed."""

import os
import random
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

import psutil
from deltalake import DeltaTable
from deltalake.exceptions import CommitFailedError, DeltaError
from kafka import TopicPartition

from logdirwatch.kafka.clients import consumer
from logdirwatch.model import topics
from logdirwatch_lab.cluster import LocalCluster
from logdirwatch_lab.volumes import Volumes
from tests.kafka.telemetry import Run
from tests.support import checkpoints
from tests.support.waiting import wait_until

LOOK_S = 0.002
PHASE_DEADLINE_S = 90.0
GOES_ON_S = 600.0
MIB, PAGE_BYTES = 1 << 20, 1 << 12
BALLAST = "ballast"
STATEFUL = ("detect", "fleet")
WRITING = ("store", "store_inventory")
TABLES = ("log_dir_samples", "log_dir_state", "broker_state", "alerts", "transitions", "rejected_records")


class Phase(NamedTuple):
    """A moment in a query's life, and how to see that it has come: a look returns what is there."""

    name: str
    query: str
    look: Callable[[], set[Any]]


class Struck(NamedTuple):
    """One kill of the driver: where, and whether it cut a batch: offsets written, commit not."""

    phase: str
    is_inside: bool


def phases(run: Run) -> list[Phase]:
    """Return the phases of a batch at which the driver can be killed."""
    folder, tables = Path(run.settings.checkpoints.path), Path(run.settings.tables_path)
    found = [Phase("begun", query, _names(folder / query / "offsets")) for query in (*STATEFUL, *WRITING)]
    found += [Phase("state written", query, _files(folder / query / "state")) for query in STATEFUL]
    found += [Phase("ended", query, _names(folder / query / "commits")) for query in (*STATEFUL, "store")]
    found += [Phase(f"table {table} written", "store", _names(tables / table / "_delta_log")) for table in TABLES]
    return [
        *found,
        Phase("published", "detect", lambda: _ends(run)),
        Phase("at any time", "detect", lambda: {time.monotonic()}),
    ]


def kill_driver(run: Run, phase: Phase, drawn: random.Random) -> Struck:
    """Kill driver, JVM and Python workers as soon as the phase comes, or comes a second time."""
    for _ in range(drawn.randint(1, 2)):
        _await(run, phase)
    if phase.name == "at any time":
        # Seeded like all the rest; nothing is waited for here, so nothing can be looked at.
        time.sleep(drawn.random() * 2)
    run.kill()
    return Struck(f"{phase.query}: {phase.name}", bool(run.uncommitted(phase.query)))


def _await(run: Run, phase: Phase) -> None:
    known, end_s = phase.look(), time.monotonic() + PHASE_DEADLINE_S
    while phase.look() <= known:
        run.service.check()
        # A phase that does not come for so long is struck all the same.
        if time.monotonic() > end_s:
            return
        time.sleep(LOOK_S)


def _names(folder: Path) -> Callable[[], set[Any]]:
    def look() -> set[Any]:
        try:
            return {name for name in os.listdir(folder) if not name.startswith(".")}  # noqa: PTH208 - the fastest look
        except FileNotFoundError:
            return set()

    return look


def _files(folder: Path) -> Callable[[], set[Any]]:
    def look() -> set[Any]:
        return {
            (parent, name)
            for parent, _, names in os.walk(folder)
            for name in names
            if name.endswith((".changelog", ".delta", ".zip"))
        }

    return look


def _ends(run: Run) -> set[Any]:
    with consumer(run.settings.telemetry) as client:
        partitions = client.partitions_for_topic(topics.ALERTS) or set()
        return set(client.end_offsets([TopicPartition(topics.ALERTS, number) for number in partitions]).items())


# -- what is no kill of the driver; the stream goes on by itself after each


def kill_worker(run: Run, drawn: random.Random) -> None:
    """Kill one of the Python workers."""
    workers = [
        process
        for process in psutil.Process(run.service.pid).children(recursive=True)
        if "pyspark.worker" in " ".join(_command(process)) or "pyspark.daemon" in " ".join(_command(process))
    ]
    drawn.choice(sorted(workers, key=lambda process: process.pid)).kill()


def _command(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except psutil.Error:
        return []


def stop_driver(run: Run, seconds: float) -> None:
    """Stop the stream's processes for a while, as a long pause of a virtual machine does."""
    os.killpg(run.service.pid, signal.SIGSTOP)
    time.sleep(seconds)
    os.killpg(run.service.pid, signal.SIGCONT)


def kill_broker(cluster: LocalCluster) -> None:
    """Kill the telemetry broker, and start it again."""
    cluster.kill(0)
    cluster.start(0)


def stop_broker(cluster: LocalCluster, seconds: float) -> None:
    """Let the telemetry broker keep its connections and answer nothing: to the stream the network is cut."""
    cluster.pause(0)
    time.sleep(seconds)
    cluster.resume(0)


def compact(run: Run, drawn: random.Random) -> None:
    """Rewrite a table's files while the stream writes into it, which makes one of the two lose its commit."""
    for table in drawn.sample(TABLES, len(TABLES)):
        # The stream's commit may come first.
        with suppress(CommitFailedError, DeltaError):
            DeltaTable(f"{run.settings.tables_path}/{table}").optimize.compact()


@contextmanager
def full(volumes: Volumes, path: Path) -> Iterator[None]:
    """Fill a file system to the last block, and give the space back."""
    ballast = volumes.view(path) / BALLAST
    try:
        with ballast.open("wb", buffering=0) as file:
            # Down to the last page: a checkpoint's files are small.
            for size in (MIB, PAGE_BYTES):
                with suppress(OSError):
                    while file.write(bytes(size)):
                        pass
        yield
    finally:
        ballast.unlink(missing_ok=True)


def fill_disk(run: Run, volumes: Volumes, path: Path) -> None:
    """Keep a disk full until a query has failed by it."""
    said = run.service.log_file.read_text(errors="replace").count("query.failed")
    with full(volumes, path):
        wait_until(
            lambda: run.service.log_file.read_text(errors="replace").count("query.failed") > said,
            GOES_ON_S,
            f"a query to fail on the full disk {path}",
            pause_s=0.2,
        )


class Damage(NamedTuple):
    """One file of a query's checkpoint as a power failure left it."""

    query: str
    kind: str
    way: str
    file: Path

    def __str__(self) -> str:
        return f"{self.query}'s {self.kind} {self.way}"


def damage(run: Run, drawn: random.Random) -> Damage:
    """Kill the driver, and damage one of the files that a query needs to go on."""
    query = drawn.choice((*STATEFUL, *WRITING))
    run.kill()
    files = checkpoints.needed(Path(run.settings.checkpoints.path) / query)
    kind, way = drawn.choice(sorted(files)), drawn.choice(sorted(checkpoints.DAMAGES))
    checkpoints.DAMAGES[way](files[kind])
    return Damage(query, kind, way, files[kind])
