"""The numbers and names that records are made of, with the range of each."""

from collections.abc import Iterable
from typing import Annotated

from msgspec import Meta

BrokerId = Annotated[int, Meta(ge=0, le=2**31 - 1)]
EpochMs = Annotated[int, Meta(ge=0, le=2**53)]
LARGEST = 2**63 - 1
"""The largest number of a record, as of Spark's ``bigint``."""

Bytes = Annotated[int, Meta(ge=0, le=LARGEST)]
Long = Annotated[int, Meta(ge=-(2**63), le=LARGEST)]
Count = Annotated[int, Meta(ge=0, le=2**31 - 1)]
Offset = Annotated[int, Meta(ge=0, le=LARGEST)]
Revision = Annotated[int, Meta(ge=0, le=LARGEST)]
Name = Annotated[str, Meta(min_length=1)]


def total(numbers: Iterable[int]) -> int:
    """Return a sum, or the number of a record that is nearest to it."""
    return max(-LARGEST, min(sum(numbers), LARGEST))
