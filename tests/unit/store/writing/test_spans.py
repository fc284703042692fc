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
from logdirwatch.store.writing.direct import HOUR_MS, MOST_SPANS, joined

ONLY_IN_THE_RECORD = {
    EXECUTIONS.name: {"operations", "limits", "needs_ms", "changed", "begun", "topic_ids", "cause_is_seen", "touches"}
}
"""Fields that only the column ``record`` has: operations of the action's revision, and what an execution resumes by."""

one = st.tuples(st.integers(0, 100 * HOUR_MS), st.integers(0, HOUR_MS)).map(lambda s: (s[0], s[0] + s[1]))
spans = st.integers(0, 40).flatmap(lambda number: st.lists(one, min_size=number, max_size=number))


@given(spans)
def test_every_time_stays_covered_by_few_spans_in_order_and_only_the_nearest_are_joined(given_spans):
    found = joined(given_spans)
    assert all(any(low <= a and b <= high for low, high in found) for a, b in given_spans)
    assert {end for span in found for end in span} <= {end for span in given_spans for end in span}
    between = [after[0] - before[1] for before, after in pairwise(found)]
    assert all(gap >= HOUR_MS for gap in between)
    reached = [max(high for low, high in given_spans if low <= begin) for begin, _ in sorted(given_spans)]
    gaps = sorted(begin - before for (begin, _), before in zip(sorted(given_spans)[1:], reached, strict=False))
    assert sorted(between) == [gap for gap in gaps if gap >= HOUR_MS][-(MOST_SPANS - 1) :]


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
