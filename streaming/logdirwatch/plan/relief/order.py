"""The order of what answers a filling directory: what is in time before what is not, what loses nothing before loss.

Among what loses nothing and is in time the quick comes first. What comes late stands behind what wins the time for it,
but a bigger volume: that takes its time and must be begun at once.
"""

from collections.abc import Iterable

from logdirwatch.model.vocabulary import ActionKind
from logdirwatch.plan.proposal import Draft
from logdirwatch.plan.relief.freed_bytes import is_in_time

STOPS, LOOK, QUICK, IN_TIME, BRAKE, UNSURE, LOSS, LATE, NAMED, VETOED = range(10)

_QUICK_KINDS = (
    ActionKind.EXPAND_DISK,
    ActionKind.UNCORDON_LOG_DIR,
    ActionKind.MOVE_LOG_DIR,
    ActionKind.REASSIGN,
    ActionKind.LOWER_RETENTION,
)
_UNSURE_KINDS = (
    ActionKind.MOVE_LOG_DIR,
    ActionKind.REASSIGN,
    ActionKind.LOWER_RETENTION,
    ActionKind.UNCORDON_LOG_DIR,
    ActionKind.EXPAND_DISK,
    ActionKind.ADD_LOG_DIR,
    ActionKind.INVESTIGATE,
)
_FIXED = {
    ActionKind.CANCEL_MOVES: STOPS,
    ActionKind.RELEASE_RESERVE: QUICK,
    ActionKind.THROTTLE_PRODUCERS: BRAKE,
    ActionKind.DELETE_TOPIC_CANDIDATE: NAMED,
}
_BEGIN_AT_ONCE = frozenset(
    {ActionKind.EXPAND_DISK, ActionKind.UNCORDON_LOG_DIR, ActionKind.ADD_LOG_DIR, ActionKind.LOWER_RETENTION}
)


def in_sequence(drafts: Iterable[Draft]) -> list[Draft]:
    """Return the actions in the order in which they are to be carried out; of equal ones the first stays first."""
    return sorted(drafts, key=_rank)


def _rank(draft: Draft) -> tuple[int, int]:
    if draft.vetoes:
        return VETOED, 0
    if draft.kind in _FIXED:
        return _FIXED[draft.kind], 0
    if draft.data_loss:
        return LOSS, 0
    return _of_lossless(draft)


def _of_lossless(draft: Draft) -> tuple[int, int]:
    holds = is_in_time(draft)
    if holds is True:
        return IN_TIME, _place(draft, _QUICK_KINDS)
    if holds is None or draft.kind in _BEGIN_AT_ONCE:
        return UNSURE, _place(draft, _UNSURE_KINDS)
    return LATE, _place(draft, _UNSURE_KINDS)


def _place(draft: Draft, kinds: tuple[ActionKind, ...]) -> int:
    return kinds.index(draft.kind) if draft.kind in kinds else len(kinds)
