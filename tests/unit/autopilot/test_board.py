"""Whoever asks the board waits for a reading that is newer than the question."""

import threading

import pytest

from logdirwatch.autopilot.board import Board, Limits, Reading
from logdirwatch.autopilot.settings import AutopilotSettings
from logdirwatch.plan.settings import PlanSettings


class Condition(threading.Condition):
    """Lets something happen while somebody waits, and lets him look only if that wakes him up."""

    def __init__(self, happens):
        super().__init__()
        self.happens, self.wakes = happens, False

    def notify_all(self):
        self.wakes = True

    def wait_for(self, predicate, timeout=None):
        if not predicate():
            self.happens()
        return self.wakes and predicate()


def asked(happens, reading):
    """Ask for a reading that began at 5 or later; return whether the wait was over, and the answer."""
    board, over = Board(Limits(AutopilotSettings(), lambda _: PlanSettings(), 1)), []
    board.post(reading)
    board._changed = Condition(lambda: happens(board))
    wait_for = board._changed.wait_for
    board._changed.wait_for = lambda *given: over.append(wait_for(*given))
    return board.newer_than(5, 30.0), over


OLD, NEWER = Reading(began_ms=4), Reading(began_ms=5)


@pytest.mark.parametrize(
    ("before", "happens", "found", "is_over"),
    [
        (Reading(), lambda board: board.post(NEWER), NEWER, True),
        (OLD, lambda board: board.post(NEWER), NEWER, True),
        (OLD, lambda board: board.post(OLD), None, False),
        (OLD, Board.close, None, True),
        (OLD, lambda board: None, None, False),
    ],
    ids=["the first reading", "a newer one", "another old one", "the end", "nothing"],
)
def test_a_newer_reading_ends_the_wait_and_so_does_the_end_of_the_service(before, happens, found, is_over):
    assert asked(happens, before) == (found, [is_over])
