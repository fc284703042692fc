"""``clear_throttles``: delete throttles that nothing needs."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from logdirwatch.collect.kafka.answers import Quorum
from logdirwatch.model.records import ActionRecord
from logdirwatch.model.vocabulary import LOG_DIR_THROTTLE, REPLICATION_THROTTLES, ActionKind, OperationKind
from logdirwatch.plan.actions.action_type import ActionType, frees_as_much, only
from logdirwatch.plan.actions.parts import carried_out_by
from logdirwatch.plan.actions.progress import Progress, in_one_step, was_begun
from logdirwatch.plan.cluster.snapshot import ClusterSnapshot
from logdirwatch.plan.commands.operations import clear_throttles, from_record, limits_of
from logdirwatch.plan.commands.throttles import Limits, from_data
from logdirwatch.plan.proposal import Policy, Precondition, ProposedAction, Veto, effect, vetoes_of
from logdirwatch.plan.reassignment.throttles import SETS_LIMITS, lists_of, rates_of, still_ours
from logdirwatch.text.words import counted

_EXAMPLES = 5


def propose_clear(
    limits: Limits,
    snapshot: ClusterSnapshot,
    policy: Policy,
    target: Mapping[str, Any],
    keys: Iterable[str] | None = None,
) -> ProposedAction | None:
    """Return the deletion of throttles that nothing needs, None if there are none.

    ``keys`` are the rates that may be deleted, None: all.
    """
    allowed = None if keys is None else set(keys)
    rates = {
        broker: {key: rate for key, rate in found.items() if allowed is None or key in allowed}
        for broker, found in limits.brokers.items()
    }
    rates = {broker: found for broker, found in rates.items() if found}
    if not rates and not limits.topics:
        return None
    cleared, said = Limits(rates, limits.topics), _said(rates, limits.topics)
    return ProposedAction(
        kind=ActionKind.CLEAR_THROTTLES,
        target=target,
        reason=f"remove {said}: its move has ended, and it throttles replicas that catch up",
        expected=effect(
            needs_ms=0,
            clears={
                "brokers": {str(broker): dict(found) for broker, found in rates.items()},
                "topics": {topic: sorted(found) for topic, found in limits.topics.items()},
            },
        ),
        # A throttle in the way still belongs to its owner.
        preconditions=()
        if "after" in target
        else (Precondition("throttle_agreed", f"the owner of {said} agrees or cannot be found", None),),
        vetoes=vetoes_of(_still_needed(cleared, snapshot)),
        **carried_out_by(policy, clear_throttles(cleared)),
    )


def are_cleared(clears: Mapping[str, Any], snapshot: ClusterSnapshot) -> bool:
    """Tell whether none of the throttles that an action named is set any more."""
    of_brokers = any(
        key in rates_of(snapshot.brokers[int(number)].configs)
        for number, keys in clears["brokers"].items()
        if int(number) in snapshot.brokers
        for key in keys
    )
    of_topics = any(
        set(keys) & set(lists_of(snapshot.topics[name]))
        for name, keys in clears["topics"].items()
        if name in snapshot.topics
    )
    return not of_brokers and not of_topics


def _still_needed(limits: Limits, snapshot: ClusterSnapshot) -> Veto | None:
    """Veto while a throttled move runs: without the throttle it would use the whole bandwidth (KIP-73)."""
    rates = limits.brokers
    # The lists of throttled replicas have no effect without a rate, so they belong to moves between brokers too
    # (KIP-73).
    is_between = bool(limits.topics) or any(set(found) & set(REPLICATION_THROTTLES) for found in rates.values())
    moving = [snapshot.partitions[key] for key in sorted(snapshot.layout.moving) if key in snapshot.partitions]
    moved = [partition.label for partition in moving if is_between and partition.is_reassigned]
    within = {broker for broker, found in rates.items() if LOG_DIR_THROTTLE in found}
    copies = [copy for found in snapshot.layout.copies_of.values() for copy in found]
    moved += [f"{copy.topic}-{copy.partition}" for copy in copies if copy.broker in within]
    many = counted(len(moved), "replica still moves", "replicas still move")
    return Veto("move_needs_throttle", f"{many} under it: {', '.join(moved[:_EXAMPLES])}") if moved else None


def _said(rates: Mapping[int, Mapping[str, int]], topics: Mapping[str, Mapping[str, str]]) -> str:
    told = [f"{key} of broker {broker}" for broker, found in rates.items() for key in found]
    if topics:
        told.append(f"the lists of throttled replicas of {', '.join(sorted(topics)[:_EXAMPLES])}")
    return ", ".join(told)


def clear_left_behind(action: ActionRecord, snapshot: ClusterSnapshot, policy: Policy) -> ProposedAction | None:
    """Return the deletion of throttles that a plan set and did not clear, if they still have its values."""
    if SETS_LIMITS not in action.expected or not was_begun(action):
        return None
    target = {"broker": action.target["broker"], "log_dir": action.target["log_dir"], "after": action.action_id}
    return propose_clear(still_ours(from_data(action.expected[SETS_LIMITS]), snapshot), snapshot, policy, target)


def _progress(action: ActionRecord, snapshot: ClusterSnapshot) -> Progress | None:
    if "clears" in action.expected:
        return in_one_step(are_cleared(action.expected["clears"], snapshot), snapshot)
    if "raises" not in action.expected:
        return None
    # An action of release 0.2.0, which proposed the command.
    raised = action.expected["raises"]
    value = snapshot.configs_of(raised["broker"]).get(raised["key"])
    is_raised = None if value is None else int(value) >= action.expected["throttle_bytes_per_s"]
    return in_one_step(is_raised, snapshot)


def _is_needed(action: ActionRecord, snapshot: ClusterSnapshot, _quorum: Quorum | None) -> Iterator[str]:
    needed = (_still_needed(limits_of(one.args), snapshot) for one in from_record(action.operations))
    yield from (veto.reason for veto in needed if veto is not None)


ACTION_TYPE = ActionType(
    kind=ActionKind.CLEAR_THROTTLES,
    progress=_progress,
    covers=frees_as_much,
    live_check=_is_needed,
    changes_declared=False,
    executes=only(OperationKind.CLEAR_THROTTLES, OperationKind.SET_THROTTLES),
    cluster_acls=("AlterConfigs",),
)
