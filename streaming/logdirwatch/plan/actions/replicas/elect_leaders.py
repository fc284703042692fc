"""``elect_leaders``: return leadership to preferred replicas, or to any replica left, which loses data.

A preferred election needs the first assigned replica alive and in sync (Kafka 4.3.1 ``PartitionChangeBuilder``
``electPreferredLeader``). An unclean one takes the first that is alive, and records that only the others had are lost.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from logdirwatch.collect.kafka.answers import Quorum
from logdirwatch.model.identity import identity
from logdirwatch.model.records import ActionRecord
from logdirwatch.model.vocabulary import ActionKind, Cause, OperationKind
from logdirwatch.plan.actions.action_type import ActionType, names_all_partitions, only
from logdirwatch.plan.actions.parts import carried_out_by
from logdirwatch.plan.actions.progress import Progress, in_steps
from logdirwatch.plan.availability import leadership as leaders
from logdirwatch.plan.availability.fault_tolerance import cannot_lead, is_short_of_room
from logdirwatch.plan.availability.impact import of_election
from logdirwatch.plan.cluster.assignment import keys_in
from logdirwatch.plan.cluster.layout import Partition
from logdirwatch.plan.cluster.snapshot import ClusterSnapshot
from logdirwatch.plan.commands.operations import elect_leaders
from logdirwatch.plan.proposal import EXAMPLES, Policy, Precondition, ProposedAction, Veto, effect, vetoes_of
from logdirwatch.text.words import counted, some_of


def elect_preferred(target: Mapping[str, Any], snapshot: ClusterSnapshot, policy: Policy) -> list[ProposedAction]:
    """Return the election of preferred leaders that could lead and do not; empty if there are none."""
    chosen = _in_order((p for p in snapshot.partitions.values() if _waits_for_its_leader(p, snapshot)), snapshot)
    wave = chosen[: policy.limits.partitions_per_reassignment]
    if not wave:
        return []
    operation = elect_leaders(election_json(wave), _file_name("preferred", target))
    leaders_move = "leaders move again with the next election; no data is touched"
    return [
        ProposedAction(
            kind=ActionKind.ELECT_LEADERS,
            target={**target, "election": "preferred"},
            reason=f"give leadership of {counted(len(wave), 'partition')} back to their preferred replicas, "
            "which are in sync again: after failures leaders gather on the brokers that were left",
            expected=_elected(wave, len(chosen), leadership=of_election(wave, snapshot)),
            preconditions=(Precondition("no_move_runs", "no reassignment of these partitions is running", True),),
            **{**carried_out_by(policy, operation), "undo": {"text": leaders_move}},
        )
    ]


def elect_unclean(
    target: Mapping[str, Any], snapshot: ClusterSnapshot, policy: Policy, veto: Veto | None
) -> list[ProposedAction]:
    """Return the election of out-of-sync replicas, for partitions that no other replica can lead.

    KIP-18 leaves it to ``offlinePartitionLeaderSelector``. It loses acknowledged records that only the lost replicas
    have, so a person decides, and only once those cannot come back; until then there is a ``veto``. Partitions whose
    data may be intact come after the others.
    """
    chosen = _in_order((p for p in snapshot.partitions.values() if _has_only_stale_ones_left(p, snapshot)), snapshot)
    hopeless = [p for p in chosen if not _intact_on(p, snapshot)]
    wave = (hopeless or chosen)[: policy.limits.partitions_per_reassignment]
    if not wave:
        return []
    lost = ", ".join(map(str, sorted({broker for p in wave for broker in (*p.isr, *(p.elr or ()))}))) or None
    only = "brokers that are gone" if lost is None else f"broker{'s' if ',' in lost else ''} {lost}"
    first = [{"partition": p.label, "leader": _stale(p, snapshot)[0]} for p in wave[:EXAMPLES]]
    return [
        ProposedAction(
            kind=ActionKind.ELECT_LEADERS,
            target={**target, "election": "unclean"},
            reason=f"{counted(len(wave), 'partition has', 'partitions have')} no leader, "
            "and only replicas that were not in sync are left; electing "
            f"these loses the records that only {only} had: bring those back instead if possible",
            expected=_elected(wave, len(chosen), examples=first),
            preconditions=(
                Precondition("cannot_come_back", f"the data of {only} is permanently lost", None),
                Precondition("owner_agrees", "the owners agree to lose the records that only these brokers had", None),
            ),
            # Commands without an operation: no machine decides to lose records.
            commands=tuple(policy.tools.elect([p.key for p in wave], _file_name("unclean", target), unclean=True)),
            undo={"text": "cannot be undone: returning replicas are truncated to the log of the new leader"},
            vetoes=vetoes_of(veto, _may_be_intact(wave, snapshot)),
            data_loss=True,
        )
    ]


def _in_order(partitions: Iterable[Partition], snapshot: ClusterSnapshot) -> list[Partition]:
    """Return partitions in the order of their election: those of internal topics first."""
    # Without __consumer_offsets and __transaction_state clients stop even where their own partitions are led.
    return sorted(partitions, key=lambda p: (not snapshot.topics[p.topic].is_internal, p.key))


def _elected(wave: Sequence[Partition], of: int, **more: Any) -> dict[str, Any]:
    return effect(elections=len(wave), election=election_json(wave), **{**more, "later": of - len(wave)})


def _may_be_intact(partitions: Sequence[Partition], snapshot: ClusterSnapshot) -> Veto | None:
    """Veto giving up data that still exists: starting a broker or fixing a directory brings it back."""
    brokers = sorted({broker for partition in partitions for broker in _intact_on(partition, snapshot)})
    if not brokers:
        return None
    text = (
        f"the data may be intact on broker {some_of(brokers)}: it may still run, or no disk of it is known to be dead"
    )
    return Veto("data_may_be_intact", text)


def _intact_on(partition: Partition, snapshot: ClusterSnapshot) -> set[int]:
    """Return the brokers with a complete copy of a partition on a disk that did not fail.

    Not those known to be gone, unless as planned.
    """
    # A replica that left the ISR may still be complete: the controller keeps it in the ELR, and in the last known ELR
    # after an unclean shutdown (KIP-966).
    holders = {*partition.isr, *(partition.elr or ()), *(partition.last_known_elr or ())}
    there = {one for one in holders if not snapshot.is_gone(one) or snapshot.is_in_maintenance(one)}
    return {broker for broker in there if not _is_lost(partition, broker, snapshot)}


def _is_lost(partition: Partition, broker: int, snapshot: ClusterSnapshot) -> bool:
    """Tell whether a broker's replica was on a failed disk.

    If its directory is unknown, whether all of the broker's directories that do not serve failed.
    """
    found = [one.place for one in snapshot.replicas_of(partition.key) if one.broker == broker]
    there = [snapshot.directories[place] for place in found if place in snapshot.directories]
    there = there or [d for d in snapshot.directories_of.get(broker, ()) if not d.is_serving]
    return bool(there) and all(d.cause is Cause.FAILED for d in there)


def election_json(partitions: Sequence[Partition]) -> dict[str, Any]:
    """Return the content of ``kafka-leader-election --path-to-json-file``."""
    return {"partitions": [{"topic": p.topic, "partition": p.partition} for p in partitions]}


def _waits_for_its_leader(partition: Partition, snapshot: ClusterSnapshot) -> bool:
    # While a partition is reassigned, the first replica may be one that is still copied.
    if not partition.replicas or partition.leader in {None, partition.replicas[0]} or partition.is_reassigned:
        return False
    first = partition.replicas[0]
    is_fit = snapshot.all_serving(first) and cannot_lead(partition, snapshot, first) is None
    return is_fit and not is_short_of_room(partition, snapshot, first)


def _has_only_stale_ones_left(partition: Partition, snapshot: ClusterSnapshot) -> bool:
    """Tell whether nobody leads a partition on a healthy broker, and none of its replicas that live is in sync."""
    leader = partition.leader
    if leader is not None and snapshot.is_alive(leader) and snapshot.all_serving(leader):
        return False
    is_led = leaders.current_leadership(partition, snapshot).leader is not None
    return not is_led and bool(_stale(partition, snapshot))


def _stale(partition: Partition, snapshot: ClusterSnapshot) -> tuple[int, ...]:
    live = leaders.live_replicas(partition, snapshot)
    return tuple(broker for broker in partition.replicas if broker in live)


def _file_name(kind: str, target: Mapping[str, Any]) -> str:
    """Return the file name of an election, in the working directory; the same action always gets the same name."""
    words = identity(*(f"{key}={value}" for key, value in sorted(target.items())))
    return f"logdirwatch-elect-{kind}-{words[:8]}.json"


def _progress(action: ActionRecord, snapshot: ClusterSnapshot) -> Progress | None:
    if "election" not in action.expected:
        return None
    keys = keys_in(action.expected["election"])
    led = [p for key in keys if (p := snapshot.partitions.get(key)) is not None and p.leader is not None]
    is_preferred = action.target.get("election") == "preferred"
    reached = sum(partition.leader == partition.replicas[0] or not is_preferred for partition in led)
    return in_steps(reached, reached, len(keys), snapshot)


def _may_be_held(action: ActionRecord, snapshot: ClusterSnapshot, _quorum: Quorum | None) -> Iterator[str]:
    """Yield why an election would elect no leader, or is no longer needed."""
    is_preferred = action.target.get("election") == "preferred"
    keys = keys_in(action.expected.get("election"))
    for partition in (snapshot.partitions[key] for key in keys if key in snapshot.partitions):
        if is_preferred and not partition.replicas:
            yield f"the replicas of {partition.label} are not known"
        elif is_preferred:
            yield from (veto.reason for veto in vetoes_of(cannot_lead(partition, snapshot, partition.replicas[0])))
        if not is_preferred and partition.leader is not None:
            yield f"{partition.label} has a leader again: broker {partition.leader}"


ACTION_TYPE = ActionType(
    kind=ActionKind.ELECT_LEADERS,
    progress=_progress,
    covers=names_all_partitions,
    live_check=_may_be_held,
    changes_declared=False,
    executes=only(OperationKind.ELECT_LEADERS),
    cluster_acls=("Alter",),
)
