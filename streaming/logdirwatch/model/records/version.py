"""The version that each record carries."""

from typing import Annotated, Literal

from msgspec import Meta

Version = Annotated[Literal[1], Meta(description="Version of the record's form: 1.")]
