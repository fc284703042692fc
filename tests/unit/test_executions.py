"""Which execution holds a cluster: after every stop nothing else begins before the stop has ended."""

import pytest
from msgspec.structs import replace

from logdirwatch.executions import ABANDONED_MS, held_by, hold_of, may_begin, passing, share, ways_on
from logdirwatch.model.vocabulary import ActionKind, ExecutionState
from tests.unit.autopilot.world import execution, move
from tests.unit.plan.builders import NOW_MS

STOPPED = execution(move(), state=ExecutionState.STUCK, execution_id="1", reason="why")
SEEN = replace(STOPPED, cause_is_seen=True)
BEGUN = replace(STOPPED, state=ExecutionState.COPYING, reason=None)
DONE = replace(BEGUN, state=ExecutionState.DONE)
RELEASED = replace(STOPPED, state=ExecutionState.RELEASED, reason="released by ann")
UNDO = replace(BEGUN, back=True, execution_id="2")
UNDO_STOPPED = replace(UNDO, state=ExecutionState.STUCK, reason="why")
NOT_BEGUN = replace(SEEN, state=ExecutionState.ROLLED_BACK)


def other(record):
    return replace(record, execution_id="3", action_id="other")


BESIDE, STOPPED_BESIDE = (replace(other(one), started_at_ms=NOW_MS - 1) for one in (DONE, SEEN))


@pytest.mark.parametrize(
    ("records", "held"),
    {
        "nothing": ([], None),
        "it runs": ([BEGUN], BEGUN),
        "it has stopped": ([STOPPED], STOPPED),
        "it has ended": ([DONE], None),
        "it has stopped, and others ended before": ([other(DONE), STOPPED], STOPPED),
        "it has stopped, and others ended since": ([STOPPED, other(DONE)], STOPPED),
        "its undo runs": ([STOPPED, UNDO], UNDO),
        "its undo has stopped": ([STOPPED, UNDO_STOPPED], UNDO_STOPPED),
        "it is undone": ([STOPPED, replace(UNDO, state=ExecutionState.DONE)], None),
        "its undo was rolled back": ([STOPPED, replace(UNDO, state=ExecutionState.ROLLED_BACK)], None),
        "it is released": ([RELEASED], None),
        "another one is released": ([STOPPED, other(RELEASED)], STOPPED),
        "the next of its action made no call": ([STOPPED, replace(NOT_BEGUN, execution_id="2")], STOPPED),
        "its cause may be over": ([other(DONE), SEEN], SEEN),
        "its cause was over, and the next one began": ([SEEN, other(DONE)], None),
        "its cause may be over, and what ran beside it has ended": ([SEEN, BESIDE], SEEN),
        "it was stopped before its first call": ([NOT_BEGUN], NOT_BEGUN),
        "a person stopped it before that": ([replace(NOT_BEGUN, cause_is_seen=False)], None),
    }.values(),
)
def test_what_has_stopped_holds_its_cluster_until_that_has_ended(records, held):
    assert hold_of(records) == held


def test_of_several_stops_whose_cause_may_be_over_each_is_looked_at():
    assert passing([SEEN, BESIDE, STOPPED_BESIDE, replace(BESIDE, execution_id="4")]) == [SEEN, STOPPED_BESIDE]
    assert passing([SEEN, STOPPED_BESIDE, replace(DONE, execution_id="4", action_id="next")]) == []


@pytest.mark.parametrize(
    ("touched", "others", "is_shared"),
    [
        (["brokers 1", "topics t"], ["brokers 2", "topics u"], False),
        (["brokers 1"], ["brokers 1"], True),
        (["brokers 1", "topics t"], ["brokers 2", "topics t"], True),
        (None, ["brokers 1"], True),
        (["brokers 1"], None, True),
    ],
)
def test_executions_share_a_broker_a_topic_or_the_whole_cluster(touched, others, is_shared):
    assert share(touched, others) == is_shared


@pytest.mark.parametrize("state", [ExecutionState.COPYING, ExecutionState.STUCK])
def test_a_person_goes_on_with_one_beside_another_that_touches_nothing_of_it(state):
    mine, beside = (replace(one, touches=[name]) for one, name in ((STOPPED, "brokers 1"), (other(BEGUN), "brokers 2")))
    beside = replace(beside, state=state)
    assert may_begin(mine, [beside, mine], NOW_MS)
    assert may_begin(replace(UNDO, touches=mine.touches), [beside, mine], NOW_MS)
    assert not may_begin(mine, [replace(beside, touches=None), mine], NOW_MS)
    assert not may_begin(replace(mine, execution_id="5", action_id="new"), [beside, mine], NOW_MS)


@pytest.mark.parametrize(
    ("begins", "hold", "later_ms", "may"),
    [
        (STOPPED, STOPPED, 0, True),
        (UNDO, STOPPED, 0, True),
        (UNDO, BEGUN, 0, False),
        (UNDO, BEGUN, ABANDONED_MS + 1, True),
        (other(UNDO), STOPPED, 0, False),
        (replace(BEGUN, execution_id="2"), STOPPED, ABANDONED_MS + 1, False),
    ],
)
def test_despite_a_stop_only_what_ends_it_begins(begins, hold, later_ms, may):
    assert may_begin(begins, [hold], NOW_MS + later_ms) == may


def test_a_hold_is_told_in_one_line():
    told = f"the execution of move_log_dir {STOPPED.action_id} by autopilot a on c is "
    ends = f"; go on with it or end it: {' or '.join(ways_on(STOPPED))}"
    assert held_by(STOPPED, NOW_MS) == f"{told}stuck (why){ends}"
    assert held_by(BEGUN, NOW_MS) == f"{told}copying and unfinished{ends}"
    assert "copying, and its process has written nothing for 20 min" in held_by(BEGUN, NOW_MS + 1_200_000)


@pytest.mark.parametrize(
    ("record", "options"),
    [
        (STOPPED, ["--resume", "--undo", "--release"]),
        (UNDO, ["--resume", "--release"]),
        (replace(STOPPED, kind=ActionKind.ELECT_LEADERS), ["--resume", "--release"]),
        (NOT_BEGUN, ["--release"]),
    ],
)
def test_the_ways_on_are_those_that_there_are(record, options):
    assert [command.split()[2] for command in ways_on(record)] == options
