"""The columns: the numbers of a broker's memory that a sample of a broker at rest changes or is compared with.

Most times in the memory are that of the last sample then, so one column holds them. A missing number is ``NONE``; only
numbers that are never negative may be missing. The numbers of directories are below ``EXACT``.
"""

import numpy as np
import numpy.typing as npt

NONE = -1
EXACT = 2**52
"""Below it, arithmetic with whole numbers as floats, and with their halves, is as exact as Python's."""

TIMER_GRID_MS = 1_000
"""Times of timers are rounded up to it, so that brokers share one."""
BROKER_NUMBERS = ("newest_kafka_ms", "heard_ms", "moves_at_ms", "timer_ms", "sequence", "emitted_ms")
"""Attributes of a broker's memory."""
SAMPLE_NUMBERS = (
    "usable_bytes",
    "replica_count",
    "replica_bytes",
    "future_bytes",
    "incoming_bytes",
    "outgoing_bytes",
)
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
