"""The texts of alerts about logdirwatch's own queries."""

from collections.abc import Mapping, Sequence

from logdirwatch.detect.alerts.messages import ended
from logdirwatch.model.evidence.stream import (
    PipelineDataLossEvidence,
    PipelineLaggingEvidence,
    PipelineRejectsEvidence,
)
from logdirwatch.text.units import human_ms
from logdirwatch.text.words import counted, some_of

_WAITS = "can wait until morning"
_NAMED = 3
_LATE = {
    "detect": "alerts and states come late, and silence is not judged meanwhile",
    "fleet": "alerts about clusters and silence come late",
    "fast_lane": "the first alert about a failure comes late",
    "store": "the tables are out of date",
    "store_inventory": "replicas and partitions in the tables are out of date",
    "recommend": "actions come late",
}
_ALERTS_LATE = frozenset({"detect", "fleet", "fast_lane"})


def lagging(evidence: PipelineLaggingEvidence) -> str:
    """Say how far a query is behind, and what is late because of it."""
    query, rows, lag_ms = str(evidence.query), evidence.behind_rows, evidence.lag_ms or 0
    unread = "" if rows is None else f": {counted(rows, 'record waits', 'records wait')}"
    if not evidence.is_active:
        text = f"does not run, and has not for {human_ms(lag_ms)}{unread}"
    elif evidence.away_ms:
        left = "" if rows is None else f": {counted(rows, 'record is', 'records are')} left to read"
        text = f"was down, like the whole stream, for {human_ms(evidence.away_ms)}{left}"
    else:
        text = f"is {human_ms(lag_ms)} behind{unread}"
    return f"logdirwatch's query {query} {text}; {_LATE.get(query, 'what it writes comes late')}; {_late(query)}"


def rejects(evidence: PipelineRejectsEvidence) -> str:
    """Say how many records were rejected, and the most frequent reason."""
    first = evidence.reasons[0]
    return (
        f"logdirwatch's query {evidence.query} could not read {evidence.rows} records within "
        f"{human_ms(evidence.window_ms or 0)}, most of {first.topic}: {first.reason} (such as {first.example}); "
        f"{_WAITS}: yes, because a broker without readable records has its own alert; but the content of "
        "these records is not monitored"
    )


def data_loss(evidence: PipelineDataLossEvidence) -> str:
    """Say how many records were deleted before they were read."""
    query, topics = str(evidence.query), sorted({lost.topic for lost in evidence.ranges})
    more = f" and {len(topics) - _NAMED} more topics" if len(topics) > _NAMED else ""
    return (
        f"logdirwatch's query {query} lost up to {evidence.rows} records of {', '.join(topics[:_NAMED])}{more}: "
        f"they were deleted before it had read them; {_WAITS}: "
        + (
            "no, because they were never judged"
            if query in _ALERTS_LATE
            else "yes, because alerts do not depend on this query"
        )
    )


def data_quality(failed: Mapping[str, Sequence[str]]) -> str:
    """Say which tables do not meet their expectations."""
    table, expectations = next(iter(sorted(failed.items())))
    count = sum(map(len, failed.values()))
    return (
        f"logdirwatch's tables fail their quality checks: {count} expectations are not met in "
        f"{some_of(sorted(failed), _NAMED)}, such as of {table}: {expectations[0]}; {_WAITS}: yes, because alerts "
        "do not depend on tables, though actions and panels do"
    )


def resolved(query: str, reason: str) -> str:
    """Say that an alert ended and why."""
    return f"logdirwatch's query {query}: {ended(reason)}"


def _late(query: str) -> str:
    if query in _ALERTS_LATE:
        return f"{_WAITS}: no, because alerts about new failures come late"
    return f"{_WAITS}: yes, because alerts do not wait for it"
