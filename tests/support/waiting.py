"""Waiting on a condition: with a deadline and a message, never for a fixed time."""

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

DEADLINE_S = 300
"""When to give up on what a quiet machine does in seconds: late enough for one that has ten times as much to do."""


def wait_until(
    condition: Callable[[], T | None], deadline_s: float, message: Callable[[], str] | str, pause_s: float = 0.1
) -> T:
    """Return the first true value of ``condition``; fail with ``message`` when ``deadline_s`` passes without one.

    A message that quotes a log is a function: it is called at the deadline, when the log says what went wrong.
    """
    end_s = time.monotonic() + deadline_s
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end_s:
            raise AssertionError(f"not within {deadline_s:g} s: {message if isinstance(message, str) else message()}")
        time.sleep(pause_s)
