"""Which action a message names as the next step."""

from logdirwatch.model.vocabulary import ActionStatus
from logdirwatch.notify.next_steps import NextSteps
from tests.unit.report.builders import NOW_MS, action, message

ALERT = "a" * 32
VETO = {"name": "space", "reason": "too full"}


def step_of(*actions, alert_id=ALERT):
    steps = NextSteps()
    for found in actions:
        steps.take(message(found, found.action_id))
    chosen = steps.of(alert_id, NOW_MS)
    return None if chosen is None else chosen.action_id


def test_it_is_the_first_in_the_recommended_order_that_can_be_done_now():
    vetoed = action("vetoed", position=0, vetoes=[VETO])
    assert step_of(vetoed, action("third", position=3), action("second", position=2)) == "second"


def test_it_is_of_the_alert_itself():
    assert step_of(action("x"), alert_id="other") is None


def test_what_is_closed_or_expired_is_no_step():
    assert step_of(action("x"), action("x", 2, status=ActionStatus.DONE)) is None
    assert step_of(action("x", expires_at_ms=NOW_MS - 1)) is None


def test_an_action_that_got_a_veto_is_no_step():
    assert step_of(action("x"), action("x", 2, vetoes=[VETO])) is None
