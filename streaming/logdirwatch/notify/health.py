"""Whether ``notify`` works, for probes: its loop goes round, and the telemetry topics are read."""

import time
from collections.abc import Callable

from logdirwatch.observe.rounds import stands_still


class Health:
    """What the loop tells of itself, read by the threads of the endpoint; ``clock_s`` never goes back."""

    def __init__(self, clock_s: Callable[[], float] = time.monotonic) -> None:
        self._clock_s = clock_s
        self._round_s = clock_s()
        self._is_reading = False

    def went_round(self) -> None:
        """Note that the loop has gone round."""
        self._round_s = self._clock_s()

    def is_reading(self, *, is_reading: bool) -> None:
        """Note whether the telemetry topics are read up to now."""
        self._is_reading = is_reading

    def is_ill(self) -> str | None:
        """Return that the loop stands still; one that waits for the telemetry cluster does not."""
        return stands_still(self._round_s, self._clock_s())

    def is_unready(self) -> str | None:
        """Return that the telemetry topics are not read: what fires now is not sent."""
        return None if self._is_reading else "the telemetry topics cannot be read"
