"""A month in the life of the stream, in minutes: what grows, and what does not.

    python bench/bench_soak.py [--days 30] [--brokers 20] [--interval-s 300] [--maintain-every 7]

Brokers with twelve directories each report at their interval, by their own clock; the clock runs as fast as the stream
can follow. Directories fill and are emptied, one fails each day and comes back. Every day a broker is retired and
unregistered, another one comes, a topic is made and an old one deleted. After each day, when everything is judged and
stored, it prints what the stream's Java keeps after a collection, its resident memory and that of its Python workers,
the keys in the state of detect, files and bytes of checkpoints and tables, and how many of the tables' files are live:
what ``maintain`` replaced is kept for five minutes of real time. At the end no broker and no topic that went may have
left a row behind; exit code 1 when one did.
"""

import argparse
import contextlib
import math
import os
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import psutil
from deltalake import DeltaTable
from prometheus_client.parser import text_string_to_metric_families

from bench_idle import MIB, disk
from logdirwatch.kafka.clients import producer
from logdirwatch.model import topics
from logdirwatch.model.records import (
    LogDirSample,
    MetricsRecord,
    PartitionInfo,
    Placement,
    ReplicasRecord,
    ScanRecord,
    TopicRecord,
)
from logdirwatch.model.vocabulary import KAFKA_STORAGE_ERROR, PollStatus
from logdirwatch.store.schema.definitions import TABLES
from logdirwatch_lab.demo import tables
from logdirwatch_lab.demo.services import Service
from logdirwatch_lab.ports import free_ports
from running import Bench, bench, heap

CLUSTER = "month"
LOG_DIRS = 12
TOTAL_BYTES = 1 << 40
DAY_MS = 86_400_000
KEPT_TOPICS = 5
SCANS_A_DAY = 4
LAST_POLLS = 4
STORED_DEADLINE_S = 600.0
# Days pass in a minute; with the default of a day, nothing that was replaced would be removed in a run.
KEPT_MS = 300_000


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--days", type=int, default=30)
    arguments.add_argument("--brokers", type=int, default=20)
    arguments.add_argument("--interval-s", type=int, default=300)
    arguments.add_argument("--maintain-every", type=int, default=7, help="days")
    chosen = arguments.parse_args()
    (port,) = free_ports(1)
    quick = {"store_trigger": "5 seconds", "store_inventory_trigger": "5 seconds", "listen": f"127.0.0.1:{port}"}
    kept = {"maintain": {"deleted_files_ms": KEPT_MS, "table_log_ms": KEPT_MS}}
    with bench(sections=kept, **quick) as running, running.stream() as service:
        month = Month(chosen.brokers, chosen.interval_s * 1_000, time.time_ns() // 1_000_000 - chosen.days * DAY_MS)
        lines = [HEADER]
        print(HEADER, flush=True)
        client = producer(running.settings.telemetry, linger_ms=20)
        try:
            for day in range(chosen.days):
                send(client, month.day(day))
                running.wait(service, lambda: is_stored(running, month), f"day {day + 1}", STORED_DEADLINE_S)
                if (day + 1) % chosen.maintain_every == 0:
                    maintain(running)
                lines.append(look(running, service, port, day + 1))
                print(lines[-1], flush=True)
        finally:
            client.close(timeout=30)
        left = left_behind(running, month)
    print(
        f"\n{chosen.days} days, {chosen.brokers} brokers with {LOG_DIRS} directories, a poll each "
        f"{chosen.interval_s} s, {os.cpu_count()} cores\n" + "\n".join(lines)
    )
    print("\n".join(left) or f"nothing is left of {chosen.days} brokers and topics that went")
    sys.exit(1 if left else 0)


class Month:
    """What is reported day by day; each day the broker with the lowest id goes, and another one comes."""

    def __init__(self, brokers: int, interval_ms: int, begin_ms: int) -> None:
        self._brokers, self._interval_ms, self._begin_ms = brokers, interval_ms, begin_ms
        self.at_ms = begin_ms
        self.live: range = range(brokers)
        self.topics: list[str] = []

    def day(self, number: int) -> Iterator[tuple[str, str, Any]]:
        """Yield topic, key and record of everything that is written on a day."""
        self.live = range(number, number + self._brokers)
        self.topics = [f"topic-{day}" for day in range(max(0, number - KEPT_TOPICS + 1), number + 1)]
        polls = DAY_MS // self._interval_ms
        for poll in range(polls):
            self.at_ms = self._begin_ms + number * DAY_MS + poll * self._interval_ms
            for broker in self.live:
                yield topics.METRICS, f"{CLUSTER}/{broker}", self._record(broker, number, poll / polls)
            if number and poll < LAST_POLLS:
                yield topics.METRICS, f"{CLUSTER}/{number - 1}", self._retired(number - 1)
            if poll % (polls // SCANS_A_DAY) == polls // SCANS_A_DAY - 1:
                yield from self._scan()

    def _record(self, broker: int, number: int, part: float) -> MetricsRecord:
        log_dirs = [self._sample(broker, log_dir, number, part) for log_dir in range(LOG_DIRS)]
        return self._metrics(broker, PollStatus.OK, is_registered=True, log_dirs=log_dirs)

    def _retired(self, broker: int) -> MetricsRecord:
        return self._metrics(broker, PollStatus.TIMEOUT, is_registered=False, log_dirs=[])

    def _metrics(self, broker: int, status: PollStatus, *, is_registered: bool, **fields: Any) -> MetricsRecord:
        return MetricsRecord(
            version=1,
            cluster=CLUSTER,
            broker=broker,
            timestamp_ms=self.at_ms,
            status=status,
            collector="bench",
            interval_ms=self._interval_ms,
            is_fenced=False if is_registered else None,
            is_registered=is_registered,
            controller_at_ms=self.at_ms,
            **fields,
        )

    def _sample(self, broker: int, log_dir: int, number: int, part: float) -> LogDirSample:
        path = f"/data/disk{log_dir:02d}/kafka-logs"
        days = number + part
        if log_dir == number % LOG_DIRS and broker == number + 1 and 0.5 <= part < 0.55:
            return LogDirSample(path=path, error_code=KAFKA_STORAGE_ERROR)
        # A wave of the day on a sawtooth of five days: every directory passes the first thresholds now and then.
        tooth = (days + 0.7 * broker + 0.4 * log_dir) % 5 / 5
        ratio = 0.35 + 0.45 * tooth + 0.03 * math.sin(2 * math.pi * part)
        total_bytes = TOTAL_BYTES + (log_dir << 32)
        used = int(total_bytes * ratio)
        return LogDirSample(
            path=path,
            error_code=0,
            total_bytes=total_bytes,
            usable_bytes=total_bytes - used,
            replica_count=len(self.topics),
            replica_bytes=used,
        )

    def _scan(self) -> Iterator[tuple[str, str, Any]]:
        scan = {"version": 1, "cluster": CLUSTER, "timestamp_ms": self.at_ms, "collector": "bench"}
        for broker in self.live:
            for log_dir in range(LOG_DIRS):
                placed = [
                    Placement(topic=topic, partition=broker * LOG_DIRS + log_dir, size_bytes=1 << 30)
                    for topic in self.topics
                ]
                record = ReplicasRecord(
                    broker=broker, log_dir=f"/data/disk{log_dir:02d}/kafka-logs", replicas=placed, **scan
                )
                yield topics.INVENTORY, f"{CLUSTER}/{broker}/{log_dir}", record
        for topic in self.topics:
            partitions = [
                PartitionInfo(partition=broker * LOG_DIRS + log_dir, leader=broker, replicas=[broker], isr=[broker])
                for broker in self.live
                for log_dir in range(LOG_DIRS)
            ]
            yield topics.INVENTORY, f"{CLUSTER}/{topic}", TopicRecord(topic=topic, partitions=partitions, **scan)
        yield topics.INVENTORY, CLUSTER, ScanRecord(topics=len(self.topics), is_complete=True, **scan)


def send(client: Any, records: Iterator[tuple[str, str, Any]]) -> None:
    for topic, key, record in records:
        client.send(topic, key=key.encode(), value=msgspec.json.encode(record))
    client.flush(120)


def is_stored(running: Bench, month: Month) -> bool:
    """Whether the tables tell of the last poll of every broker, and of its last scan."""
    path = running.settings.tables_path
    judged = {row["broker"]: row["at_ms"] for row in tables.rows(path, "broker_state")}
    listed = {row["topic"] for row in tables.rows(path, "topic_state")}
    return (
        set(judged) == set(month.live)
        and all(at_ms >= month.at_ms - DAY_MS // SCANS_A_DAY for at_ms in judged.values())
        and listed == set(month.topics)
    )


def left_behind(running: Bench, month: Month) -> list[str]:
    """Return a line for every table of what is now that speaks of a broker or topic that went."""
    path, found = running.settings.tables_path, []
    for table in ("broker_state", "log_dir_state", "replica_state", "log_dir_inventory"):
        # What is told of a whole cluster names no broker.
        gone = {row["broker"] for row in tables.rows(path, table)} - {*month.live, None}
        found += [f"{table} still tells of brokers {sorted(gone)}"] if gone else []
    for table in ("topic_state", "replica_state"):
        gone = {row["topic"] for row in tables.rows(path, table)} - set(month.topics)
        found += [f"{table} still tells of topics {sorted(gone)}"] if gone else []
    return found


def maintain(running: Bench) -> None:
    """Run the job of the night."""
    command = [sys.executable, "-m", "logdirwatch", "--config", str(running.config), "tables", "optimize"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"maintain: {done.stderr[-2_000:]}")


HEADER = (
    f"{'day':>4}{'heap':>10}{'java MiB':>10}{'python MiB':>12}{'detect keys':>13}"
    f"{'checkpoint files':>18}{'MiB':>7}{'table files':>13}{'live':>6}{'MiB':>7}"
)


def look(running: Bench, service: Service, port: int, day: int) -> str:
    """Return one line of the curve."""
    kept = heap(service)
    java, python = resident_mib(service)
    checkpoints = disk(Path(running.settings.checkpoints.path))
    path = running.settings.tables_path
    stored, live = disk(Path(path)), sum(len(DeltaTable(f"{path}/{name}").file_uris()) for name in TABLES)
    return (
        f"{day:>4}{kept:>10}{java:>10.0f}{python:>12.0f}{state_keys(port):>13}"
        f"{checkpoints.files:>18}{checkpoints.size_bytes / MIB:>7.1f}"
        f"{stored.files:>13}{live:>6}{stored.size_bytes / MIB:>7.1f}"
    )


def resident_mib(service: Service) -> tuple[float, float]:
    sizes = {"java": 0, "python": 0}
    root = psutil.Process(service.pid)
    for process in [root, *root.children(recursive=True)]:
        with contextlib.suppress(psutil.NoSuchProcess):
            kind = "java" if "java" in process.name() else "python"
            sizes[kind] += process.memory_info().rss
    return sizes["java"] / MIB, sizes["python"] / MIB


def state_keys(port: int) -> str:
    """Return what the stream's own metrics say of the keys in the state of detect."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=120) as answer:
        families = text_string_to_metric_families(answer.read().decode())
    for sample in (sample for family in families for sample in family.samples):
        if sample.name == "logdirwatch_query_state_rows" and sample.labels["query"] == "detect":
            return f"{sample.value:.0f}"
    return "not known"


if __name__ == "__main__":
    main()
