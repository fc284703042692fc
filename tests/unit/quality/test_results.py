"""What a look at the tables says to people."""

from logdirwatch.quality.results import Checked, failed, lines

FOUND = [
    Checked(suite="alerts", expectation="one", success=True),
    Checked(suite="alerts", expectation="two", success=True, unexpected=0),
    Checked(suite="actions", expectation="one", success=False, unexpected=3),
    Checked(suite="actions", expectation="two", success=False, error="no such column"),
    Checked(suite="actions", expectation="three", success=False),
]


def test_what_is_not_met_has_a_line_with_the_reason():
    assert list(lines(FOUND)) == [
        "alerts: 2 expectations met",
        "actions: NOT MET: one (3 rows)",
        "actions: NOT MET: two (could not be checked: no such column)",
        "actions: NOT MET: three",
    ]
    assert failed(FOUND) == {"actions": ["one", "two", "three"]}
