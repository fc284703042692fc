"""``uncordon_log_dir``: let new replicas into a log directory again (KIP-1066)."""

from collections.abc import Iterator, Mapping
from typing import Any

from logdirwatch.collect.kafka.answers import Quorum
from logdirwatch.model.actions.operations import Operation
from logdirwatch.model.records import ActionRecord
from logdirwatch.model.vocabulary import ActionKind, LogDirStatus, OperationKind
from logdirwatch.plan.actions.action_type import ActionType, Relief, only, same_commands
from logdirwatch.plan.actions.parts import carried_out_by
from logdirwatch.plan.actions.progress import Progress, directory_of, in_one_step
from logdirwatch.plan.capacity.projected_use import Space
from logdirwatch.plan.capacity.timing import place_target
from logdirwatch.plan.cluster.cordons import KEY, does_more, others_cordoned
from logdirwatch.plan.cluster.snapshot import ClusterSnapshot, LogDir
from logdirwatch.plan.commands.operations import broker_list
from logdirwatch.plan.proposal import Policy, Precondition, ProposedAction, Veto, effect
from logdirwatch.text.units import human_bytes, human_ms, human_ratio


def propose_uncordon_for(
    source: LogDir, directory: LogDir, then: ProposedAction, snapshot: ClusterSnapshot, policy: Policy
) -> ProposedAction:
    """Return the uncordoning that makes room for the move ``then``."""
    used = Space(snapshot).ratio(directory.place)
    free = human_ratio(None if used is None else 1 - used)
    where = f"{directory.path} of broker {directory.broker}"
    frees, needs = then.expected["frees_bytes"], then.expected["needs_ms"]
    return ProposedAction(
        kind=ActionKind.UNCORDON_LOG_DIR,
        target=place_target(directory),
        reason=f"uncordon {where}, {free} free: then {human_bytes(frees)} of {source.path} can be moved there in "
        f"{human_ms(needs)}, and no data is lost; nothing else that is open has the room",
        expected=effect(
            needs_ms=needs,
            on=[],
            is_cordoned=False,
            then_frees_bytes=frees,
            then_kind=str(then.kind),
            in_time_bytes=then.expected.get("in_time_bytes"),
            throttle_bytes_per_s=then.expected["throttle_bytes_per_s"],
        ),
        preconditions=(
            _cordon_over(directory, snapshot),
            *(found for found in then.preconditions if found.name in {"in_time", "rate_sustained"}),
        ),
        **carried_out_by(policy, uncordoning(directory, snapshot)),
    )


def _cordon_over(directory: LogDir, snapshot: ClusterSnapshot) -> Precondition:
    """Return the precondition that nobody needs the cordon; an own one only kept new replicas out."""
    where = f"{directory.path} of broker {directory.broker}"
    # A cordon that a person set may be there because the disk is to be removed.
    if directory.place in snapshot.own_cordons:
        return Precondition("cordon_over", f"an action cordoned {where} because it was filling, nobody else did", True)
    return Precondition(
        "cordon_over",
        f"the owner of the cordon of {where} agrees: its disk is healthy, and nobody is emptying it",
        None,
    )


def propose_uncordon(directory: LogDir, snapshot: ClusterSnapshot, policy: Policy, after: str) -> ProposedAction:
    """Return the uncordoning of a directory that has room again; ``after`` is the action that set the cordon."""
    too_full = Veto("not_enough_room", f"{directory.path} is {directory.status}: new replicas would fill it again")
    return ProposedAction(
        kind=ActionKind.UNCORDON_LOG_DIR,
        target={**place_target(directory), "after": after},
        reason=f"let new replicas into {directory.path} of broker {directory.broker} again: the reason is over"
        + does_more(directory, snapshot),
        expected=effect(needs_ms=0, on=[], is_cordoned=False),
        vetoes=() if directory.status is LogDirStatus.ONLINE else (too_full,),
        **carried_out_by(policy, uncordoning(directory, snapshot)),
    )


def uncordoning(directory: LogDir, snapshot: ClusterSnapshot) -> Operation:
    """Return the operation that removes a cordon; its inverse sets it again."""
    others = others_cordoned(directory, snapshot)
    return broker_list(directory.broker, KEY, others, old=[*others, directory.path])


def cordon_progress(action: ActionRecord, snapshot: ClusterSnapshot) -> Progress | None:
    """Return whether a directory is cordoned, or not, as an action requires; None if unknown."""
    directory = directory_of(action, snapshot)
    if directory is None or directory.is_cordoned is None:
        return None
    return in_one_step(directory.is_cordoned is action.expected["is_cordoned"], snapshot)


def _is_closed(action: ActionRecord, snapshot: ClusterSnapshot, _quorum: Quorum | None) -> Iterator[str]:
    directory = directory_of(action, snapshot)
    if directory is not None and (directory.is_urgent or not directory.is_serving):
        yield f"{directory.path} of broker {directory.broker} is {directory.status}: it cannot take new replicas"


def sets_cordon(operation: Operation, target: Mapping[str, Any]) -> bool:
    """Tell whether an operation changes the broker's list of cordoned directories by the action's own alone."""
    args, back = operation.args, operation.inverse.args
    if not _SETS_LIST(operation, target) or {args.key, back.key} != {KEY}:
        return False
    changed = set(args.entries or ()) ^ set(back.entries or ())
    return args.broker == back.broker == target.get("broker") and changed == {target.get("log_dir")}


_SETS_LIST = only(OperationKind.SET_BROKER_LIST)


ACTION_TYPE = ActionType(
    kind=ActionKind.UNCORDON_LOG_DIR,
    # Quicker than a move elsewhere, which the open directories have no room for anyway.
    relief=Relief(if_in_time=1, if_not=3, begins_at_once=True),
    progress=cordon_progress,
    covers=same_commands,
    live_check=_is_closed,
    sets_whole_list=True,
    executes=sets_cordon,
    cluster_acls=("AlterConfigs",),
)
