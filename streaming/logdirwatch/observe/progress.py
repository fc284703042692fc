"""Progress as a contract: the longest silence of each loop, and what happens when a loop exceeds it.

A process that runs loops reports each completed pass with a :class:`Beat`. While a loop is silent for longer than its
longest silence, ``/ready`` names it, and one log line says so. When the silence lasts, ``/health`` names it too, and in
the end the :class:`~.watchdog.Watchdog` ends the process, so that its supervisor (systemd, Kubernetes) starts it again.
All times are of one monotonic clock: what the wall clock does is neither progress nor silence.
"""

import time
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType

from logdirwatch.text.units import human_s

LONGEST_SILENCE_S: Mapping[str, float] = MappingProxyType(
    {
        # Queries of the stream. The interval of the trigger is added.
        "fast_lane": 120.0,
        "detect": 120.0,
        "fleet": 120.0,
        "recommend": 600.0,
        "store": 600.0,
        "store_inventory": 600.0,
        # The stream's supervision of its queries, and its checks of how far each has read.
        "queries": 60.0,
        "pipeline": 60.0,
        # The collector's rounds over a cluster. Their interval is added.
        "poll": 15.0,
        "heartbeat": 15.0,
        "canary": 60.0,
        "inventory": 600.0,
        "partitions": 60.0,
        "exporters": 60.0,
        # The rounds of watch-host. Their interval is added.
        "logs": 60.0,
        "log_dirs": 60.0,
        # Sending records to the telemetry cluster. The longest pause between two attempts is added.
        "publisher": 60.0,
        # The loops of the services, which pass several times a second.
        "notify": 60.0,
        "autopilot": 60.0,
        "watch": 60.0,
    }
)
"""The longest silence of each loop in seconds; ``docs/reliability.md`` lists them."""

ILL_AFTER, ENDS_AFTER = 2, 4
"""How many times its longest silence a loop may be silent before ``/health`` fails, and before its process ends.

The collector loses the records that it keeps for an unreachable telemetry cluster when it ends, so it gets more time.
"""


def declared_s(loop: str) -> float:
    """Return the longest silence of a loop in seconds; ``loop`` may end with ``:`` and what it works on."""
    return LONGEST_SILENCE_S.get(loop.partition(":")[0], max(LONGEST_SILENCE_S.values()))


class Beat:
    """When one loop last made progress; ``beat`` is called by the loop, the rest by other threads."""

    def __init__(
        self,
        loop: str,
        clock_s: Callable[[], float] = time.monotonic,
        *,
        more_s: float = 0.0,
        ends_process: bool = True,
    ) -> None:
        """``more_s`` is what the configuration adds to its longest silence.

        ``ends_process`` is False where a new process would hang in the same place, and the other loops are worth more.
        """
        self.loop = loop
        self.longest_s = declared_s(loop) + more_s
        self._clock_s = clock_s
        self._ends_process = ends_process
        self.last_s = clock_s()
        """When the last pass was completed."""

    def beat(self) -> None:
        """Record that the loop has completed a pass."""
        self.last_s = self._clock_s()

    def excuse(self, paused_s: float) -> None:
        """Leave out a time in which the whole process was suspended."""
        self.last_s += paused_s

    @property
    def silent_s(self) -> float:
        """Seconds since the last completed pass."""
        return self._clock_s() - self.last_s

    @property
    def is_silent(self) -> bool:
        """Whether the loop has been silent for longer than it may be."""
        return self.silent_s > self.longest_s

    @property
    def is_stuck(self) -> bool:
        """Whether the silence has lasted so long that the process is ill."""
        return self._ends_process and self.silent_s > ILL_AFTER * self.longest_s

    @property
    def is_hopeless(self) -> bool:
        """Whether only a new process helps."""
        return self._ends_process and self.silent_s > ENDS_AFTER * self.longest_s


def silence(beats: Iterable[Beat]) -> str | None:
    """Return which loops are silent for too long, None if none is."""
    return _named(beat for beat in beats if beat.is_silent)


def stuck(beats: Iterable[Beat]) -> str | None:
    """Return which loops are stuck, None if none is."""
    return _named(beat for beat in beats if beat.is_stuck)


def _named(beats: Iterable[Beat]) -> str | None:
    found = [f"{beat.loop} for {human_s(beat.silent_s)}" for beat in beats]
    return f"no progress: {', '.join(found)}" if found else None
