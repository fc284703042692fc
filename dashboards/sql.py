"""The queries of the panels: written once, in Databricks SQL, and transpiled to what each engine reads.

A query is a file in ``queries``; its first comment says what it shows. It may name the files in ``queries/views`` like
tables, and has besides:

- ``:now_ms``, ``:from_ms``, ``:to_ms``, ``:interval_ms``: the moment, the time range chosen, a bucket's width;
- ``:critical_ratio`` and the like: numbers of the configuration;
- ``scoped(column, ...)``: each column has the value chosen in the dashboard's variable of its name, or all are chosen;
- ``place(cluster, broker, log_dir)``: the dashboard of that place, as its address goes on behind ``/d/``.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import sqlglot
from sqlglot import exp

QUERIES = Path(__file__).parent / "queries"
WRITTEN_IN = "databricks"
ALL = "*"
"""The value of a variable that stands for everything."""


@dataclass(frozen=True)
class Host:
    """What shows an answer: where it has the tables, and how it writes what was chosen and when (``times``)."""

    tables: str | None
    chosen: str
    times: Mapping[str, str]


TABLES = "${tables:raw}"
TIME_RANGE = {"from_ms": "${__from}", "to_ms": "${__to}", "interval_ms": "${__interval_ms}"}
# Grafana knows how to write a value so that it ends no string whatever it holds, and both engines how to read it.
GRAFANA = Host(TABLES, "url_decode('${%s:percentencode}')", TIME_RANGE)
NOW_MS = {"databricks": "unix_millis(now())", "trino": "CAST(to_unixtime(now()) * 1000 AS BIGINT)"}
PLACE = """CASE
  WHEN {cluster} = '*' THEN 'logdirwatch-pipeline'
  WHEN {broker} IS NULL THEN 'logdirwatch-cluster?var-cluster=' || url_encode({cluster})
  ELSE 'logdirwatch-directory?var-cluster=' || url_encode({cluster}) || '&var-broker=' || CAST({broker} AS STRING)
    || '&var-log_dir=' || COALESCE(url_encode({log_dir}), '$__all')
END"""


def names() -> list[str]:
    """Return every query that a panel, an annotation or a variable may name."""
    return sorted(path.stem for path in QUERIES.glob("*.sql"))


def description(name: str) -> str:
    """Return what a query shows, by its first comment."""
    lines = (QUERIES / f"{name}.sql").read_text(encoding="utf-8").splitlines()
    said = [line.removeprefix("--").strip() for line in lines[: _first_code(lines)]]
    return " ".join(said)


def columns(name: str) -> list[str]:
    """Return the columns of a query's result, in order."""
    return _query(name).named_selects


def parsed(name: str) -> exp.Query:
    """Return a query with the views that it names, as it is written."""
    return _query(name).copy()


@cache
def _query(name: str) -> exp.Query:
    return _with_views(_parsed(QUERIES / f"{name}.sql"))


def rendered(
    name: str, dialect: str, variables: frozenset[str], numbers: Mapping[str, float], host: Host = GRAFANA
) -> str:
    """Return a query as its host gets it, for an engine and a dashboard that has these variables."""

    def replaced(node: exp.Expr) -> exp.Expr:
        if isinstance(node, exp.Anonymous) and node.name == "scoped":
            return _scoped(node, variables, host)
        if isinstance(node, exp.Placeholder):
            return _value(node.name, dialect, numbers, host)
        if isinstance(node, exp.Table) and node.name in tables and host.tables is not None:
            return exp.to_table(node.name, db=exp.to_identifier(host.tables, quoted=False), alias=node.alias)
        return node

    query = parsed(name)
    tables = own_tables(query)
    # The query is a copy already.
    return query.transform(replaced, copy=False).sql(dialect=dialect, copy=False, pretty=True, comments=False)


def own_tables(query: exp.Query) -> set[str]:
    """Return the tables that a query reads, its own ``WITH`` left out."""
    defined = {each.alias for each in query.find_all(exp.CTE)}
    return {table.name for table in query.find_all(exp.Table)} - defined - {""}


def _with_views(query: exp.Query) -> exp.Query:
    """Put the views in front, each before those that name it."""
    written = list(query.ctes)
    needed = dict.fromkeys(_needed(query))
    if needed:
        views = [
            exp.CTE(this=_view(name).copy(), alias=exp.TableAlias(this=exp.to_identifier(name))) for name in needed
        ]
        query.set("with_", exp.With(expressions=[*views, *(each.copy() for each in written)]))
    return query


def _needed(query: exp.Query) -> Iterator[str]:
    for name in sorted(own_tables(query) & _views()):
        yield from _needed(_view(name))
        yield name


@cache
def _views() -> frozenset[str]:
    return frozenset(path.stem for path in (QUERIES / "views").glob("*.sql"))


@cache
def _view(name: str) -> exp.Query:
    return _parsed(QUERIES / "views" / f"{name}.sql")


def _parsed(path: Path) -> exp.Query:
    query = sqlglot.parse_one(path.read_text(encoding="utf-8"), dialect=WRITTEN_IN).transform(_known_function)
    if not isinstance(query, exp.Query):
        raise TypeError(f"{path.name} is not a query")
    return query


def _known_function(node: exp.Expr) -> exp.Expr:
    """Spell out what is ours, and what sqlglot would not write as it is meant."""
    if isinstance(node, exp.Anonymous) and node.name == "TIMESTAMP_MILLIS":
        return exp.UnixToTime(this=node.expressions[0], scale=exp.UnixToTime.MILLIS)
    if isinstance(node, exp.Bracket):
        # Trino fails at a key that is not there, unless asked this way.
        return exp.Anonymous(this="ELEMENT_AT", expressions=[node.this, *node.expressions])
    if isinstance(node, exp.Anonymous) and node.name == "place":
        parts = (each.sql(dialect=WRITTEN_IN) for each in node.expressions)
        place = PLACE.format(**dict(zip(("cluster", "broker", "log_dir"), parts, strict=True)))
        return sqlglot.parse_one(place, dialect=WRITTEN_IN)
    return node


def _scoped(node: exp.Anonymous, variables: frozenset[str], host: Host) -> exp.Expr:
    conditions = [_chosen(column, host) for column in node.expressions if column.name in variables]
    return exp.paren(exp.and_(*conditions), copy=False) if conditions else exp.true()


def _chosen(column: exp.Expr, host: Host) -> exp.Expr:
    chosen = sqlglot.parse_one(host.chosen % column.name, dialect=WRITTEN_IN)
    value = exp.TryCast(this=chosen, to=exp.DataType.build("int")) if column.name == "broker" else chosen
    return exp.or_(exp.Literal.string(ALL).eq(chosen), column.eq(value))


def _value(name: str, dialect: str, numbers: Mapping[str, float], host: Host) -> exp.Expr:
    if name in numbers:
        return exp.Literal.number(f"{numbers[name]:E}" if isinstance(numbers[name], float) else numbers[name])
    return exp.var(NOW_MS[dialect] if name == "now_ms" else host.times[name])


def _first_code(lines: list[str]) -> int:
    return next(number for number, line in enumerate(lines) if not line.startswith("--"))
