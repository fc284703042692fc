"""What is looked at first, and whose executions are gone on with."""

from msgspec.structs import replace

from logdirwatch.autopilot.candidates import candidates, left_behind, resumable
from logdirwatch.executions import ABANDONED_MS
from logdirwatch.model.vocabulary import ActionStatus, ExecutionState
from tests.unit.autopilot.world import execution, move
from tests.unit.plan.builders import NOW_MS

MINE, OTHERS, PERSON = "autopilot a", "autopilot b", "a person at the terminal"


def test_the_severest_alert_comes_first_then_the_least_invasive_action():
    page, second, first, odd = (
        replace(move(), action_id=name, alert={"severity": severity}, position=position)
        for name, severity, position in (("p", "page", 9), ("s", "warning", 1), ("f", "warning", 0), ("o", "odd", None))
    )
    assert candidates([odd, second, first, page], "c") == [page, first, second, odd]
    unplaced = replace(first, action_id="u", position=None, at_ms=first.at_ms - 1)
    assert candidates([first, unplaced], "c") == [unplaced, first], "one of an earlier release has no position"


def test_only_what_can_start_is_looked_at():
    closed = [replace(move(), status=status) for status in (ActionStatus.RUNNING, ActionStatus.DONE)]
    assert candidates([*closed, replace(move(), cluster="other")], "c") == []


def test_its_own_executions_and_those_of_an_earlier_process_are_gone_on_with():
    begun = {by: execution(move(), by, state=ExecutionState.COPYING, action_id=by) for by in (MINE, OTHERS, PERSON)}
    mine, others, persons = begun.values()
    earlier = left_behind([others, persons], "c")
    assert resumable([others, mine], "c", MINE, earlier, NOW_MS) == [others, mine]
    assert resumable([others], "c", MINE, frozenset(), NOW_MS) == []
    assert resumable([mine, others], "c", MINE, frozenset(), NOW_MS) == [], "another one acts"
    assert resumable([mine, persons], "c", MINE, earlier, NOW_MS) == [], "a person took over"
    assert resumable([mine, persons], "c", MINE, earlier, NOW_MS + ABANDONED_MS + 1) == [mine], "who is gone"
    assert resumable([mine, replace(persons, state=ExecutionState.STUCK)], "c", MINE, earlier, NOW_MS) == [mine]
    for state in (ExecutionState.DONE, ExecutionState.STUCK):
        assert left_behind([replace(mine, state=state)], "c") == frozenset()
