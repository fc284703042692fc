"""How long to wait before the next attempt. Pure."""

from dataclasses import dataclass

FIRST_MS = 500


@dataclass
class Backoff:
    """Pauses that double from ``first_ms`` up to ``max_ms``, until an attempt succeeds."""

    max_ms: int
    first_ms: int = FIRST_MS
    failures: int = 0

    @property
    def is_away(self) -> bool:
        """Whether the last attempt failed."""
        return self.failures > 0

    def failed(self) -> int:
        """Record a failed attempt; return the milliseconds to wait before the next."""
        self.failures += 1
        return min(self.max_ms, self.first_ms << min(self.failures - 1, 20))

    def worked(self) -> None:
        """Record a successful attempt: the next failure waits ``first_ms`` again."""
        self.failures = 0
