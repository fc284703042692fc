"""A section of the configuration, and the kinds of values in it."""

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
