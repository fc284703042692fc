"""The period that a page shows: a span up to now, or a typed start and end in UTC. Pure."""

from datetime import datetime, timezone
from typing import NamedTuple

from logdirwatch.config.section import DAY_MS, HOUR_MS

SPANS_MS = {"6h": 6 * HOUR_MS, "24h": DAY_MS, "7d": 7 * DAY_MS, "30d": 30 * DAY_MS}
USUAL = "24h"
SHORTEST_MS = 60_000


class Period(NamedTuple):
    """``span`` is the name of the span up to now, None if both ends were typed."""

    from_ms: int
    to_ms: int
    span: str | None

    @property
    def typed(self) -> tuple[str, str]:
        """Both ends in the format of the form."""
        return _field(self.from_ms), _field(self.to_ms)


def period(span: str, from_text: str, to_text: str, now_ms: int) -> Period:
    """Return the requested period; a span up to now if it cannot be parsed."""
    from_ms, to_ms = _at_ms(from_text), _at_ms(to_text)
    if from_ms is not None and from_ms < now_ms:
        end_ms = now_ms if to_ms is None else min(to_ms, now_ms)
        return Period(from_ms, max(end_ms, from_ms + SHORTEST_MS), None)
    name = span if span in SPANS_MS else USUAL
    return Period(now_ms - SPANS_MS[name], now_ms, name)


def _at_ms(text: str) -> int | None:
    try:
        return int(datetime.fromisoformat(text).replace(tzinfo=timezone.utc).timestamp() * 1000)
    except (ValueError, OverflowError):
        return None


def _field(at_ms: int) -> str:
    return datetime.fromtimestamp(at_ms // 1000, tz=timezone.utc).strftime("%Y-%m-%dT%H:%M")
