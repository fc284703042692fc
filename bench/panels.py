"""The queries of the dashboards as a person asks them, and how long an engine takes for each."""

import statistics
from collections.abc import Callable, Iterator

from lakehouse import DAY_MS, NOW_MS, seconds_of
from tests.sql.grafana import Asked, asked, filled

FROM_MS = NOW_MS - 7 * DAY_MS
LIMIT_S = 2.0
CHOSEN = {"cluster": "cluster-3", "broker": "7", "log_dir": "/data/d4"}
# Of these boards one cluster, broker or directory is looked at; of the others everything.
NARROW = ("directory", "cluster", "room")
HEADER = ("query", "median s", "longest s")
Ask = Callable[[str], object]


def distinct(engine: str, tables: str = "TABLES") -> dict[Asked, str]:
    """Return the queries that differ once they are filled in."""
    texts: dict[str, Asked] = {}
    for query in asked(engine):
        chosen = CHOSEN if query.board in NARROW else dict.fromkeys(CHOSEN, "*")
        text = filled(query.text, tables, NOW_MS, FROM_MS, NOW_MS, interval_ms=1_200_000, **chosen)
        texts.setdefault(text, query)
    return {query: text for text, query in texts.items()}


def timed(queries: dict[Asked, str], ask: Ask, rounds: int) -> Iterator[tuple[object, ...]]:
    """Yield each query with the median and the longest of some rounds after one that is not counted."""
    late = 0
    for query, text in queries.items():
        ask(text)
        seconds = [seconds_of(lambda text=text: ask(text)) for _ in range(rounds)]  # type: ignore[misc]
        late += max(seconds) > LIMIT_S
        yield query, statistics.median(seconds), max(seconds)
    yield f"longer than {LIMIT_S:g} s: {late} of {len(queries)}", "", ""
