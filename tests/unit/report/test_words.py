import pytest

from logdirwatch.report.words import change


@pytest.mark.parametrize(
    ("from_status", "to_status", "cause", "text"),
    [
        ("online", "offline", "full", "online > offline (full)"),
        (None, "offline", None, "offline"),
        ("leaderless", "leaderless", None, ""),
        ("offline", "offline", "failed", "(failed)"),
        (None, None, None, ""),
    ],
)
def test_a_transition_says_nothing_where_nothing_changed(from_status, to_status, cause, text):
    assert change(from_status, to_status, cause) == text
