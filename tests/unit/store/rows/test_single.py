"""Records of which there are few, as rows."""

import pytest

from logdirwatch.store.rows.single import rejected
from logdirwatch.store.rows.thin import Placed, Position, Thin
from logdirwatch.store.schema.definitions import REJECTED_RECORDS


@pytest.mark.parametrize(("cluster", "written"), [("prod", "prod"), (None, "unknown")])
def test_a_rejected_record_is_a_row_of_its_table(cluster, written):
    position = Position("metrics", 1, 2, 3, b"k", b"\xff")
    (row,) = rejected(Placed(Thin("rejected", cluster, "i", 0, 3, reason="no JSON"), position))
    assert set(row) <= set(REJECTED_RECORDS.names)
    assert {name: row[name] for name in (*position._fields, "cluster", "reason")} == {
        **position._asdict(),
        "cluster": written,
        "reason": "no JSON",
    }
