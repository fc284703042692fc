"""The numbers and names that records are made of, with the range of each."""

from typing import Annotated

from msgspec import Meta

BrokerId = Annotated[int, Meta(ge=0, le=2**31 - 1)]
EpochMs = Annotated[int, Meta(ge=0, le=2**53)]
Bytes = Annotated[int, Meta(ge=0, le=2**63 - 1)]
Long = Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]
Count = Annotated[int, Meta(ge=0, le=2**31 - 1)]
Offset = Annotated[int, Meta(ge=0, le=2**63 - 1)]
Revision = Annotated[int, Meta(ge=0, le=2**63 - 1)]
Name = Annotated[str, Meta(min_length=1)]
