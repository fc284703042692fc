"""Batches of a small fleet in a folder, and on a server of S3's protocol: what each costs this process and its JVM."""

import os
from argparse import Namespace
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import median

import psutil

from lakehouse import NOW_MS, jobs, markdown, session, spent
from logdirwatch.store.schema.definitions import TABLES
from tables_batch import INTERVAL_MS, records, store, write_kafka
from tests.support import s3

BROKERS = 4
WARM = 5
"""Batches before the first that is measured: Java compiles what it runs often."""


def measure(folder: Path, chosen: Namespace) -> None:
    """Print the cost of batches in each place: the median, and the highest."""
    count = WARM + 5 * chosen.batches
    print(f"## A batch of {BROKERS} brokers, the median of {count - WARM}\n")
    header = ("tables at", "jobs", "s", "processor s", "highest processor s")
    markdown(header, (of_place(folder, place, chosen, count) for place in ("a folder", "S3")))


def of_place(folder: Path, place: str, chosen: Namespace, count: int) -> tuple[object, ...]:
    below = folder / place.replace(" ", "-")
    below.mkdir()
    with tables_at(place) as (path, conf), session(below, chosen.heap, [*conf, *chosen.conf], path=path) as opened:
        spark, tables = opened
        tables.create_missing(TABLES.values())
        measured = []
        for number in range(count):
            source, at_ms = below / f"kafka-{number}", NOW_MS + number * INTERVAL_MS
            write_kafka(source, [*records(BROKERS, at_ms, 1, number)], at_ms)
            before, of_server_s = jobs(spark), _server_s()
            took = spent(lambda source=source: store(spark, tables, source))  # type: ignore[misc]
            measured.append((jobs(spark) - before, took.seconds, took.processor_s - (_server_s() - of_server_s)))
        ran, seconds, processor_s = zip(*measured[WARM:], strict=True)
        return place, median(ran), median(seconds), median(processor_s), max(processor_s)


def _server_s() -> float:
    """Return the processor seconds of the server, which is a child of this process, and no part of what is measured."""
    children = psutil.Process().children()
    return sum(sum(each.cpu_times()[:2]) for each in children if s3.__name__ in each.cmdline())


@contextmanager
def tables_at(place: str) -> Iterator[tuple[str | None, Sequence[str]]]:
    """Yield the path of the tables, and Spark's configuration for it."""
    if place != "S3":
        yield None, ()
        return
    with s3.server() as endpoint:
        os.environ.update(s3.KEYS)
        yield f"s3a://{s3.BUCKET}/tables", [f"{key}={value}" for key, value in s3.conf(endpoint).items()]
