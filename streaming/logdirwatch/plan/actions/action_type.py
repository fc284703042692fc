"""What the planner must know of a kind of action, beside how it is proposed.

Each kind states it in its own file; ``plan.action_types`` has them all. Nothing here has a default that a kind could
forget to think about, but the flags that hold for few.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import Enum, IntEnum
from typing import NamedTuple

from logdirwatch.collect.kafka.answers import Quorum
from logdirwatch.model.records import ActionRecord
from logdirwatch.model.vocabulary import ActionKind
from logdirwatch.plan.actions.progress import Progress
from logdirwatch.plan.cluster.snapshot import ClusterSnapshot
from logdirwatch.plan.proposal import Policy, ProposedAction

BETTER_BY = 1.25
"""A plan is written again when it would free this much more than the published one."""


class Stage(IntEnum):
    """Where an action stands among those that answer a filling directory; the first is to be carried out first."""

    CANCELS = 0
    FREES_AT_ONCE = 1
    IN_TIME = 2
    SLOWS_WRITES = 3
    MAY_BE_LATE = 4
    LOSES_DATA = 5
    LATE = 6
    ONLY_NAMED = 7
    VETOED = 8


class Relief(NamedTuple):
    """How a kind ranks among those that answer a filling directory.

    ``stage`` is the one that it always has; None: by whether it loses data, and is in time. Within a stage the lower
    rank is first: ``if_in_time`` where all of it is, quick ones first; ``if_not`` where that is late or not known.
    ``begins_at_once``: what comes late is not put behind, as it takes its time and must be begun.
    """

    if_in_time: int
    if_not: int
    begins_at_once: bool = False
    stage: Stage | None = None


NO_RELIEF = Relief(if_in_time=5, if_not=7)
"""Of kinds that give a filling directory no room: behind all that do."""


class FixRole(Enum):
    """What a kind is in one plan for all alerts: what ends first, what gives room until it is enough, or neither.

    ``MAKES_ROOM_WITH_LOSS`` gives no more than is needed for now. ``NEVER`` is named for a person to think about.
    """

    FIRST = "first"
    MAKES_ROOM = "makes room"
    MAKES_ROOM_WITH_LOSS = "makes room with loss"
    BESIDE = "beside"
    NEVER = "never"


class FollowUp(NamedTuple):
    """What follows an action that was carried out; while its alert fires only what moves left behind."""

    propose: Callable[[ActionRecord, ClusterSnapshot, Policy], ProposedAction | None]
    while_firing: bool = False


def frees_as_much(old: ActionRecord, plan: ActionRecord) -> bool:
    """Tell whether a published proposal frees about what the new plan would."""
    better: int = plan.expected.get("frees_bytes") or 0
    return better <= BETTER_BY * (old.expected.get("frees_bytes") or 0)


def names_all_partitions(old: ActionRecord, plan: ActionRecord) -> bool:
    """Tell whether a published proposal names all partitions that the new plan names."""
    return _partitions(plan) <= _partitions(old)


def same_commands(old: ActionRecord, plan: ActionRecord) -> bool:
    """Tell whether a published proposal has the very commands of the new plan."""
    return plan.commands == old.commands


def always_valid(action: ActionRecord, snapshot: ClusterSnapshot, policy: Policy) -> Sequence[str]:  # noqa: ARG001 - one signature
    """Return no reason: what the action asks for does not become wrong by itself."""
    return ()


def no_live_check(action: ActionRecord, snapshot: ClusterSnapshot, quorum: Quorum | None) -> Iterable[str]:  # noqa: ARG001 - ditto
    """Return no reason that only live brokers can tell."""
    return ()


def as_planned(old: ActionRecord | None, plan: ActionRecord) -> ActionRecord:  # noqa: ARG001 - one signature
    """Return the plan: nothing of the revision before is carried over."""
    return plan


@dataclass(frozen=True, kw_only=True)
class ActionType:
    """One kind of action.

    ``progress`` tells how far an action is, None where no broker shows it. ``covers`` tells whether a published
    proposal still says what matters of the new plan. ``reasons_against`` says why a published action may no longer be
    carried out, ``live_check`` what only the brokers themselves can tell of that. ``carry_over`` keeps what a new
    revision must remember of the one before.

    ``sets_whole_list``: its command sets a broker's whole list, so it must say what others want of it too.
    ``is_done_when_back``: no broker shows it, but it is done once its directory serves or its broker answers again.
    """

    kind: ActionKind
    relief: Relief
    fix_role: FixRole
    progress: Callable[[ActionRecord, ClusterSnapshot], Progress | None]
    covers: Callable[[ActionRecord, ActionRecord], bool]
    reasons_against: Callable[[ActionRecord, ClusterSnapshot, Policy], Sequence[str]]
    follow_up: FollowUp | None
    live_check: Callable[[ActionRecord, ClusterSnapshot, Quorum | None], Iterable[str]] = no_live_check
    carry_over: Callable[[ActionRecord | None, ActionRecord], ActionRecord] = as_planned
    needs_inventory: bool = True
    needs_approval: bool = True
    sets_whole_list: bool = False
    is_done_when_back: bool = False


def _partitions(action: ActionRecord) -> set[tuple[str, int]]:
    plan = action.reassignment or action.expected.get("election") or action.expected.get("cancels") or {}
    named = plan.get("partitions") or action.expected.get("copies") or ()
    return {(entry["topic"], entry["partition"]) for entry in named}
