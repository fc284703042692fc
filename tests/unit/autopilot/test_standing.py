"""What stops an execution that runs."""

import pytest
from msgspec.structs import replace

from logdirwatch.autopilot.standing import reason_to_stop
from logdirwatch.execute.ports import Halt
from logdirwatch.model.vocabulary import ActionStatus, Decision, ExecutionState
from tests.unit.autopilot.world import accepted, execution, facts, move
from tests.unit.plan.builders import NOW_MS

MADE = move()
RUNNING = execution(MADE, state=ExecutionState.COPYING)


def halt(made=MADE, given=None):
    return reason_to_stop(RUNNING, made, given or facts(MADE), NOW_MS)


def stops(made=MADE, given=None):
    found = halt(made, given)
    return None if found is None else found.reason


@pytest.mark.parametrize("status", [ActionStatus.PROPOSED, ActionStatus.ACCEPTED, ActionStatus.RUNNING])
def test_it_goes_on_while_its_action_is_open(status):
    assert stops(replace(MADE, status=status)) is None


def test_an_action_that_is_seen_to_be_done_is_finished():
    assert stops(replace(MADE, status=ActionStatus.DONE, operations=[])) is None


@pytest.mark.parametrize(
    "status", [ActionStatus.SUPERSEDED, ActionStatus.WITHDRAWN, ActionStatus.EXPIRED, ActionStatus.FAILED]
)
def test_an_action_that_ended_stops_it(status):
    assert stops(replace(MADE, status=status, status_reason="why")) == f"the action is {status}: why"


def test_another_content_or_no_action_stops_it():
    assert stops(replace(MADE, commands=["x"])) == "the action says something else by now"
    assert reason_to_stop(RUNNING, None, facts(MADE), NOW_MS) == Halt("its action is not on the topic any more")


@pytest.mark.parametrize(
    ("made", "given", "is_over"),
    [
        (replace(MADE, status=ActionStatus.WITHDRAWN), None, True),
        (replace(MADE, status=ActionStatus.SUPERSEDED), None, True),
        (replace(MADE, status=ActionStatus.EXPIRED), None, True),
        (replace(MADE, commands=["x"]), None, True),
        (replace(MADE, status=ActionStatus.FAILED), None, False),
        (replace(MADE, status=ActionStatus.REJECTED), None, False),
        (MADE, facts(MADE, pause=accepted(MADE, Decision.PAUSE)), False),
        (replace(MADE, status=ActionStatus.WITHDRAWN), facts(MADE, pause=accepted(MADE, Decision.PAUSE)), False),
        (MADE, facts(replace(MADE, kind="reassign")), False),
    ],
)
def test_only_where_nothing_is_needed_any_more_nobody_has_to_decide(made, given, is_over):
    assert halt(made, given).need_is_over is is_over


def test_a_decision_that_is_revoked_stops_it():
    def said(**fields):
        return facts(MADE, said={MADE.action_id: accepted(MADE, **fields)})

    assert stops(given=said(said=Decision.REJECT)) == "ann rejected it: because"
    assert stops(given=said(until_ms=NOW_MS)) == "the acceptance by ann ended: because"
    assert stops(given=said(content_hash="other")) == "ann accepted something else meanwhile"
    assert stops(given=said(until_ms=NOW_MS + 1)) is None


def test_a_pause_or_a_configuration_that_allows_it_no_longer_stops_it():
    assert stops(given=facts(MADE, pause=accepted(MADE, Decision.PAUSE))) == "ann paused it: because"
    assert "does not allow move_log_dir on c" in stops(given=facts(replace(MADE, kind="reassign")))
