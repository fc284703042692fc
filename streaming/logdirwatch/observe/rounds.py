"""Whether the loop of a service makes progress, for its probe."""

from logdirwatch.text.units import human_s

STUCK_AFTER_S = 120.0
"""A round reads briefly and passes its work to threads; only the first one, which loads everything, is long."""


def stands_still(round_s: float, now_s: float) -> str | None:
    """Return a reason if the last round is too long ago; both times are of one monotonic clock."""
    return f"no round since {human_s(STUCK_AFTER_S)}" if now_s - round_s > STUCK_AFTER_S else None
