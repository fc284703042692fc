"""A clock that is behind makes nothing fresh: what lies ahead of it is of an age that nobody knows."""

import io

import pytest
from rich.console import Console

from logdirwatch.report.status.lines import view
from logdirwatch.report.status.snapshot import statuses
from logdirwatch.text.units import CLOCK_TOLERANCE_MS, age_ms, human_ago
from tests.unit.report.builders import NOW_MS
from tests.unit.report.status.test_lines import HOUR_MS, PATIENCE, snapshot

BACK_MS = NOW_MS - 3 * HOUR_MS
"""What the clock says after it was set back by three hours."""


@pytest.mark.parametrize(
    ("ahead_ms", "age"),
    [(-5_000, 5_000), (0, 0), (CLOCK_TOLERANCE_MS, 0), (CLOCK_TOLERANCE_MS + 1, None), (3 * HOUR_MS, None)],
)
def test_an_age_is_known_as_long_as_a_time_is_not_far_ahead(ahead_ms, age):
    assert age_ms(NOW_MS + ahead_ms, NOW_MS) == age


def test_nobody_knows_the_age_of_what_has_no_time():
    assert age_ms(None, NOW_MS) is None


def test_a_time_that_lies_ahead_is_said_to_be_of_an_unknown_age():
    assert human_ago(NOW_MS + CLOCK_TOLERANCE_MS, NOW_MS) == "0 s ago"
    assert human_ago(NOW_MS, BACK_MS) == "an unknown time ago (this clock is 3 h behind)"


@pytest.mark.parametrize("now_ms", [BACK_MS, NOW_MS - CLOCK_TOLERANCE_MS - 10_001, NOW_MS - 400 * 24 * HOUR_MS])
def test_a_clock_that_is_set_back_makes_no_data_fresh(now_ms):
    (status,) = statuses(snapshot(), now_ms, PATIENCE)
    assert (status.is_stale, status.is_inventory_stale) == (True, True)
    assert (status.data_age_ms, status.inventory_age_ms) == (None, None)
    assert [beat.age_ms for beat in status.heartbeats] == [None]
    assert [broker.status for broker in status.brokers] == ["unknown"]
    assert {one.status for broker in status.brokers for one in broker.log_dirs} == {"unknown"}
    assert (status.offline_replicas, status.partitions_at_risk) == (None, None)


def test_a_clock_that_is_set_back_is_said_first_and_loud():
    (status,) = statuses(snapshot(), BACK_MS, PATIENCE)
    console = Console(file=io.StringIO(), width=200, highlight=False)
    console.print(view(status, BACK_MS, 200, everything=True))
    shown = console.file.getvalue()
    assert "THE AGE OF THE DATA IS UNKNOWN: the clock here is 3 h behind it. Synchronize the clocks" in shown
    assert "THE AGE OF THE INVENTORY IS UNKNOWN" in shown
    assert "THE AGE OF THE HEARTBEAT IS UNKNOWN" in shown
    assert "0 s ago" not in shown
    assert "0 s old" not in shown
