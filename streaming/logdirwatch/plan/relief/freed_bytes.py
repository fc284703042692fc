"""What actions free before a directory is full, and what it still lacks then.

An action that is late does not count, nor does one of unknown duration, such as growing a volume without configuration.
If it is unknown when the directory is full, all others count.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from math import inf
from typing import NamedTuple

from logdirwatch.model.records import ActionRecord
from logdirwatch.model.vocabulary import ActionKind, LogDirStatus
from logdirwatch.plan.capacity.timing import REACTION_MS, time_to_full_ms
from logdirwatch.plan.cluster.snapshot import LogDir
from logdirwatch.plan.proposal import Policy, ProposedAction

CUT_LASTS_MS = 1_800_000
"""How long deleted space must last at the present growth: two retention checks, with time to plan again."""
SLACK = 1.2
"""Space deleted to bridge a late remedy must last longer than it takes, by this factor."""


def promised_bytes(proposal: ProposedAction | ActionRecord) -> int:
    """Return the bytes that an action frees at any time, itself or through the one that it makes possible."""
    return int(proposal.expected.get("frees_bytes") or proposal.expected.get("then_frees_bytes") or 0)


class Step(NamedTuple):
    """The bytes that a step frees ``needs_ms`` after its begin, None: unknown; moves run one after the other.

    Nothing begins before a person has read, decided and carried out what is proposed.
    """

    needs_ms: int | None
    size_bytes: int
    is_move: bool = False
    begins_ms: int = REACTION_MS


def in_time_bytes(directory: LogDir, steps: Iterable[Step]) -> int:
    """Return what steps free before a directory is full: each one in time postpones that moment for the next."""
    ends, moving_ms, found = list[tuple[float, int]](), 0, 0
    for step in steps:
        takes_ms = inf if step.needs_ms is None else step.needs_ms + (moving_ms if step.is_move else 0)
        moving_ms += (step.needs_ms or 0) if step.is_move else 0
        ends.append((step.begins_ms + takes_ms, step.size_bytes))
    for at_ms, size_bytes in sorted(ends):
        left_ms = time_to_full_ms(directory, found)
        found += size_bytes if left_ms is None or at_ms < left_ms else 0
    return found


def _steps(proposals: Iterable[ProposedAction]) -> Iterator[Step]:
    """Yield the steps of actions that may be carried out; the first waves of a move are in time before its end."""
    for one in proposals:
        needs_ms, early = one.expected["needs_ms"], int(one.expected.get("in_time_bytes") or 0)
        if needs_ms is not None and not one.vetoes:
            yield Step(0, early, begins_ms=0)
            yield Step(needs_ms, promised_bytes(one) - early, is_move=one.reassignment is not None)


def freed_in_time_bytes(proposal: ProposedAction, source: LogDir) -> int:
    """Return the bytes that an action frees before the directory is full; 0 if it has vetoes."""
    return in_time_bytes(source, _steps([proposal]))


def is_in_time(proposal: ProposedAction) -> bool | None:
    """Tell whether an action takes full effect before its directory is full; None if unknown."""
    if proposal.expected["needs_ms"] == 0:
        return True
    return next((found.holds for found in proposal.preconditions if found.name == "in_time"), None)


def freed_by(proposals: Sequence[ProposedAction], source: LogDir) -> int:
    """Return the bytes that actions together free before the directory is full.

    Bytes of a topic that is both cut and moved count once.
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
    return max(in_time_bytes(source, _steps(some)) for some in ([*others, *beside], cuts))


def hoped_bytes(proposals: Iterable[ProposedAction], source: LogDir) -> int:
    """Return what others can make possible in time and without loss: a broker brought back, a throttle raised.

    Enough time must be left to delete data if they do not.
    """
    left_ms = time_to_full_ms(source)
    asked = [one for one in proposals if one.kind is ActionKind.INVESTIGATE and not one.vetoes]
    known = [one for one in asked if one.expected.get("then_needs_ms") is not None]
    if left_ms is None:
        return 0
    quick = (one for one in known if one.expected["then_needs_ms"] * SLACK + CUT_LASTS_MS < left_ms)
    return max((int(one.expected["back_bytes"]) for one in quick), default=0)


def after(source: LogDir, proposals: Sequence[ProposedAction]) -> LogDir:
    """Return a directory with the actions started: what they free in time postpones when it is full."""
    return replace(source, relief_bytes=source.relief_bytes + freed_by(proposals, source))


def bytes_to_delete(
    source: LogDir, proposals: Sequence[ProposedAction], needed: int, policy: Policy, hoped: int = 0
) -> int:
    """Return the bytes that must be deleted in addition to ``proposals``; ``needed`` are those for the target.

    ``hoped`` are those that others may free in time. No more is deleted than necessary: if a remedy without loss comes
    late, as much as lasts until then; otherwise as much as brings the directory down to ``plan.cut_ratio`` and lasts
    for :data:`CUT_LASTS_MS`. Nothing is deleted in a directory that shrinks, or, unless it is saturated, that is not
    going to be full once they have freed theirs.
    """
    left = needed - freed_by(proposals, source) - hoped
    if left <= 0:
        return 0
    growth = source.outlook_bytes_per_s
    lasts_ms = time_to_full_ms(after(source, proposals), hoped)
    is_endless = growth is not None and lasts_ms is None
    if growth is not None and (growth < 0 or (is_endless and source.status is not LogDirStatus.SATURATED)):
        return 0
    growth = max(0.0, growth or 0.0)
    lasting_bytes = growth * (lasts_ms or 0) / 1000
    limits = policy.limits
    spared = int(max(0.0, limits.cut_ratio - limits.target_ratio) * (source.total_bytes or 0))
    # One byte more is needed than what reaches the target exactly.
    above = left - spared - 1 if spared else left
    # The first remedy that loses nothing and suffices may be late.
    enough = [one for one in proposals if not one.vetoes and not one.data_loss and promised_bytes(one) >= above]
    late = (one.expected["needs_ms"] for one in enough if not freed_in_time_bytes(one, source))
    arrives_ms = None if hoped else min((REACTION_MS + needs_ms for needs_ms in late if needs_ms), default=None)
    if arrives_ms is not None:
        wanted = int(growth * arrives_ms * SLACK / 1000 - lasting_bytes)
    else:
        wanted = max(above, int(growth * CUT_LASTS_MS / 1000 - lasting_bytes))
    return min(left, max(0, wanted))
