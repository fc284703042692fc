import pytest

from logdirwatch.report.words import utc
from tests.unit.report.builders import NOW_MS


@pytest.mark.parametrize(
    ("at_ms", "text"),
    [
        (NOW_MS, "2023-11-14 22:13:20Z"),
        (NOW_MS * 1000, "an unknown time"),
        (2**63, "an unknown time"),
        (-(2**62), "an unknown time"),
    ],
)
def test_a_moment_is_in_utc_and_one_beyond_the_calendar_unknown(at_ms, text):
    assert utc(at_ms) == text
