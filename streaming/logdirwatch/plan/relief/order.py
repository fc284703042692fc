"""The order of the actions for a filling directory: in time before late, without loss before loss.

Among those without loss and in time, quick ones come first. Late ones come after those that win time for them, except
growing a volume, which takes long and must be started at once.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from logdirwatch.plan.action_types import ACTION_TYPES
from logdirwatch.plan.actions.action_type import Stage
from logdirwatch.plan.actions.brokers.add_log_dir import add_log_dir
from logdirwatch.plan.actions.brokers.expand_disk import expand_disk
from logdirwatch.plan.capacity.timing import stays_below_limit
from logdirwatch.plan.cluster.snapshot import ClusterSnapshot, LogDir
from logdirwatch.plan.proposal import NAMED, Policy, ProposedAction, Veto, with_vetoes
from logdirwatch.plan.relief.freed_bytes import CUT_LASTS_MS, after, is_in_time
from logdirwatch.text.words import some_of


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


def more_room(
    directory: LogDir,
    snapshot: ClusterSnapshot,
    policy: Policy,
    needed: int,
    beside: Sequence[ProposedAction] = (),
) -> list[ProposedAction]:
    """Return the growth of the volume; for what it cannot grow by, one more directory beside it.

    Nobody buys room for a directory that is known to stay below the limit with what the actions ``beside`` it free.
    """
    if stays_below_limit(after(directory, beside), policy):
        return []
    grow = expand_disk(directory, policy, needed)
    if grow.vetoes:
        return [grow, add_log_dir(directory, snapshot, policy, needed, instead=grow.vetoes)]
    short = needed - int((grow.expected["frees_bytes"] or 0) * policy.limits.target_ratio)
    if short <= 1:
        return [grow]
    why = Veto("volume_at_maximum", f"the volume under {directory.path} can grow to a part of what is needed only")
    return [grow, add_log_dir(directory, snapshot, policy, short, instead=[why])]


NOT_ENOUGH, NO_REASON = "not_enough", {"nothing_to_move", "nothing_to_cut"}
REASONS = 3
"""How many reasons people read, first what is missing."""


def with_reasons(room: Iterable[ProposedAction], instead: Sequence[Veto]) -> list[ProposedAction]:
    """Return proposals for more space with the reasons why nothing less invasive is proposed."""
    first = {veto.name: veto.reason for veto in reversed(instead)}
    names = dict.fromkeys(veto.name for veto in instead)
    telling = [name for name in names if name not in NO_REASON] or names
    told = "".join(f"; {first[name]}" for name in sorted(telling, key=lambda name: name != NOT_ENOUGH)[:REASONS])
    return [replace(proposal, reason=proposal.reason + told) for proposal in room]


# Whose history is spared: that of topics that do not fill the directory, while the producers of those that do can wait.
# What the neighbours would lose wins little time.
LONGER = 2
"""A quota that spares others must make the directory last this many times as long."""


def costs_others(proposals: Iterable[ProposedAction], filling: frozenset[str]) -> bool:
    """Tell whether a ready action deletes history of a topic that is known not to fill the directory."""
    return any(_costs_others(proposal, filling) for proposal in proposals)


def spare_others(
    proposals: Sequence[ProposedAction], brakes: Sequence[ProposedAction], filling: frozenset[str], left_ms: int | None
) -> list[ProposedAction]:
    """Return proposals with a veto on those that cost others, while a brake can be tried first.

    Enough time must be left to delete data if it is refused.
    """
    is_tried = any(not brake.vetoes for brake in brakes) and (left_ms is None or left_ms > CUT_LASTS_MS)
    if not is_tried:
        return list(proposals)
    text = (
        f"the growth is in {some_of(sorted(filling), NAMED)}: throttle its producers first; reject that action if it "
        "is refused or does not work"
    )
    veto = Veto("others_grow", text)
    return [with_vetoes(one, veto) if _costs_others(one, filling) else one for one in proposals]


def _costs_others(proposal: ProposedAction, filling: frozenset[str]) -> bool:
    is_ready = proposal.data_loss and not proposal.vetoes
    return bool(filling) and is_ready and proposal.target.get("topic") not in filling
