"""Whether a time is in a weekly window."""

from collections.abc import Iterable
from datetime import datetime, time
from zoneinfo import ZoneInfo

from logdirwatch.autopilot.settings import WEEK, WindowSettings


def is_open(windows: Iterable[WindowSettings], time_zone: str, now_ms: int) -> bool:
    """Tell whether any window is open; without windows, always."""
    listed = list(windows)
    local = datetime.fromtimestamp(now_ms / 1000, ZoneInfo(time_zone))
    return not listed or any(_holds(window, local.weekday(), local.time()) for window in listed)


def _holds(window: WindowSettings, today: int, now: time) -> bool:
    opens, closes = time.fromisoformat(window.opens), time.fromisoformat(window.closes)
    is_today, was_yesterday = (WEEK[day] in window.days for day in (today, today - 1))
    if opens < closes:
        return is_today and opens <= now < closes
    return (is_today and now >= opens) or (was_yesterday and now < closes)


def described(windows: Iterable[WindowSettings], time_zone: str) -> str:
    """Return windows as text."""
    return "; ".join(f"{', '.join(one.days)} {one.opens}-{one.closes} {time_zone}" for one in windows)
