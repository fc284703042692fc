"""Intervals as Spark writes them: the triggers of the queries."""

import re
from typing import Annotated

from pydantic import AfterValidator

_UNIT_MS = {
    "millisecond": 1,
    "second": 1_000,
    "minute": 60_000,
    "hour": 3_600_000,
    "day": 86_400_000,
    "week": 604_800_000,
}
_PART = re.compile(rf"([0-9]{{1,9}})\s+({'|'.join(_UNIT_MS)})s?", re.IGNORECASE)
_WHOLE = re.compile(rf"\s*(?:interval\s+)?{_PART.pattern}(?:\s+{_PART.pattern})*\s*", re.IGNORECASE)


def interval_ms(text: str) -> int:
    """Return a Spark interval such as ``30 seconds`` in milliseconds.

    >>> interval_ms("1 minute 30 seconds")
    90000
    """
    return sum(int(count) * _UNIT_MS[unit.lower()] for count, unit in _PART.findall(text))


def _interval(text: str) -> str:
    if _WHOLE.fullmatch(text) is None:
        raise ValueError("expected an interval, such as 500 milliseconds or 1 minute")
    return text


Interval = Annotated[str, AfterValidator(_interval)]
