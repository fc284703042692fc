"""Times as few spans, and tables that say what they are."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from logdirwatch.model import records
from logdirwatch.store.schema.definitions import (
    ACTIONS,
    ALERTS,
    DECISIONS,
    EXECUTIONS,
    LOG_DIR_STATE,
    TABLES,
    TRANSITIONS,
)
from logdirwatch.store.writing.batch import HOUR_MS, MOST_SPANS, joined

ONLY_IN_THE_RECORD = {EXECUTIONS.name: {"operations", "limits"}}
"""Fields that only the column ``record`` has: the operations are those of the action's revision."""

spans = st.lists(st.tuples(st.integers(0, 2**53), st.integers(0, HOUR_MS)).map(lambda s: (s[0], s[0] + s[1])))


@given(spans)
def test_every_time_stays_covered_by_few_spans_in_order(given_spans):
    found = joined(given_spans)
    assert len(found) <= MOST_SPANS
    assert all(any(low <= a and b <= high for low, high in found) for a, b in given_spans)
    assert all(before[1] < after[0] for before, after in pairwise(found))


def test_one_old_time_does_not_stretch_the_span_of_the_new():
    assert joined([(10**12, 10**12 + 5), (0, 0)]) == [(0, 0), (10**12, 10**12 + 5)]


def test_every_table_has_its_key_and_clustering_among_the_columns_that_delta_keeps_statistics_of():
    for table in TABLES.values():
        pruned = {*table.clustered_by, *filter(None, [table.time])}
        assert pruned <= set(table.names[:32]), table.name
        assert set(table.key) <= set(table.names), table.name
        assert len(set(table.names)) == len(table.names), table.name
        assert all(column.comment for column in table.columns), table.name


def test_every_field_of_a_record_has_a_column():
    spelled = {"from": "from_status", "to": "to_status", "path": "log_dir", "bytes": "planned_bytes"}
    for table, record in (
        (ALERTS, records.AlertRecord),
        (ACTIONS, records.ActionRecord),
        (DECISIONS, records.DecisionRecord),
        (TRANSITIONS, records.Transition),
        (EXECUTIONS, records.ExecutionRecord),
        (LOG_DIR_STATE, records.LogDirView),
    ):
        names = (
            {spelled.get(name, name) for name in record.__struct_encode_fields__}
            - {"version"}
            - ONLY_IN_THE_RECORD.get(table.name, set())
        )
        assert names <= set(table.names), table.name
