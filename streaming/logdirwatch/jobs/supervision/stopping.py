"""Stops running queries cleanly: between two batches."""

import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor

import structlog
from pyspark.sql.streaming.query import StreamingQuery

from logdirwatch.jobs.queries import fast_lane
from logdirwatch.jobs.supervision.supervised import is_triggered, last_batch

log = structlog.get_logger(__name__)

LOOK_S = 0.02


def stop_all(queries: Mapping[str, StreamingQuery], timeout_ms: int, when_overdue: Callable[[], None]) -> None:
    """Stop each query between two batches; a batch that takes too long is interrupted, and runs again later.

    A real-time batch never ends by itself, so it is not waited for. On a busy machine batches follow each other without
    a pause: the batch that is running at the stop request is waited for, the next one is interrupted. Stopping takes
    time, so all queries that are ready are stopped at once. ``when_overdue`` is called before batches are interrupted.
    """
    deadline_s = time.monotonic() + timeout_ms / 1000
    running = dict(queries)
    begun = {name: last_batch(query) for name, query in running.items()}
    with ThreadPoolExecutor(max(1, len(running))) as pool:
        while running:
            is_overdue = time.monotonic() >= deadline_s
            if is_overdue:
                when_overdue()
            for name, query in list(running.items()):
                if is_overdue or name == fast_lane.NAME or not _is_in_batch(query, begun[name]):
                    del running[name]
                    pool.submit(_stop_one, name, query)
            time.sleep(LOOK_S)


def _stop_one(name: str, query: StreamingQuery) -> None:
    query.stop()
    log.info("query.stopped", query=name)


def _is_in_batch(query: StreamingQuery, begun: int | None) -> bool:
    """Tell whether the batch after ``begun``, the last one that had ended, is still running."""
    return query.isActive and is_triggered(query) and last_batch(query) == begun
