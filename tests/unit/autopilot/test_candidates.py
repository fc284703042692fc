"""What is looked at first, and whose executions are gone on with."""

from msgspec.structs import replace

from logdirwatch.autopilot.candidates import candidates, left_behind, resumable
from logdirwatch.model.vocabulary import ActionStatus, ExecutionState
from tests.unit.autopilot.world import execution, move

MINE, OTHERS, PERSON = "autopilot a", "autopilot b", "a person at the terminal"


def test_the_severest_alert_comes_first_then_the_least_invasive_action():
    page, second, first, odd = (
        replace(move(), action_id=name, alert={"severity": severity}, position=position)
        for name, severity, position in (("p", "page", 9), ("s", "warning", 1), ("f", "warning", 0), ("o", "odd", None))
    )
    assert candidates([odd, second, first, page], "c") == [page, first, second, odd]


def test_only_what_can_start_is_looked_at():
    closed = [replace(move(), status=status) for status in (ActionStatus.RUNNING, ActionStatus.DONE)]
    assert candidates([*closed, replace(move(), cluster="other")], "c") == []


def test_its_own_executions_and_those_of_an_earlier_process_are_gone_on_with():
    begun = {by: execution(move(), by, state=ExecutionState.COPYING, action_id=by) for by in (MINE, OTHERS, PERSON)}
    mine, others, persons = begun.values()
    assert resumable([persons, others, mine], "c", MINE, frozenset()) == mine
    assert resumable([others], "c", MINE, frozenset()) is None
    earlier = left_behind([others, persons], "c")
    assert resumable([persons, others], "c", MINE, earlier) == others
    for state in (ExecutionState.DONE, ExecutionState.STUCK):
        assert left_behind([replace(mine, state=state)], "c") == frozenset()
