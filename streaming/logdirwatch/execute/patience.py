"""How long an execution waits for a step without progress, or at all. Pure."""

from collections.abc import Mapping

from logdirwatch.execute.ports import POLL_S
from logdirwatch.text.units import human_ms

STALLED_MS = 1_800_000
"""How long an execution waits at least without a byte of progress; longer than a broker needs to start."""
LONGEST_STALLED_MS = 6 * 3_600_000
"""How long it waits at most without progress, however long it was planned to take."""
OVERDUE = 10
"""A step ends when it takes so many times as long as was planned for all: its copy may be slower than its writers."""
LONGEST_MS = 7 * 24 * 3_600_000
"""How long a step may take at most."""
LONGEST_LOOK_MS = 60_000
"""How much of the time between two looks counts as waited: a process that was stopped for an hour has seen nothing."""


class Patience:
    """Counts how long an execution waits for a step, by the monotonic clock, whatever the time of day does.

    ``needs_ms`` is how long the whole of it takes as planned; None: unknown. ``now_ms`` is the monotonic time.
    """

    def __init__(self, needs_ms: int | None, now_ms: int) -> None:
        self._stalled_ms = min(max(STALLED_MS, needs_ms or 0), LONGEST_STALLED_MS)
        overdue_ms = LONGEST_MS if needs_ms is None else max(LONGEST_STALLED_MS, OVERDUE * needs_ms)
        self._longest_ms = min(overdue_ms, LONGEST_MS)
        self._best: dict[object, int] = {}
        self._waited_ms = self._since_progress_ms = 0
        self._looked_ms = now_ms

    def lost(self, done: Mapping[object, int], now_ms: int) -> str | None:
        """Return why the wait is over.

        ``done`` is how far things have come, none of them if nothing can be seen. Only the best so far is progress: a
        broker that comes and goes, or a copy that begins again, makes none.
        """
        # At least what an execution pauses between two looks.
        between_ms, self._looked_ms = now_ms - self._looked_ms, now_ms
        waited_ms = max(int(POLL_S * 1000), min(between_ms, LONGEST_LOOK_MS))
        is_progress = any(value > self._best.get(key, -1) for key, value in done.items())
        if done.get(None, -1) > self._best.get(None, -1):
            # Another partition has reached its place: each of them has its own time.
            self._waited_ms = 0
        self._best |= {key: max(value, self._best.get(key, value)) for key, value in done.items()}
        self._since_progress_ms = 0 if is_progress else self._since_progress_ms + waited_ms
        self._waited_ms += waited_ms
        if self._since_progress_ms > self._stalled_ms:
            return f"no progress for {human_ms(self._stalled_ms)}"
        return f"not done after {human_ms(self._longest_ms)}" if self._waited_ms > self._longest_ms else None
