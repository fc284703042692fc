"""Who set a limit under which a move is late is asked for the rate that is in time, and not for less."""

from logdirwatch.plan.capacity.copy_rates import SHARE_OF_TIME_LEFT
from logdirwatch.plan.capacity.timing import time_to_full_ms
from logdirwatch.plan.recommend import recommend
from logdirwatch.plan.relief.limits_of_others import STEP
from tests.unit.plan.builders import NOW_MS, policy
from tests.unit.situations.test_filling import LIMIT, limited_by_others


def test_the_rate_that_is_asked_for_moves_the_bytes_in_the_time_that_is_left():
    alert, facts = limited_by_others(**{LIMIT: "7000000"})()
    (asked,) = [a for a in recommend(alert, facts, policy(), NOW_MS) if a.target.get("step") == STEP]
    limits = asked.expected["asked_limits"]
    assert {limit["from_bytes_per_s"] for limit in limits} == {7_000_000}
    left_ms = time_to_full_ms(facts.directories[alert.broker, alert.log_dir])
    in_half_of_it = left_ms * SHARE_OF_TIME_LEFT / 1000
    assert all(limit["to_bytes_per_s"] * in_half_of_it >= asked.expected["back_bytes"] for limit in limits)
