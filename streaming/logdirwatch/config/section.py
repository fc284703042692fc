"""A section of the configuration, and the kinds of values in it.

Among them are intervals as Spark writes them: the triggers of the queries.
"""

import re
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationInfo, field_validator

GIB = 1 << 30
TIB = 1 << 40
MIB = 1 << 20
HOUR_MS = 3_600_000
DAY_MS = 24 * HOUR_MS
LONGEST_MS = 100 * 365 * DAY_MS
"""A hundred years, in place of never; no timer of Python takes three hundred."""


def _name(text: str) -> str:
    if not text.isprintable() or text != text.strip():
        raise ValueError("expected a name of printable characters, without blanks around it")
    return text


Name = Annotated[str, Field(min_length=1, max_length=255), AfterValidator(_name)]
Ratio = Annotated[float, Field(ge=0.0, le=1.0)]
Ms = Annotated[int, Field(ge=0)]


class Section(BaseModel):
    """A section of the configuration: unknown keys are errors, values are immutable, times are at most LONGEST_MS."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    @field_validator("*")
    @classmethod
    def _times_are_bounded(cls, value: Any, field: ValidationInfo) -> Any:
        is_time = field.field_name is not None and field.field_name.endswith("_ms")
        if is_time and isinstance(value, int) and value > LONGEST_MS:
            raise ValueError(f"must not exceed {LONGEST_MS}, a hundred years")
        return value


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
