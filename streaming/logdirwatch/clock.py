"""The two clocks of a machine; nothing else reads them.

The wall clock can be set, forward and back, by an hour too. It says what people and other machines are told, and what
they name by date: when a record was written, whether a silence or a window is over. Whatever waits in this process
measures the monotonic clock: pauses, deadlines, ages, rates. ``tests/unit/test_clock.py`` reads the sources for it.
"""

import time

_AHEAD_MS = (time.time_ns() - time.monotonic_ns()) // 1_000_000


def wall_ms() -> int:
    """Return milliseconds since 1970, for what is told; never for waiting."""
    return time.time_ns() // 1_000_000


def monotonic_ms() -> int:
    """Return milliseconds since some moment, for waiting: they advance whatever the wall clock does."""
    return time.monotonic_ns() // 1_000_000


def steady_ms() -> int:
    """Return milliseconds since 1970 that advance whatever the wall clock does: as it was when this process began.

    For a process that waits by the times that it tells.
    """
    return monotonic_ms() + _AHEAD_MS
