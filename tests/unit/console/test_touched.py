"""What an action makes of the directories that it touches."""

import pytest

from logdirwatch.console.touched import Touched, touched

ROW = {"broker": 7, "log_dir": "/d1", "total_bytes": 100, "usable_bytes": 10}


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"broker": 7, "log_dir": "/d1", "bytes": 40}, Touched(7, "/d1", 40, 0.9, 0.5)),
        ({"broker": 7, "log_dir": "/d1", "bytes": -20}, Touched(7, "/d1", -20, 0.9, 1.0)),
        ({"broker": 7, "log_dir": "/d2", "bytes": 40}, Touched(7, "/d2", 40, None, None)),
    ],
)
def test_use_before_and_after_by_the_present_rows(change, expected):
    assert touched({"on": [change]}, [ROW]) == [expected]


@pytest.mark.parametrize("expected", [{}, {"on": None}, {"on": [{"broker": 7}]}])
def test_what_is_not_expected_is_not_shown(expected):
    assert touched(expected, [ROW]) == []
