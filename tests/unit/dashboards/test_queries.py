"""The queries: they parse, they name what is there, and no value that is chosen can end a string."""

import pytest
import sqlglot
from sqlglot import exp
from sqlglot.optimizer.qualify import qualify

from dashboards import sql
from dashboards.fields import FIELDS
from logdirwatch.store.schema.definitions import TABLES

NUMBERS = {"critical_ratio": 0.85, "state_patience_ms": 1, "inventory_patience_ms": 1, "longest_said_ms": 1}
EVERYTHING = frozenset({"cluster", "broker", "log_dir"})
SCHEMA = {table.name: {column.name: column.kind for column in table.columns} for table in TABLES.values()}
VIEWS = sorted(path.stem for path in (sql.QUERIES / "views").glob("*.sql"))


@pytest.mark.parametrize("name", sql.names())
def test_every_table_and_column_is_one_of_the_schemas(name):
    query = sql.parsed(name).transform(without_what_is_ours)
    assert sql.own_tables(query) <= set(SCHEMA)
    # Raises for a column that no table of its query has.
    qualify(query, schema=SCHEMA, dialect=sql.WRITTEN_IN, validate_qualify_columns=True)


@pytest.mark.parametrize("name", sql.names())
@pytest.mark.parametrize("engine", ["databricks", "trino"])
def test_what_grafana_gets_parses_once_its_variables_are_filled_in(name, engine):
    text = sql.rendered(name, engine, EVERYTHING, NUMBERS)
    filled = text.replace(sql.TABLES, "c.s")
    for variable in sql.TIME_RANGE.values():
        filled = filled.replace(variable, "1")
    parsed = sqlglot.parse_one(filled, dialect=engine)
    assert parsed.named_selects == sql.columns(name)
    assert not list(parsed.find_all(exp.Placeholder))
    assert {table.name for table in parsed.find_all(exp.Table) if table.db} <= set(SCHEMA)
    assert ";" not in text, "the Databricks plugin would cut it there"


@pytest.mark.parametrize("name", sql.names())
def test_a_variable_is_read_only_where_the_dashboard_has_it(name):
    assert "percentencode" not in sql.rendered(name, "trino", frozenset(), NUMBERS)
    only_cluster = sql.rendered(name, "trino", frozenset({"cluster"}), NUMBERS)
    assert "${broker" not in only_cluster
    assert "${log_dir" not in only_cluster


def test_chosen_values_reach_the_query_only_where_nothing_can_break_out():
    for name in sql.names():
        text = sql.rendered(name, "databricks", EVERYTHING, NUMBERS)
        rest = text.replace(sql.TABLES, "")
        for variable in [*sql.TIME_RANGE.values(), *(f"'${{{column}:percentencode}}'" for column in EVERYTHING)]:
            rest = rest.replace(variable, "")
        assert "$" not in rest.replace("'$__all'", "").replace("'$.", ""), name


@pytest.mark.parametrize("name", [*sql.names(), *(f"views/{view}" for view in VIEWS)])
def test_every_query_says_what_it_shows(name):
    assert sql.description(name).endswith("."), "the first comment is the panel's description"


def test_every_view_is_used():
    used = {each.alias for name in sql.names() for each in sql.parsed(name).find_all(exp.CTE)}
    assert set(VIEWS) <= used
    assert not set(VIEWS) & set(SCHEMA)


def test_every_column_has_a_title_and_no_title_is_without_a_column():
    assert {column for name in sql.names() for column in sql.columns(name)} == set(FIELDS)


def test_views_come_before_what_names_them():
    names = [each.alias for each in sql.parsed("room_answers").ctes]
    assert names.index("known") < names.index("directories") < names.index("disks") < names.index("rooms")


def without_what_is_ours(node):
    """Replace what only we know: numbers for placeholders, the columns themselves for ``scoped``."""
    if isinstance(node, exp.Placeholder):
        return exp.Literal.number(1)
    if isinstance(node, exp.Anonymous) and node.name == "scoped":
        return exp.and_(*(column.is_(exp.null()).not_() for column in node.expressions))
    return node
