"""Waiting on a condition, with a deadline and a message."""

import time
from collections.abc import Callable
from typing import TypeVar

from logdirwatch.errors import UserError

PAUSE_S = 0.1

T = TypeVar("T")


def wait_until(condition: Callable[[], T], deadline_s: float, message: Callable[[], str] | str) -> T:
    """Return the first true answer of ``condition``.

    Raises UserError with ``message`` when there was none within ``deadline_s`` seconds.
    """
    ends = time.monotonic() + deadline_s
    while True:
        if answer := condition():
            return answer
        if time.monotonic() >= ends:
            raise UserError(message if isinstance(message, str) else message())
        time.sleep(PAUSE_S)
