"""Rows as Arrow tables, and the statistics that readers skip files by."""

import json

import pyarrow as pa
import pytest

from logdirwatch.store.direct.arrow import arrow_rows, arrow_schema, keys, statistics
from logdirwatch.store.schema.columns import Table, columns
from logdirwatch.store.schema.definitions import TABLES

TABLE = Table(
    "visits",
    "Visits",
    columns("""
        guest  string              Name
        at_ms  bigint              When
        seats  int                 How many
        tags   map<string,string>  Anything
        names  array<string>       Others
    """),
    key=("guest", "at_ms"),
    clustered_by=("guest",),
    time="at_ms",
)


@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)
def test_every_column_has_a_type(table):
    assert arrow_schema(table).names == table.names


def test_rows_keep_their_values_and_are_null_where_they_say_nothing():
    rows = arrow_rows(TABLE, [{"guest": "a", "at_ms": 1, "tags": {"k": None}, "names": ["x"], "other": 5}, {}])
    nothing = dict.fromkeys(TABLE.names)
    assert rows.to_pylist() == [{**nothing, "guest": "a", "at_ms": 1, "tags": [("k", None)], "names": ["x"]}, nothing]
    assert keys(rows, TABLE.key) == [("a", 1), (None, None)]


def test_a_number_that_its_column_cannot_hold_is_an_error():
    with pytest.raises(pa.ArrowInvalid):
        arrow_rows(TABLE, [{"seats": 2**31}])


def test_statistics_bound_what_is_known_and_of_a_length_to_be_kept():
    rows = arrow_rows(TABLE, [{"guest": "b", "at_ms": 3}, {"guest": "a", "at_ms": 7}, {"at_ms": 5}])
    assert json.loads(statistics(rows, ("guest", "at_ms", "seats"))) == {
        "numRecords": 3,
        "minValues": {"guest": "a", "at_ms": 3},
        "maxValues": {"guest": "b", "at_ms": 7},
        "nullCount": {"guest": 1, "at_ms": 0, "seats": 3},
    }
    long = arrow_rows(TABLE, [{"guest": "a" * 2_000}, {"guest": "b"}])
    assert json.loads(statistics(long, ("guest",)))["minValues"] == {}
