"""Whether ``notify`` works, for probes: its loop runs, and the telemetry topics are read to their end."""

import time
from collections.abc import Callable, Mapping

from logdirwatch.observe.progress import Beat, silence, stuck
from logdirwatch.text.units import human_ms


class Health:
    """The state of the loop, read by the threads of the endpoint; ``clock_s`` is monotonic."""

    def __init__(self, clock_s: Callable[[], float] = time.monotonic) -> None:
        self.beat = Beat("notify", clock_s)
        self._is_reading = False
        self.unheard: Mapping[str, int] = {}
        """The receivers that have taken no message for too long, each with the milliseconds."""

    def went_round(self) -> None:
        """Record that the loop has completed a pass."""
        self.beat.beat()

    def is_reading(self, *, is_reading: bool) -> None:
        """Record whether the telemetry topics are read up to now."""
        self._is_reading = is_reading

    def is_ill(self) -> str | None:
        """Return a reason when the loop is stuck; waiting for the telemetry cluster is not."""
        return stuck([self.beat])

    def is_unready(self) -> str | None:
        """Return a reason when the telemetry topics are not read, or messages do not arrive."""
        if (text := silence([self.beat])) is not None:
            return text
        if not self._is_reading:
            return "the telemetry topics cannot be read"
        return self.unheard_text()

    def unheard_text(self) -> str | None:
        """Return which receivers take no messages."""
        unheard = ", ".join(f"{name} for {human_ms(for_ms)}" for name, for_ms in self.unheard.items())
        return f"takes no messages: {unheard}" if unheard else None
