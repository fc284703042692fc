"""A clock for records: its times increase, even if the machine's clock is set back."""

from collections.abc import Callable

Clock = Callable[[], int]
"""Returns milliseconds since 1970."""


class RisingClock:
    """Returns the time of ``clock``, at least ``step_ms`` after the previous one.

    Readers treat a record that is not newer than its collector's last one as a repeat.
    """

    def __init__(self, clock: Clock, step_ms: int = 1) -> None:
        self._clock = clock
        self._step_ms = step_ms
        self._last_ms = 0

    def __call__(self, more: int = 0) -> int:
        """Return the time of the next record, with ``more`` milliseconds free after it."""
        at_ms = max(self._clock(), self._last_ms + self._step_ms)
        self._last_ms = at_ms + more
        return at_ms
