"""A month of batches with the upkeep of every night: how many files tables have, hold and leave."""

import os
import time
from argparse import Namespace
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from lakehouse import DAY_MS, MIB, NOW_MS, markdown, session
from logdirwatch.store.schema.definitions import TABLES
from logdirwatch.store.settings import MaintainSettings
from logdirwatch.store.tables import Tables
from logdirwatch.store.upkeep.maintain import Upkeep, upkeep
from tests.spark.lake import Lake, action, alert, decision, metrics, replicas, scan_end, state, topic, transition

BROKERS = (7, 8, 9)
# A day passes in far less than one: what is kept for a day is kept for the shortest time that may be set.
SHORTEST_MS = 60_000


@dataclass
class Held:
    """The files of all tables together."""

    in_snapshot: int = 0
    on_disk: int = 0
    disk_bytes: int = 0
    in_log: int = 0

    def __str__(self) -> str:
        return f"{self.in_snapshot:,} / {self.on_disk:,} / {self.in_log:,}"


def measure(folder: Path, chosen: Namespace) -> None:
    """Print a line a day: files before and after the night's ``maintain``."""
    print(f"## A month: {chosen.month_days} days of {chosen.batches_a_day} batches each, {len(BROKERS)} brokers\n")
    print("Files of all tables: in their snapshots / on disk / in their logs.\n")
    with session(folder, chosen.heap) as (spark, tables):
        tables.create_missing(TABLES.values())
        lake = Lake(spark, folder / "tables")
        header = ("day", "before", "after", "MiB on disk after", "a batch s", "maintain s")
        markdown(header, nights(folder / "tables", lake, tables, chosen))
        rows = [(name, *counted(folder / "tables" / name)) for name in TABLES]
    markdown(("table at the end", "in its snapshot", "on disk", "in its log"), rows)


def nights(folder: Path, lake: Lake, tables: Tables, chosen: Namespace) -> Iterator[tuple[object, ...]]:
    settings = MaintainSettings(deleted_files_ms=SHORTEST_MS)
    for day in range(chosen.month_days):
        begin_s = time.monotonic()
        for batch in range(chosen.batches_a_day):
            write(lake, day * chosen.batches_a_day + batch, NOW_MS + day * DAY_MS + batch * 60_000)
        batch_s = (time.monotonic() - begin_s) / chosen.batches_a_day
        before, begin_s = held(folder), time.monotonic()
        of_tables = Upkeep(lake.spark, tables, settings, NOW_MS + (day + 1) * DAY_MS)
        errors = [row.error for row in upkeep(of_tables, tables, TABLES.values(), is_dry_run=False) if row.error]
        if errors:
            raise SystemExit(f"day {day + 1}: {errors}")
        maintain_s = time.monotonic() - begin_s
        after = held(folder)
        age(folder)
        yield day + 1, before, after, after.disk_bytes / MIB, batch_s, maintain_s


def write(lake: Lake, number: int, at_ms: int) -> None:
    """A batch of each query that writes tables; every table gets a row."""
    said = [
        *(metrics(broker, at_ms) for broker in BROKERS),
        *(state(broker, number + 1, transitions=[transition(number * 10 + broker)]) for broker in BROKERS),
        alert(f"a{number}", opened_at_ms=at_ms, at_ms=at_ms),
        action(f"x{number}", at_ms=at_ms),
        decision(f"a{number}", at_ms=at_ms),
        ("logdir.metrics", "k", b"no record"),
    ]
    lake.store(*said)
    sized = [replicas("t-0", "t-1", broker=broker, scan=number, size=number + 1) for broker in BROKERS]
    lake.scan(
        topic("t", BROKERS, BROKERS, scan=number, isr=BROKERS[: 2 + number % 2]), *sized, scan_end(1, scan=number)
    )


def held(folder: Path) -> Held:
    total = Held()
    for name in TABLES:
        in_snapshot, on_disk, in_log = counted(folder / name)
        total.in_snapshot += in_snapshot
        total.on_disk += on_disk
        total.in_log += in_log
    total.disk_bytes = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    return total


def counted(table: Path) -> tuple[int, int, int]:
    """Return the files of a table's snapshot, on disk, and of its log."""
    from deltalake import DeltaTable  # noqa: PLC0415 - beside Spark's class of that name

    in_snapshot = len(DeltaTable(str(table)).file_uris())
    names = [path.name for path in (table / "_delta_log").rglob("*") if path.is_file()]
    return in_snapshot, len(list(table.glob("*.parquet"))), sum(not name.startswith(".") for name in names)


def age(folder: Path) -> None:
    """Make the tables' logs a day older: Delta removes from them by the age of their files, and by whole days."""
    for path in folder.glob("*/_delta_log/*"):
        if path.is_file() and path.suffix in (".json", ".parquet", ".crc"):
            status = path.stat()
            os.utime(path, (status.st_atime, status.st_mtime - DAY_MS / 1000))
