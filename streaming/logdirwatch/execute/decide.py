"""The next thing to do about a step, from the cluster's present state: the same after a start, a wait or a kill."""

from collections.abc import Sequence

from logdirwatch.execute.calls import (
    Call,
    ChangeConfig,
    Do,
    ElectLeaders,
    Next,
    PlaceReplicas,
    Progress,
    Reached,
    Reassign,
    Stuck,
    Wait,
)
from logdirwatch.execute.seen import Seen
from logdirwatch.execute.step_kinds import cancel, elect, move, order, set_config, throttle
from logdirwatch.execute.step_kinds.cancel import Cancel
from logdirwatch.execute.step_kinds.elect import Elect
from logdirwatch.execute.step_kinds.order import Order
from logdirwatch.execute.step_kinds.set_config import SetConfig
from logdirwatch.execute.step_kinds.throttle import Throttle, limits_to_clear
from logdirwatch.execute.steps import Settle, Step
from logdirwatch.plan.commands.throttles import Limit

__all__ = (
    "Call",
    "ChangeConfig",
    "Do",
    "ElectLeaders",
    "Next",
    "PlaceReplicas",
    "Progress",
    "Reached",
    "Reassign",
    "Stuck",
    "Wait",
    "decide",
    "limits_to_clear",
)


def decide(step: Step, seen: Seen, ours: Sequence[Limit]) -> Next:
    """Return what to do about a step; ``ours`` are the throttles that this execution has recorded as its own."""
    if isinstance(step, SetConfig):
        return set_config.decide(step, seen)
    if isinstance(step, Throttle):
        return throttle.decide(step, seen, ours)
    if isinstance(step, Settle):
        return Reached()
    if isinstance(step, Order):
        return order.decide(step, seen)
    if isinstance(step, Elect):
        return elect.decide(step, seen)
    return cancel.decide(step, seen) if isinstance(step, Cancel) else move.decide(step, seen)
