"""Evidence of the rules about logdirwatch itself: its queries, its tables, and its heartbeats."""

from typing import Annotated

from logdirwatch.model.evidence.base import Evidence, shown_by
from logdirwatch.model.record_part import EMPTY_LIST, NULL, RecordPart
from logdirwatch.model.scalars import Count, Name, Offset
from logdirwatch.model.vocabulary import Rule


class RejectedRows(RecordPart, frozen=True, kw_only=True):
    """Records of one topic that could not be read for one reason."""

    topic: Annotated[Name, "The topic that they are on."]
    reason: Annotated[str, "Why they could not be read."]
    rows: Annotated[Offset, "How many records."]
    example: Annotated[str, "Where one of them is, as topic/partition/offset."]


class LostRange(RecordPart, frozen=True, kw_only=True):
    """Records of one partition that Kafka deleted before they were read."""

    topic: Annotated[Name, "The topic that they were on."]
    partition: Annotated[Count, "Their partition."]
    from_offset: Annotated[Offset, "Offset of the first one that was lost."]
    to_offset: Annotated[Offset, "Offset of the first one that is still there."]


class PipelineEvidence(Evidence, frozen=True, kw_only=True):
    """The evidence of the rules about one query of the stream."""

    query: Annotated[str | None, "Name of the query."] = None


@shown_by(Rule.PIPELINE_LAGGING)
class PipelineLaggingEvidence(PipelineEvidence, frozen=True, kw_only=True):
    """``pipeline_lagging``: a query is behind its topics, or does not run."""

    lag_ms: Annotated[int | None, "How far it is behind, or was away."] = NULL
    away_ms: Annotated[int | None, "How long the whole stream was away; null: it was not."] = NULL
    behind_rows: Annotated[int | None, "How many records it still has to read."] = NULL
    behind: Annotated[dict[str, int] | None, "That number by topic."] = NULL
    read_rows: Annotated[int | None, "How many records it read since the last report."] = NULL
    trigger_ms: Annotated[int | None, "How often it is meant to run."] = NULL
    is_active: Annotated[bool | None, "Whether it runs."] = NULL


@shown_by(Rule.PIPELINE_REJECTS)
class PipelineRejectsEvidence(PipelineEvidence, frozen=True, kw_only=True):
    """``pipeline_rejects``: a query cannot read many records."""

    rows: Annotated[int | None, "How many records within the window."] = None
    window_ms: Annotated[int | None, "Length of the window."] = None
    reasons: Annotated[list[RejectedRows], "The last ones by topic and reason, most records first, up to 20."] = (
        EMPTY_LIST
    )


@shown_by(Rule.PIPELINE_DATA_LOSS)
class PipelineDataLossEvidence(PipelineEvidence, frozen=True, kw_only=True):
    """``pipeline_data_loss``: records were deleted before a query read them."""

    rows: Annotated[int | None, "How many records at most."] = None
    ranges: Annotated[list[LostRange], "The last ranges that were lost, up to 20."] = EMPTY_LIST


@shown_by(Rule.DATA_QUALITY)
class DataQualityEvidence(PipelineEvidence, frozen=True, kw_only=True):
    """``data_quality``: tables do not meet their expectations."""

    failed: Annotated[dict[str, list[str]] | None, "The expectations that are not met, by table."] = None


@shown_by(Rule.HEARTBEAT)
class HeartbeatEvidence(Evidence, frozen=True, kw_only=True):
    """``heartbeat``: a collector's heartbeat that passed the pipeline."""

    collector: Annotated[str | None, "Name of the collector."] = None
    interval_ms: Annotated[int | None, "How often it sends one."] = None
    samples_overdue_ms: Annotated[int | None, "For how long its next sample has been overdue; 0: samples pass."] = None


@shown_by(Rule.HEARTBEAT, marker="origin")
class CanaryEvidence(Evidence, frozen=True, kw_only=True):
    """``heartbeat`` of the fast lane: the answer to a canary event."""

    collector: Annotated[str | None, "Name of the collector."] = NULL
    origin: Annotated[str | None, "The event's position in Kafka: topic/partition/offset/time."] = NULL


@shown_by(Rule.HEARTBEAT, marker="clusters")
class HeartbeatMissingEvidence(Evidence, frozen=True, kw_only=True):
    """``heartbeat`` as ``notify`` sends it: no heartbeat arrives; not on the topic."""

    clusters: Annotated[list[str], "The clusters that are silent."] = EMPTY_LIST
