"""When a query's progress is published: often while there is a problem and a while after it, otherwise rarely.

A healthy stream adds only one record in ten minutes to its own input. A query whose timers fire only with input gets a
record at every check that found no other. Pure.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from logdirwatch.model.evidence.stream import LostRange, RejectedRows
from logdirwatch.model.records import PipelineRecord
from logdirwatch.pipeline.meter import QueryLag

QUIET_INTERVAL_MS = 600_000
AFTERWARDS_MS = 180_000
"""Long enough for an alert about lag to end."""
MOST_REASONS = 20


@dataclass
class Teller:
    """Unpublished results about one query; ``at_ms`` is when it was last published, or began.

    ``lag_ms`` is the lag, beyond its trigger, from which there is a problem to publish. ``needs_input``: the query runs
    no batch without input, and therefore no timer.
    """

    query: str
    trigger_ms: int
    lag_ms: int
    at_ms: int
    is_measured: bool = True
    away_ms: int | None = None
    needs_input: bool = False
    _own_rows: int = 0
    _rejected: list[RejectedRows] = field(default_factory=list)
    _lost: list[LostRange] = field(default_factory=list)
    _read_rows: int = 0
    _until_ms: int = 0

    def record(
        self, lag: QueryLag | None, rejected: Iterable[RejectedRows], at_ms: int, *, is_active: bool
    ) -> PipelineRecord | None:
        """Return what to publish after one check, if it is time; without a lag only rejected rows are known."""
        self._take(lag, rejected)
        away_ms = self._away_ms(lag)
        lag_ms = lag.lag_ms if lag is not None and self.is_measured else None
        is_behind = lag_ms is not None and lag_ms - self.trigger_ms >= self.lag_ms
        if is_behind or away_ms or self._rejected or self._lost:
            self._until_ms = at_ms + AFTERWARDS_MS
        is_idle, self._own_rows = self._is_idle(lag), 0
        if not is_idle and at_ms >= self._until_ms and at_ms - self.at_ms < QUIET_INTERVAL_MS:
            return None
        self._own_rows = 1
        self.at_ms = max(at_ms, self.at_ms + 1)
        told = PipelineRecord(
            version=1,
            query=self.query,
            timestamp_ms=self.at_ms,
            interval_ms=QUIET_INTERVAL_MS,
            trigger_ms=self.trigger_ms,
            is_active=is_active,
            lag_ms=lag_ms,
            away_ms=away_ms,
            behind=lag.behind if lag is not None and self.is_measured else None,
            read_rows=None if lag is None else self._read_rows,
            rejected=self._rejected,
            lost=self._lost,
        )
        self._rejected, self._lost, self._read_rows = [], [], 0
        return told

    def _take(self, lag: QueryLag | None, rejected: Iterable[RejectedRows]) -> None:
        self._rejected = merged([*self._rejected, *rejected])
        if lag is not None:
            self._lost = [*self._lost, *lag.lost]
            self._read_rows += lag.read_rows

    def _is_idle(self, lag: QueryLag | None) -> bool:
        """Tell whether the query needs input and read nothing since the last check but what was published then."""
        return self.needs_input and lag is not None and lag.read_rows <= self._own_rows

    def _away_ms(self, lag: QueryLag | None) -> int | None:
        """Return once how long the stream was down, if the query then found something unread."""
        if lag is None or not lag.found_unread or not self.is_measured:
            return None
        away_ms, self.away_ms = self.away_ms, None
        return away_ms if away_ms is not None and away_ms >= self.lag_ms else None


def merged(rejected: Iterable[RejectedRows]) -> list[RejectedRows]:
    """Return rejected rows grouped by topic and reason, the most frequent first; only a few reasons are kept."""
    rows: Counter[tuple[str, str]] = Counter()
    examples: dict[tuple[str, str], str] = {}
    for found in rejected:
        rows[found.topic, found.reason] += found.rows
        examples.setdefault((found.topic, found.reason), found.example)
    kept = rows.most_common(MOST_REASONS)
    return [RejectedRows(topic=key[0], reason=key[1], rows=count, example=examples[key]) for key, count in kept]
