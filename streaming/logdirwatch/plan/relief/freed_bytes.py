"""What actions give a directory before it is full, and what it still lacks then.

A remedy that comes too late is none, nor one of which nobody knows how long it takes, as a volume's growth is where it
is not configured. Where it is not known when the directory is full, all others count.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

from logdirwatch.model.vocabulary import ActionKind, LogDirStatus
from logdirwatch.plan.action_types import ACTION_TYPES
from logdirwatch.plan.actions.action_type import Stage
from logdirwatch.plan.capacity.timing import time_to_full_ms
from logdirwatch.plan.cluster.snapshot import LogDir
from logdirwatch.plan.proposal import Policy, ProposedAction

URGENT = frozenset({LogDirStatus.CRITICAL, LogDirStatus.SATURATED})
"""From here on something is given up to win time: the reserve, the producers' speed, records."""
CUT_LASTS_MS = 1_800_000
"""What is deleted must last so long at the present growth: for two checks of retention, and to look again meanwhile."""
SLACK = 1.2
"""What is deleted until a late remedy comes must last longer than that takes."""


def promised_bytes(proposal: ProposedAction) -> int:
    """Return the bytes that an action frees, by itself or by what it makes possible, whenever that is."""
    return int(proposal.expected["frees_bytes"] or proposal.expected.get("then_frees_bytes") or 0)


def freed_in_time_bytes(proposal: ProposedAction, source: LogDir) -> int:
    """Return the bytes that an action frees before the directory is full; none where something speaks against it."""
    if (
        proposal.vetoes
        or ACTION_TYPES[proposal.kind].relief.stage is Stage.ONLY_NAMED
        or proposal.expected["needs_ms"] is None
    ):
        return 0
    frees = promised_bytes(proposal)
    if time_to_full_ms(source) is None or is_in_time(proposal):
        return frees
    return int(proposal.expected.get("in_time_bytes") or 0)


class Freed(NamedTuple):
    """Bytes that a step frees, and when; None where nobody knows."""

    at_ms: int | None
    size_bytes: int


def in_time_bytes(directory: LogDir, steps: Iterable[Freed]) -> int:
    """Return what steps free before a directory is full: each that is in time makes it last for the next."""
    if time_to_full_ms(directory) is None:
        return sum(step.size_bytes for step in steps)
    found = 0
    for step in sorted((step for step in steps if step.at_ms is not None), key=lambda step: step.at_ms or 0):
        left_ms = time_to_full_ms(directory, found)
        if left_ms is not None and (step.at_ms or 0) < left_ms:
            found += step.size_bytes
    return found


def is_in_time(proposal: ProposedAction) -> bool | None:
    """Tell whether all of an action takes effect before its directory is full; None where nobody knows."""
    if proposal.expected["needs_ms"] == 0:
        return True
    return next((found.holds for found in proposal.preconditions if found.name == "in_time"), None)


def freed_by(proposals: Sequence[ProposedAction], source: LogDir) -> int:
    """Return the bytes that actions give the directory together before it is full.

    A cut of a topic that is moved frees bytes that the move frees as well.
    """
    cuts = [proposal for proposal in proposals if proposal.kind is ActionKind.LOWER_RETENTION]
    others = [proposal for proposal in proposals if proposal.kind is not ActionKind.LOWER_RETENTION]
    moved = {
        entry["topic"]
        for proposal in others
        if not proposal.vetoes
        for entry in (proposal.reassignment or {"partitions": ()})["partitions"]
    }
    beside = [proposal for proposal in cuts if proposal.target["topic"] not in moved]
    return max(_counted([*others, *beside], source), _counted(cuts, source))


def hoped_bytes(proposals: Iterable[ProposedAction], source: LogDir) -> int:
    """Return what somebody else can make possible in time and without loss: a broker back, a limit raised.

    There must be time left to delete something if it does not come to that.
    """
    return max((_hoped(proposal, source) for proposal in proposals), default=0)


def _hoped(proposal: ProposedAction, source: LogDir) -> int:
    needs_ms, left_ms = proposal.expected.get("then_needs_ms"), time_to_full_ms(source)
    if proposal.kind is not ActionKind.INVESTIGATE or proposal.vetoes or needs_ms is None or left_ms is None:
        return 0
    return int(proposal.expected["back_bytes"]) if needs_ms * SLACK + CUT_LASTS_MS < left_ms else 0


def after(source: LogDir, proposals: Sequence[ProposedAction]) -> LogDir:
    """Return a directory as it fills once actions were begun: what they free in time makes it last longer."""
    return replace(source, relief_bytes=source.relief_bytes + freed_by(proposals, source))


def bytes_to_delete(
    source: LogDir, proposals: Sequence[ProposedAction], needed: int, policy: Policy, hoped: int = 0
) -> int:
    """Return the bytes that must be deleted although ``proposals`` are done; ``needed`` are those for the target.

    ``hoped`` are those that somebody else may make possible in time. Nothing is deleted that can be had otherwise:
    where a remedy comes late, as much as lasts until then; else as much as brings the directory down to
    ``plan.cut_ratio``, and lasts for :data:`CUT_LASTS_MS`. What does not grow does not get full: it is left as it is.
    """
    left = needed - freed_by(proposals, source) - hoped
    if left <= 0:
        return 0
    growth = source.growth_bytes_per_s
    if growth is not None and (growth < 0 or (growth <= 0 and source.status is not LogDirStatus.SATURATED)):
        return 0
    growth = max(0.0, growth or 0.0)
    lasting_bytes = growth * (time_to_full_ms(after(source, proposals), hoped) or 0) / 1000
    limits = policy.limits
    spared = int(max(0.0, limits.cut_ratio - limits.target_ratio) * (source.total_bytes or 0))
    # What is needed for the target is a byte more than what reaches it.
    above = left - spared - 1 if spared else left
    arrives_ms = None if hoped else _late_remedy_ms(proposals, above)
    if arrives_ms is not None:
        wanted = int(growth * arrives_ms * SLACK / 1000 - lasting_bytes)
    else:
        wanted = max(above, int(growth * CUT_LASTS_MS / 1000 - lasting_bytes))
    return min(left, max(0, wanted))


def _late_remedy_ms(proposals: Iterable[ProposedAction], wanted: int) -> int | None:
    """Return when the first remedy that loses nothing, gives enough, and comes too late is there."""
    late = [
        proposal
        for proposal in proposals
        if not proposal.vetoes and not proposal.data_loss and is_in_time(proposal) is False
    ]
    enough = [proposal for proposal in late if promised_bytes(proposal) >= wanted]
    return min((proposal.expected["needs_ms"] for proposal in enough if proposal.expected["needs_ms"]), default=None)


def _counted(proposals: Iterable[ProposedAction], source: LogDir) -> int:
    return sum(freed_in_time_bytes(proposal, source) for proposal in proposals)
