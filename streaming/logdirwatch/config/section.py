"""A section of the configuration, and the kinds of values in it."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

GIB = 1 << 30
TIB = 1 << 40
MIB = 1 << 20
HOUR_MS = 3_600_000
DAY_MS = 24 * HOUR_MS

Ratio = Annotated[float, Field(ge=0.0, le=1.0)]
Ms = Annotated[int, Field(ge=0, le=2**53)]


class Section(BaseModel):
    """A section of the configuration: unknown keys are errors, values are immutable."""

    model_config = ConfigDict(extra="forbid", frozen=True)
