"""``logdir.metrics``: what the stream reports about its own queries."""

from typing import Annotated

from msgspec import Meta, Struct

from logdirwatch.model.evidence.stream import LostRange, RejectedRows
from logdirwatch.model.scalars import EpochMs, Name, Offset, Version


class PipelineRecord(Struct, frozen=True, kw_only=True, tag_field="type", tag="pipeline"):
    """``logdir.metrics``, key ``pipeline/query``: the progress of one query, as the stream itself sees it.

    It is written often while there is a problem, otherwise once per ``interval_ms``.
    """

    version: Version
    query: Annotated[Name, "Name of the query."]
    timestamp_ms: Annotated[EpochMs, "When the stream wrote it, in milliseconds since the epoch."]
    interval_ms: Annotated[int, Meta(gt=0, le=2**31 - 1), "Longest time between two records, in milliseconds."] = (
        600_000
    )
    trigger_ms: Annotated[Offset, "How often the query is meant to run, in milliseconds; 0: without a pause."] = 0
    is_active: Annotated[bool, "Whether the query runs."] = True
    lag_ms: Annotated[
        Offset | None, "Time since the query had last read everything, in milliseconds; null: unknown."
    ] = None
    away_ms: Annotated[
        Offset | None,
        "How long the stream had been down, in milliseconds, reported once by one query if it then found something "
        "unread; null: otherwise.",
    ] = None
    behind: Annotated[dict[str, Offset] | None, "Number of unread records by topic; null: unknown."] = None
    read_rows: Annotated[Offset | None, "Number of records read since the previous record; null: unknown."] = None
    rejected: Annotated[list[RejectedRows], "Records rejected since the previous record, by topic and reason."] = []
    lost: Annotated[
        list[LostRange], "Records that Kafka deleted before they were read, since the previous record."
    ] = []
    quality: Annotated[
        dict[str, list[str]] | None,
        "Results of validate: the expectations that are not met, by table, empty if all are met; null: not a result "
        "of validate.",
    ] = None

    @property
    def key(self) -> str:
        """The record's key on the topic."""
        return f"pipeline/{self.query}"
