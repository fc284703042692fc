"""A clock for records: its times increase, unless the machine's clock is set back by more than a minute."""

from collections.abc import Callable

Clock = Callable[[], int]
"""Returns milliseconds since 1970."""
MOST_AHEAD_MS = 60_000
"""How far its times may be ahead of the machine's clock."""


class RisingClock:
    """Returns the time of ``clock``, at least ``step_ms`` after the previous one.

    Readers treat a record with the time of its collector's last one as a repeat. After the machine's clock was set back
    by up to a minute, the times go on at its pace from the last one. After a longer step they follow it: times in the
    future mislead everybody who reads them, and the stream recognizes such a step (``model.times``).
    """

    def __init__(self, clock: Clock, step_ms: int = 1) -> None:
        self._clock = clock
        self._step_ms = step_ms
        self._last_ms = self._ahead_ms = 0

    def __call__(self, more: int = 0) -> int:
        """Return the time of the next record, with ``more`` milliseconds free after it."""
        now_ms, next_ms = self._clock(), self._last_ms + self._step_ms
        at_ms = now_ms if now_ms >= next_ms else max(now_ms + self._ahead_ms, next_ms)
        if at_ms - now_ms > MOST_AHEAD_MS:
            at_ms = now_ms
        self._ahead_ms, self._last_ms = at_ms - now_ms, at_ms + more
        return at_ms
