"""Whether ``notify`` works, for probes: its loop runs, and the telemetry topics are read."""

import time
from collections.abc import Callable

from logdirwatch.observe.rounds import stands_still


class Health:
    """The state of the loop, read by the threads of the endpoint; ``clock_s`` is monotonic."""

    def __init__(self, clock_s: Callable[[], float] = time.monotonic) -> None:
        self._clock_s = clock_s
        self._round_s = clock_s()
        self._is_reading = False

    def went_round(self) -> None:
        """Record that the loop has completed a pass."""
        self._round_s = self._clock_s()

    def is_reading(self, *, is_reading: bool) -> None:
        """Record whether the telemetry topics are read up to now."""
        self._is_reading = is_reading

    def is_ill(self) -> str | None:
        """Return a reason when the loop is stuck; waiting for the telemetry cluster is not."""
        return stands_still(self._round_s, self._clock_s())

    def is_unready(self) -> str | None:
        """Return a reason when the telemetry topics are not read, so that new alerts are not sent."""
        return None if self._is_reading else "the telemetry topics cannot be read"
