"""How far executions are, who has to look, and what is compared."""

import pytest

from logdirwatch.model.vocabulary import ActionKind, ExecutionState
from logdirwatch.report.executions import Compared, compared, counts, current, execution, unfinished
from tests.unit.report import builders
from tests.unit.report.builders import NOW_MS, action

RESUME, UNDO = (f"logdirwatch apply {option} {'c' * 32}" for option in ("--resume", "--undo"))
RELEASE = f"logdirwatch apply --release {'c' * 32} --by NAME --reason WHY"


def read(execution_id="e1", **fields):
    return execution(builders.execution(execution_id, **fields))


def test_steps_are_told_in_words_and_counted():
    one = read()
    assert one.steps == [
        "set throttles where none is set: replica.alter.log.dirs.io.max.bytes.per.second=1048576 of broker 7",
        "move orders-0 to 7:/data/d2",
        "move orders-1 to 7:/data/d2",
    ]
    assert one.progress == "step 3 of 3, 3 GiB to copy"
    assert read(step=0).progress == "step 1 of 3, 3 GiB to copy"
    assert read(step=3, bytes=None).progress == "step 3 of 3"
    assert read(kind=ActionKind.LOWER_RETENTION).progress == "step 3 of 3"


def test_the_steps_of_an_undo_lead_back():
    one = read(back=True)
    assert (one.what, one.steps[1:]) == (
        "undo of move_log_dir",
        ["move orders-0 to 7:/data/d1, orders-1 to 7:/data/d1"],
    )


@pytest.mark.parametrize("operations", [[{"op": "of_a_later_release"}], [{}], [{"op": "reassign", "args": {}}]])
def test_operations_of_a_later_release_are_counted_only(operations):
    one = read(operations=operations)
    assert (one.steps, one.progress) == (None, "2 steps done")


@pytest.mark.parametrize(
    ("state", "back", "commands"),
    [
        ("copying", False, [RESUME]),
        ("cancelling", True, [RESUME]),
        ("stuck", False, [RESUME, UNDO, RELEASE]),
        ("stuck", True, [RESUME, RELEASE]),
        ("done", False, [UNDO]),
        ("done", True, []),
        ("rolled_back", False, []),
    ],
)
def test_what_a_person_does_next_follows_from_the_state(state, back, commands):
    one = read(state=ExecutionState(state), back=back)
    assert one.commands == commands
    assert (one.next_step is None) is (not commands)


@pytest.mark.parametrize("state", ExecutionState)
def test_every_state_runs_is_stuck_or_is_over(state):
    one = read(state=state)
    assert one.is_running + one.is_stuck + (state in {"done", "rolled_back", "released"}) == 1


def test_stuck_ones_come_first_and_what_is_over_is_left_out():
    running, stuck = builders.execution("e1"), builders.execution("e2", state=ExecutionState.STUCK)
    found = unfinished([running, stuck, builders.execution("e3", state=ExecutionState.DONE)])
    assert [one.execution_id for one in found] == ["e2", "e1"]
    assert counts(found) == "1 stuck, 1 running"
    assert counts([]) == ""


def test_a_stuck_execution_that_was_undone_since_needs_nobody():
    stuck = read("e1", state=ExecutionState.STUCK)
    undone = read("e2", state=ExecutionState.DONE, back=True)
    other = read("e3", action_id="d", state=ExecutionState.STUCK)
    assert current([undone, other, stuck]) == ([other], [undone, stuck])
    assert current([stuck]) == ([stuck], [])


class TestExpectedAndObserved:
    def test_time_is_that_of_the_journal_and_bytes_those_of_the_inventory(self):
        one = read(state=ExecutionState.DONE, started_at_ms=NOW_MS - 300_000, at_ms=NOW_MS)
        seen = action(expected={"frees_bytes": 3 << 30, "needs_ms": 600_000}, observed={"frees_bytes": 2 << 30})
        assert compared(one, seen) == [Compared("time", "10 min", "5 min"), Compared("freed", "3 GiB", "2 GiB")]

    def test_what_nobody_saw_is_unknown(self):
        seen = action(expected={"copies_bytes": 1 << 30, "needs_ms": 600_000}, observed={"of": 2, "reached": 1})
        assert compared(read(), seen) == [
            Compared("time", "10 min", "unknown"),
            Compared("copied", "1 GiB", "unknown"),
            Compared("steps of its target seen", "2", "1"),
        ]

    def test_an_undo_and_an_unknown_action_are_not_compared(self):
        assert compared(read(back=True), action()) == []
        assert compared(read(), None) == []
