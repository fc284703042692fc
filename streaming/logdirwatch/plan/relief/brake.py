"""Whose history is spared: that of topics that do not fill a directory, while the producers of those that do can wait.

A topic that writes most of the growth is slowed down or cut first; what its neighbours would lose wins little time.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from logdirwatch.plan.proposal import ProposedAction, Veto
from logdirwatch.plan.relief.freed_bytes import CUT_LASTS_MS
from logdirwatch.text.words import some_of

LONGER = 2
"""A quota that spares others must make the directory last this many times as long."""
_NAMED = 3


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
        f"the growth is in {some_of(sorted(filling), _NAMED)}: throttle its producers first; reject that action if it "
        "is refused or does not work"
    )
    veto = Veto("others_grow", text)
    return [replace(one, vetoes=(*one.vetoes, veto)) if _costs_others(one, filling) else one for one in proposals]


def _costs_others(proposal: ProposedAction, filling: frozenset[str]) -> bool:
    is_ready = proposal.data_loss and not proposal.vetoes
    return bool(filling) and is_ready and proposal.target.get("topic") not in filling
