"""The demo waits longer on a busy machine, within bounds, and says so."""

import pytest

from logdirwatch_lab.demo.patience import LONGEST, said, stretch, too_busy


@pytest.mark.parametrize(
    ("load", "processors", "by"),
    [(0.0, 2, 1.0), (4.0, 2, 1.0), (8.0, 2, 2.0), (20.0, 2, 5.0), (200.0, 2, LONGEST), (20.0, 16, 1.0), (3.0, 0, 1.5)],
)
def test_deadlines_stretch_with_what_wants_to_run(load, processors, by):
    assert stretch(load, processors) == by


def test_a_busy_machine_is_said_in_one_line_and_an_idle_one_is_not():
    assert said(1.0, 2, 180) is None
    line = said(20.0, 2, 180)
    assert "20 processes share 2 processors" in line
    assert "Waiting up to 15 min instead of 3 min" in line
    assert "\n" not in line


def test_what_was_missed_on_a_busy_machine_is_told_with_what_to_do():
    assert too_busy(4.0, 2) is None
    assert too_busy(20.0, 2) == (
        "this machine is too busy: 20 processes want 2 processors; give it less to do and try again"
    )
