"""What the planner needs to know about a kind of action, apart from how it is proposed.

Each kind declares it in its own module; ``plan.action_types`` lists them all. What holds for most kinds is a default.
How a kind is seen to be done, and when a published proposal still says what matters, each of them says itself.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, IntEnum
from typing import Any, NamedTuple

from logdirwatch.collect.kafka.answers import Quorum
from logdirwatch.model.actions.operations import Operation
from logdirwatch.model.records import ActionRecord
from logdirwatch.model.vocabulary import ActionKind, OperationKind
from logdirwatch.plan.actions.progress import Progress
from logdirwatch.plan.cluster.snapshot import ClusterSnapshot
from logdirwatch.plan.proposal import Policy, ProposedAction

BETTER_BY = 1.25
"""A plan is published again when it would free this much more than the published one."""


class Stage(IntEnum):
    """The place of an action among those for a filling directory; the first stage is carried out first."""

    # Ends what fills the directory, and can be begun again.
    CANCELS = 0
    FREES_AT_ONCE = 1
    IN_TIME = 2
    # Costs producers time, but no data.
    SLOWS_WRITES = 3
    # What may come in time is tried before anything is deleted; LATE, which saves nothing, is behind even that.
    MAY_BE_LATE = 4
    LOSES_DATA = 5
    LATE = 6
    VETOED = 7


class Relief(NamedTuple):
    """How a kind is ranked among the actions for a filling directory.

    ``stage``: always this one; None: chosen by whether the action loses data and is in time. Within a stage the lower
    rank comes first: ``if_in_time`` where all of the action is in time (quick ones first), ``if_not`` where it is late
    or its duration is unknown. ``begins_at_once``: stays in front even if it is late, because it takes long and has to
    be started now.
    """

    if_in_time: int
    if_not: int
    begins_at_once: bool = False
    stage: Stage | None = None


NO_RELIEF = Relief(if_in_time=5, if_not=7)
"""For kinds that free no space in a filling directory: behind all that do."""


class FixRole(Enum):
    """The role of a kind in one plan for all alerts: it ends something, makes room until there is enough, or neither.

    ``MAKES_ROOM_WITH_LOSS`` frees no more than is needed for now.
    """

    FIRST = "first"
    MAKES_ROOM = "makes room"
    MAKES_ROOM_WITH_LOSS = "makes room with loss"
    BESIDE = "beside"


class FollowUp(NamedTuple):
    """What follows an action that was carried out.

    While its alert is firing, only leftovers of moves are followed up.
    """

    propose: Callable[[ActionRecord, ClusterSnapshot, Policy], ProposedAction | None]
    while_firing: bool = False


def frees_as_much(old: ActionRecord, plan: ActionRecord) -> bool:
    """Tell whether a published proposal frees about as much as the new plan."""
    # Estimates change with every inventory, and a new revision for each would have people read the same advice again.
    better: int = plan.expected.get("frees_bytes") or 0
    return better <= BETTER_BY * (old.expected.get("frees_bytes") or 0)


def names_all_partitions(old: ActionRecord, plan: ActionRecord) -> bool:
    """Tell whether a published proposal includes every partition of the new plan."""
    return _partitions(plan) <= _partitions(old)


def same_commands(old: ActionRecord, plan: ActionRecord) -> bool:
    """Tell whether a published proposal has exactly the commands of the new plan."""
    # A broker's list is replaced as a whole, so an older command would drop what was added to it since.
    return plan.commands == old.commands


def always_valid(action: ActionRecord, snapshot: ClusterSnapshot, beside: Policy | Quorum | None) -> Sequence[str]:  # noqa: ARG001 - one signature
    """Return no reasons: neither the tables nor live brokers show that an action of this kind is no longer valid."""
    return ()


def as_planned(old: ActionRecord | None, plan: ActionRecord) -> ActionRecord:  # noqa: ARG001 - one signature
    """Return the plan unchanged: nothing is carried over from the previous revision."""
    return plan


def as_proposed(proposal: ProposedAction, policy: Policy) -> ProposedAction:  # noqa: ARG001 - one signature
    """Return the proposal unchanged: Strimzi's operators do not care, or its operations become patches."""
    return proposal


Executes = Callable[[Operation, Mapping[str, Any]], bool]
"""Tells whether an operation is one that the kind may carry out on its target."""


def only(kind: OperationKind, inverse: OperationKind | None = None) -> Executes:
    """Return the test for operations of one kind; ``inverse``: the kind that undoes them, if it is another."""
    return lambda operation, _target: operation.op is kind and operation.inverse.op is (inverse or kind)


@dataclass(frozen=True, kw_only=True)
class ActionType:
    """One kind of action.

    ``relief`` and ``fix_role`` are of those that make room, or end something. ``progress`` returns how far an action
    is, None where no broker shows it. ``covers`` tells whether a published proposal still matches the new plan.
    ``reasons_against`` returns why a published action may no longer be carried out; ``live_check`` returns the reasons
    that only the brokers themselves show. ``carry_over`` keeps what a new revision needs from the previous one.
    ``sets_whole_list``: the command replaces a broker's whole list, so it must include the entries of other open
    actions. ``is_done_when_back``: no broker shows the action itself; it is done once its directory serves or its
    broker answers again. ``changes_declared``: it changes what a repository may declare, a configuration, quota,
    volume, permission or limit; unless a kind denies it, people are told to make the change there too.
    ``operator_reverts``: Strimzi's operators revert the direct change; ``for_strimzi`` makes the change in its
    resources. ``executes`` tells which operations the autopilot may carry out, since permission to write actions must
    not allow more than the kind does; None: it carries out none of this kind. ``cluster_acls`` are the operations on
    the cluster for which it needs ACLs.
    """

    kind: ActionKind
    progress: Callable[[ActionRecord, ClusterSnapshot], Progress | None]
    covers: Callable[[ActionRecord, ActionRecord], bool]
    relief: Relief = NO_RELIEF
    fix_role: FixRole = FixRole.BESIDE
    reasons_against: Callable[[ActionRecord, ClusterSnapshot, Policy], Sequence[str]] = always_valid
    follow_up: FollowUp | None = None
    live_check: Callable[[ActionRecord, ClusterSnapshot, Quorum | None], Iterable[str]] = always_valid
    carry_over: Callable[[ActionRecord | None, ActionRecord], ActionRecord] = as_planned
    needs_inventory: bool = True
    needs_approval: bool = True
    sets_whole_list: bool = False
    changes_declared: bool = True
    operator_reverts: bool = False
    is_done_when_back: bool = False
    for_strimzi: Callable[[ProposedAction, Policy], ProposedAction] = as_proposed
    executes: Executes | None = None
    cluster_acls: tuple[str, ...] = ()


def _partitions(action: ActionRecord) -> set[tuple[str, int]]:
    plan = action.reassignment or action.expected.get("election") or action.expected.get("cancels") or {}
    named = plan.get("partitions") or action.expected.get("copies") or ()
    return {(entry["topic"], entry["partition"]) for entry in named}
