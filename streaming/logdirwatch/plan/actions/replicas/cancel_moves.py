"""``cancel_moves``: cancel copies that would fill a log directory, and reassignments that cannot complete."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from logdirwatch.collect.kafka.answers import Quorum
from logdirwatch.model.actions.operations import Operation
from logdirwatch.model.records import ActionRecord
from logdirwatch.model.vocabulary import ActionKind, OperationKind
from logdirwatch.plan.actions.action_type import ActionType, FixRole, Relief, Stage, names_all_partitions, only
from logdirwatch.plan.actions.parts import carried_out_by, frees
from logdirwatch.plan.actions.progress import Progress, in_steps
from logdirwatch.plan.availability import impact
from logdirwatch.plan.availability.impact import of_cancelling
from logdirwatch.plan.capacity.timing import place_target, time_to_full_ms
from logdirwatch.plan.cluster.assignment import ANY, Assignment, from_json, keys_in, to_json
from logdirwatch.plan.cluster.cordons import KEEPS_CLEANING, at_least
from logdirwatch.plan.cluster.layout import Partition
from logdirwatch.plan.cluster.snapshot import ClusterSnapshot, LogDir
from logdirwatch.plan.commands.operations import cancel_moves as cancelling
from logdirwatch.plan.commands.throttles import Limits, of_plan
from logdirwatch.plan.proposal import EXAMPLES, Policy, Precondition, ProposedAction, effect
from logdirwatch.plan.reassignment.running_copies import (
    Copy,
    DeadEnd,
    are_running,
    copies_to,
    dead_ends,
    drops_last_copy,
    filled_to,
    not_cleaned,
)
from logdirwatch.plan.reassignment.throttles import unset
from logdirwatch.plan.reassignment.tool_run import file_name
from logdirwatch.text.units import human_ratio
from logdirwatch.text.words import some_of


def propose_overflow_cancel(
    directory: LogDir, chosen: Sequence[Copy], snapshot: ClusterSnapshot, policy: Policy
) -> list[ProposedAction]:
    """Return the action that cancels the copies named by :func:`overflowing`."""
    if not chosen:
        return []
    coming = len(copies_to([directory.place], snapshot))
    text = (
        f"running moves would fill {directory.path} of broker {directory.broker} to "
        f"{human_ratio(filled_to(directory, snapshot))}: cancel {len(chosen)} of {coming}"
    )
    return [propose_copy_cancel(directory, chosen, snapshot, policy, text)]


def propose_copy_cancel(
    directory: LogDir, copies: Sequence[Copy], snapshot: ClusterSnapshot, policy: Policy, why: str
) -> ProposedAction:
    """Return the action that cancels running copies; the replicas keep serving where they are."""
    operation = _ending_copies(copies, file_name(ActionKind.CANCEL_MOVES, directory.place), snapshot)
    copied = sum(copy.copied_bytes for copy in copies if copy.destination == directory.place)
    freed = snapshot.on_disk_bytes(directory.place, copied)
    partitions = [snapshot.partitions[key] for key in dict.fromkeys(copy.replica.key for copy in copies)]
    reassigned = [partition for partition in partitions if partition.is_reassigned]
    outlook: dict[str, Any] = {"leadership": of_cancelling(reassigned, snapshot)} if reassigned else {}
    return ProposedAction(
        kind=ActionKind.CANCEL_MOVES,
        target=place_target(directory),
        reason=f"{why}; no data is lost, and the replicas keep serving where they are{_not_cleaned(copies, snapshot)}",
        expected=frees(
            directory,
            freed,
            # The bytes that were still to come are in the forecast, and no longer come.
            time_to_full_after_ms=time_to_full_ms(replace(directory, incoming_bytes=0), freed),
            spares_bytes=sum(copy.remaining_bytes for copy in copies),
            copies=[
                {
                    "topic": copy.replica.topic,
                    "partition": copy.replica.partition,
                    "broker": copy.replica.broker,
                    "log_dir": copy.replica.log_dir,
                    "remaining_bytes": copy.remaining_bytes,
                }
                for copy in copies
            ],
            **outlook,
        ),
        preconditions=(
            Precondition("nobody_needs_it", "the owner of the moves agrees to end them", None),
            Precondition("still_running", "the moves still run; the tool reports those that have ended", None),
        ),
        **{
            **carried_out_by(policy, operation),
            "undo": {"text": f"begin the moves again, from the start; {LIMITS_STAY}"},
        },
    )


def _not_cleaned(copies: Sequence[Copy], snapshot: ClusterSnapshot) -> str:
    """Say what a cancelled copy between directories leaves behind, unless the release is known to clean on."""
    if at_least(snapshot.metadata_version, KEEPS_CLEANING):
        return ""
    within = sorted({(copy.replica.topic, copy.replica.broker) for copy in copies if copy.replica.is_future})
    return f"; {not_cleaned([f'{topic} on broker {broker}' for topic, broker in within])}" if within else ""


def _ending_copies(copies: Sequence[Copy], name: str, snapshot: ClusterSnapshot) -> Operation:
    """Return the operation that ends copies; the tool needs one within a broker by its destination directory.

    ``--cancel`` cancels the reassignment of every partition named, and the moves to every directory named (Kafka 4.3.1
    ``ReassignPartitionsCommand.cancelAssignment``). A copy that a reassignment drops at its end is not a goal.
    """
    futures = {
        (copy.replica.key, copy.replica.broker): copy.replica.log_dir for copy in copies if copy.replica.is_future
    }

    def placed(one: Assignment) -> Assignment:
        return replace(one, log_dirs=tuple(futures.get((one.key, broker), ANY) for broker in one.replicas))

    partitions = [snapshot.partitions[key] for key in dict.fromkeys(copy.replica.key for copy in copies)]
    moves = [placed(_assigned(partition, ())) for partition in partitions]
    goals = [placed(_target(partition)) for partition in partitions]
    before = [_kept_by(partition) for partition in partitions]
    return cancelling(to_json(moves), to_json(goals), to_json(before), name, again=Limits())


def cancel_dead_ends(broker: int, path: str | None, snapshot: ClusterSnapshot, policy: Policy) -> list[ProposedAction]:
    """Return the cancellation of the reassignments that cannot complete and involve a broker.

    Empty if there are none.
    """
    mine = [one for one in dead_ends(snapshot) if broker in one.partition.replicas]
    if not mine:
        return []
    return [cancel_moves(broker, path, [one.partition for one in mine], snapshot, policy, why_hopeless(mine))]


def why_hopeless(found: Sequence[DeadEnd]) -> str:
    """Say how many reassignments cannot complete, and why the first cannot."""
    reasons = list(dict.fromkeys(one.why.reason for one in found))
    return f"{len(found)} reassignments can no longer end ({'; '.join(reasons[:3])})"


def cancel_moves(
    broker: int, path: str | None, partitions: Sequence[Partition], snapshot: ClusterSnapshot, policy: Policy, why: str
) -> ProposedAction:
    """Return the action that cancels running reassignments, after which their partitions can be moved otherwise.

    A partition whose only good copies are the new ones gets an action of its own: cancelling drops these copies.
    """
    harmless = [partition for partition in partitions if not drops_last_copy(partition, snapshot)]
    wave = (harmless or partitions)[: policy.limits.partitions_per_reassignment]
    kept = [partition for partition in partitions if partition not in harmless]
    targets = [_target(partition) for partition in wave]
    plan, name = to_json(targets), file_name(ActionKind.CANCEL_MOVES, (broker, path or ""))
    again = unset(of_plan(plan, log_dir_rate=None, rate=policy.limits.replication_throttle_bytes_per_s), snapshot)
    before = to_json([_kept_by(partition) for partition in wave])
    operation = cancelling(plan, plan, before, name, again=again)
    undone = f"begins them again, once their destination is back; {LIMITS_STAY}"
    by_operation = carried_out_by(policy, operation, before={"reassignment": plan}, text=undone)
    # Only people may do what drops data.
    by_operation |= {"operations": (operation,) if harmless else ()}
    examples = [
        {"partition": p.label, "adding": list(p.adding or ()), "removing": list(p.removing or ())}
        for p in wave[:EXAMPLES]
    ]
    return ProposedAction(
        kind=ActionKind.CANCEL_MOVES,
        target={"broker": broker, "log_dir": path},
        reason=f"{why}: cancel them; each partition keeps the replicas that it had{_kept(kept, snapshot)}",
        expected=effect(
            cancels=plan,
            later=len(partitions) - len(wave),
            leadership=of_cancelling(wave, snapshot),
            examples=examples,
        ),
        data_loss=not harmless,
        preconditions=(Precondition("not_wanted", "the owner of these moves agrees or cannot be found", None),),
        **by_operation,
    )


def _kept(partitions: Sequence[Partition], snapshot: ClusterSnapshot) -> str:
    if not partitions:
        return ""
    old = {b for p in partitions for b in p.replicas if b not in (p.adding or ()) and not snapshot.is_alive(b)}
    back = f"; bring broker {some_of(sorted(old))} back first" if old else ""
    named = some_of([partition.label for partition in partitions], 3)
    return f". Not so {named}: only what the move adds is in sync, and cancelling drops it{back}"


def _target(partition: Partition) -> Assignment:
    """Return what the reassignment was to reach: ``--cancel`` takes the partitions in the format of a plan."""
    return _assigned(partition, partition.removing)


def _kept_by(partition: Partition) -> Assignment:
    """Return the replicas that a partition had before its reassignment began."""
    return _assigned(partition, partition.adding)


def _assigned(partition: Partition, without: Sequence[int] | None) -> Assignment:
    # While a reassignment runs, replicas holds the old and the new ones (KIP-455).
    replicas = tuple(broker for broker in partition.replicas if broker not in (without or ()))
    return Assignment(*partition.key, replicas, (ANY,) * len(replicas))


ENDED = "none of its moves runs any more"
LIMITS_STAY = "limits that were set for them stay: throttle_left names them once nothing moves any more"


def _progress(action: ActionRecord, snapshot: ClusterSnapshot) -> Progress | None:
    """Count the reassignments that no longer run; one that completed was not cancelled."""
    if "cancels" in action.expected:
        targets = from_json(action.expected["cancels"])
        known = ((snapshot.partitions.get(target.key), target) for target in targets)
        ended = sum(p is not None and not p.is_reassigned and p.replicas != target.replicas for p, target in known)
        return in_steps(ended, ended, len(targets), snapshot)
    if "copies" not in action.expected:
        return None
    copies = action.expected["copies"]
    ended = len(copies) - are_running(copies, snapshot)
    return in_steps(ended, ended, len(copies), snapshot)


def _still_run(action: ActionRecord, snapshot: ClusterSnapshot, _quorum: Quorum | None) -> Iterator[str]:
    if "cancels" not in action.expected:
        copies = action.expected.get("copies")
        if copies and not are_running(copies, snapshot):
            yield ENDED
        return
    keys = keys_in(action.expected["cancels"])
    running = [
        snapshot.partitions[key]
        for key in keys
        if key in snapshot.partitions and snapshot.partitions[key].is_reassigned
    ]
    if not running:
        yield ENDED
    yield from (veto.reason for veto in impact.against({"leadership": of_cancelling(running, snapshot)}))


ACTION_TYPE = ActionType(
    kind=ActionKind.CANCEL_MOVES,
    relief=Relief(if_in_time=5, if_not=7, stage=Stage.CANCELS),
    fix_role=FixRole.FIRST,
    progress=_progress,
    covers=names_all_partitions,
    live_check=_still_run,
    changes_declared=False,
    executes=only(OperationKind.CANCEL_MOVES, OperationKind.REASSIGN),
    cluster_acls=("Alter",),
)
