"""What people read about the maintenance of a table."""

import pytest

from logdirwatch.store.upkeep.results import Upkept, line

LOOKED = {"files_before": 3, "bytes_before": 2048}


@pytest.mark.parametrize(
    ("found", "said"),
    [
        ({"is_there": False}, "t: does not exist yet"),
        ({**LOOKED, "error": "away", "files_after": 1}, "t: away"),
        ({**LOOKED, "expired_rows": 1}, "t: 3 files, 2 KiB; 1 row is past their retention"),
        ({**LOOKED, "expired_rows": 2}, "t: 3 files, 2 KiB; 2 rows are past their retention"),
        (LOOKED, "t: 3 files, 2 KiB; 0 rows are past their retention"),
        (
            {**LOOKED, "expired_rows": 1, "files_after": 1, "bytes_after": 1024},
            "t: 1 row deleted; 3 files, 2 KiB before, 1 file, 1 KiB now",
        ),
        (
            {**LOOKED, "files_before": None, "files_after": 0, "bytes_after": 0},
            "t: 0 rows deleted; 0 files, 2 KiB before, 0 files, 0 B now",
        ),
    ],
)
def test_a_table_is_one_line(found, said):
    assert line(Upkept(table="t", **found)) == said
