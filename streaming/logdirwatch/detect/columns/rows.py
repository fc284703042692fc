"""The columns, and how a broker's numbers are taken out of its memory and put back.

They are the numbers of a memory that a sample of a broker at rest changes or is compared with. Most times in the memory
are that of the last sample then, so one column holds them. A missing number is ``NONE``; only numbers that are never
negative may be missing. The numbers of directories are below ``EXACT``.
"""

from operator import attrgetter
from typing import Any
from zlib import crc32

import numpy as np
import numpy.typing as npt

from logdirwatch.detect.state.broker_state import BrokerMemory, LogDirMemory
from logdirwatch.detect.state.turns import seed_of
from logdirwatch.model import topics

NONE = -1
EXACT = 2**52
"""Below it, arithmetic with whole numbers as floats, and with their halves, is as exact as Python's."""

TIMER_GRID_MS = 1_000
"""Times of timers are rounded up to it, so that brokers share one."""
BROKER_NUMBERS = ("newest_kafka_ms", "heard_ms", "moves_at_ms", "timer_ms", "sequence", "emitted_ms")
"""Attributes of a broker's memory."""
SAMPLE_NUMBERS = ("usable_bytes", "replica_count", "replica_bytes", "future_bytes", "incoming_bytes", "outgoing_bytes")
"""Attributes of a directory's sample that its memory keeps under the same names."""
LOG_DIR_NUMBERS = ("proof_ms", *SAMPLE_NUMBERS)
"""Attributes of a directory's memory that change at rest."""
PEAK_NUMBERS = ("peak_bytes", "last_bytes")
"""Attributes of its peaks that change at rest."""
RISE_NUMBERS = ("from_ms", "from_bytes", "next_ms", "next_bytes", "risen_ms", "steps")
"""Attributes of its rise that change at rest."""
COMPARED = ("total_bytes", "forecast_at_ms", "full_at_ms", "peaks.brought_bytes", "peaks.future_bytes")
"""Attributes of a directory's memory that a sample is compared with."""

Rows = npt.NDArray[np.void]
"""Rows of one of the two tables: (brokers,), or (brokers, directories)."""
Whole = npt.NDArray[np.int64]
Real = npt.NDArray[np.float64]
Truth = npt.NDArray[np.bool_]

OF_BROKER = np.dtype(
    [
        (name, np.int64)
        for name in (
            *BROKER_NUMBERS,
            "sample_ms",
            "interval_ms",
            "partition",
            "offset",
            "seed",
            "shift_ms",
            "has_flush",
            "are_volumes_told",
        )
    ]
)
"""One row for each broker; ``sample_ms`` is the time of its last sample, ``shift_ms`` what its writer's clock lacks."""

OF_LOG_DIR = np.dtype(
    [
        *((name, np.int64) for name in LOG_DIR_NUMBERS),
        *((f"peaks.{name}", np.int64) for name in PEAK_NUMBERS),
        *((f"rise.{name}", np.int64) for name in RISE_NUMBERS),
        *((name, np.int64) for name in COMPARED),
        ("growth_bytes_per_s", np.float64),
        ("keeps_up", np.int64),
        ("turn", np.int64),
    ]
)
"""One row for each of its directories, in the order of their paths.

``keeps_up`` is 1 if its replicas were in sync since the broker came back, ``turn`` spreads the directories' forecasts.
"""

Row = tuple[int | float, ...]

_of_broker = attrgetter(*BROKER_NUMBERS)
_of_log_dir = attrgetter(
    *LOG_DIR_NUMBERS,
    *(f"peaks.{name}" for name in PEAK_NUMBERS),
    *(f"rise.{name}" for name in RISE_NUMBERS),
    *COMPARED,
    "growth_bytes_per_s",
)


def place(partition: int) -> str:
    """Return the key of a memory's positions for a partition of samples."""
    return f"{topics.METRICS}/{partition}"


def taken(memory: BrokerMemory, partition: int) -> tuple[Row, list[Row]]:
    """Return the numbers of a calm broker, whose samples are in a partition: a row, and one for each directory."""
    ((collector, view),) = memory.collectors.items()
    clock = memory.clocks.get(collector)
    seed, log_dirs = seed_of(memory.cluster, memory.broker), sorted(memory.log_dirs.items())
    row = (
        *_of_broker(memory),
        memory.newest_ms,
        view.interval_ms,
        partition,
        memory.positions[place(partition)],
        seed,
        0 if clock is None else clock.shift_ms,
        memory.flush_ms is not None,
        all(log_dir.is_volume_told for _, log_dir in log_dirs),
    )
    return row, [
        (*_known(_of_log_dir(log_dir)), log_dir.kept_up and not log_dir.lagging_scans, crc32(path.encode(), seed))
        for path, log_dir in log_dirs
    ]


def are_exact(log_dir: LogDirMemory) -> bool:
    """Tell whether the numbers of a directory whose use was followed are small enough for the columns."""
    return all(number is None or abs(number) < EXACT for number in _of_log_dir(log_dir))


def _known(numbers: tuple[int | None, ...]) -> Row:
    return tuple(NONE if number is None else number for number in numbers)


def put_back(memory: BrokerMemory, of_broker: np.void, of_log_dir: Rows) -> None:
    """Set the numbers of a memory to those of its broker's rows."""
    numbers = of_broker.item()
    for name, number in zip(BROKER_NUMBERS, numbers, strict=False):
        setattr(memory, name, number)
    at_ms, _, partition, offset, *_ = numbers[len(BROKER_NUMBERS) :]
    memory.positions[place(partition)] = offset
    memory.newest_ms = memory.seen_ms = at_ms
    ((collector, view),) = memory.collectors.items()
    view.taken_ms = view.ok_ms = view.said_ms = at_ms
    said = (0, at_ms)
    for (_, log_dir), row in zip(sorted(memory.log_dirs.items()), of_log_dir.tolist(), strict=True):
        log_dir.codes[collector] = said
        _put_back(log_dir, row, at_ms)


def _put_back(log_dir: LogDirMemory, row: tuple[Any, ...], at_ms: int) -> None:
    peaks, rise = log_dir.peaks, log_dir.rise
    assert rise is not None
    log_dir.seen_ms = log_dir.sample_at_ms = peaks.last_ms = rise.last_ms = at_ms
    # Each record of ``logdir.state`` needs this, and by the columns' names it would take twice as long.
    (
        proof_ms,
        log_dir.usable_bytes,
        replica_count,
        log_dir.replica_bytes,
        future_bytes,
        incoming_bytes,
        outgoing_bytes,
        peaks.peak_bytes,
        peaks.last_bytes,
        rise.from_ms,
        rise.from_bytes,
        rise.next_ms,
        rise.next_bytes,
        rise.risen_ms,
        rise.steps,
        *_,
        log_dir.growth_bytes_per_s,
        _,
        _,
    ) = row
    rise.last_bytes = peaks.last_bytes
    log_dir.proof_ms = None if proof_ms == NONE else proof_ms
    log_dir.replica_count = None if replica_count == NONE else replica_count
    log_dir.future_bytes = None if future_bytes == NONE else future_bytes
    log_dir.incoming_bytes = None if incoming_bytes == NONE else incoming_bytes
    log_dir.outgoing_bytes = None if outgoing_bytes == NONE else outgoing_bytes
