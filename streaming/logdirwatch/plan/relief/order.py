"""The order of the actions for a filling directory: in time before late, without loss before loss.

Among those without loss and in time, quick ones come first. Late ones come after those that win time for them, except
growing a volume, which takes long and must be started at once.
"""

from collections.abc import Iterable

from logdirwatch.plan.action_types import ACTION_TYPES
from logdirwatch.plan.actions.action_type import Stage
from logdirwatch.plan.proposal import ProposedAction
from logdirwatch.plan.relief.freed_bytes import is_in_time


def in_order_of_relief(proposals: Iterable[ProposedAction]) -> list[ProposedAction]:
    """Return the actions in the order in which to carry them out; equal ones keep their order."""
    return sorted(proposals, key=_rank)


def _rank(proposal: ProposedAction) -> tuple[Stage, int]:
    relief, holds = ACTION_TYPES[proposal.kind].relief, is_in_time(proposal)
    if proposal.vetoes:
        return Stage.VETOED, 0
    if relief.stage is not None:
        return relief.stage, 0
    if proposal.data_loss:
        return Stage.LOSES_DATA, 0
    if holds is True:
        return Stage.IN_TIME, relief.if_in_time
    return (Stage.MAY_BE_LATE if holds is None or relief.begins_at_once else Stage.LATE), relief.if_not
