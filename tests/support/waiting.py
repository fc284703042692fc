"""Waiting on a condition: with a deadline and a message, never for a fixed time."""

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

LOOKS, LONGEST_PAUSE_S = 3, 2.0
"""How many times as long as a look the pause after it lasts, and how long at the most."""

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
        begin_s = time.monotonic()
        value = condition()
        if value:
            return value
        now_s = time.monotonic()
        if now_s > end_s:
            raise AssertionError(f"not within {deadline_s:g} s: {message if isinstance(message, str) else message()}")
        # What is waited for needs the processor: a look that reads a whole topic would take it away.
        time.sleep(max(pause_s, min(LOOKS * (now_s - begin_s), LONGEST_PAUSE_S)))
