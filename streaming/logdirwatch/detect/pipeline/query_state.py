"""What ``detect`` remembers of the stream's own queries, and how it is stored.

It has its own key and is one value ``struct<version:int, body:string>`` like the memory of a broker.
"""

from collections.abc import Iterable

from msgspec import Struct, field

from logdirwatch.detect.state.broker_state import OpenAlert, read_evidence, reopened
from logdirwatch.model.evidence.stream import (
    LostRange,
    PipelineDataLossEvidence,
    PipelineEvidence,
    PipelineRejectsEvidence,
)
from logdirwatch.model.records import AlertRecord
from logdirwatch.model.vocabulary import AlertStatus, Rule
from logdirwatch.state.codec import StateCodec

MEMORY_VERSION = 1


class QueryMemory(Struct, kw_only=True, omit_defaults=True):
    """One query: the time of the last record, rejected rows by time, lost records and those that no alert has named."""

    taken_ms: int = 0
    rejected: list[tuple[int, int]] = []
    lost_ms: int | None = None
    lost_rows: int = 0
    unnamed: list[LostRange] = []
    alerts: dict[Rule, OpenAlert] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Read what a decoded memory has of its alerts."""
        read_evidence(self.alerts)


class PipelineMemory(Struct, kw_only=True, omit_defaults=True):
    """Every query of the stream, by name."""

    queries: dict[str, QueryMemory] = field(default_factory=dict)


CODEC = StateCodec("detect", MEMORY_VERSION, PipelineMemory)


def restored(alerts: Iterable[AlertRecord]) -> PipelineMemory:
    """Return the memory from the last revisions of alerts, for a ``detect`` that lost its own."""
    memory = PipelineMemory()
    for alert in sorted(alerts, key=lambda alert: alert.at_ms):
        if not isinstance(alert.evidence, PipelineEvidence) or alert.evidence.query is None:
            continue
        query = memory.queries.setdefault(alert.evidence.query, QueryMemory())
        query.taken_ms = alert.at_ms
        if alert.status is AlertStatus.FIRING:
            query.alerts[alert.rule] = reopened(alert)
            _recount(query, alert)
    return memory


def _recount(query: QueryMemory, alert: AlertRecord) -> None:
    if isinstance(alert.evidence, PipelineRejectsEvidence):
        query.rejected = [(alert.at_ms, alert.evidence.rows or 0)]
    elif isinstance(alert.evidence, PipelineDataLossEvidence):
        query.lost_ms, query.lost_rows = alert.at_ms, alert.evidence.rows or 0
