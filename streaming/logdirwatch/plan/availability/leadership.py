"""Who will lead a partition, and who will be in sync, after one step of a plan.

The rule is KIP-18's: the in-sync replicas lose the broker, a follower's loss changes no leader, and of a leader's loss
the first assigned replica that is in sync and alive takes over. Kafka 4.3.1 (``PartitionChangeBuilder``) adds what
happens when nobody is left: without eligible leader replicas (KIP-966) the last member stays in the ISR and there is no
leader; with them the ISR is empty, and the eligible ones, then the last known leader, may lead.

Whether a cluster uses eligible leader replicas shows only when one is needed. The predicted leader is the same either
way, as who is eligible then was the ISR's last member.
"""

from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace

from logdirwatch.model.vocabulary import LogDirStatus
from logdirwatch.plan.cluster.layout import Partition
from logdirwatch.plan.cluster.snapshot import ClusterSnapshot

MIN_ISR = "min.insync.replicas"


@dataclass(frozen=True, slots=True)
class LeadershipState:
    """One partition: assigned replicas in order of preference, its leader, who is in sync, who else may lead.

    ``min_isr`` None where the topic's configuration is not known; then nobody becomes eligible by falling below it.
    """

    replicas: tuple[int, ...]
    leader: int | None
    isr: tuple[int, ...]
    elr: tuple[int, ...] = ()
    last_known: tuple[int, ...] = ()
    min_isr: int | None = None

    def in_order(self, brokers: AbstractSet[int]) -> tuple[int, ...]:
        """Return the brokers as the assignment orders them."""
        return tuple(broker for broker in self.replicas if broker in brokers)


def standing(partition: Partition, snapshot: ClusterSnapshot) -> LeadershipState:
    """Return how a partition stands as its metadata was last seen."""
    return LeadershipState(
        replicas=partition.replicas,
        leader=partition.leader,
        isr=partition.isr,
        elr=partition.elr or (),
        last_known=partition.last_known_elr or (),
        min_isr=min_isr(partition, snapshot),
    )


def current_leadership(partition: Partition, snapshot: ClusterSnapshot) -> LeadershipState:
    """Return how a partition stands once Kafka took notice of what is dead by now; the metadata may be older."""
    live, found = live_replicas(partition, snapshot), standing(partition, snapshot)
    for broker in partition.isr:
        if broker not in live:
            found = without(found, broker, live, has_elr=snapshot.layout.uses_elr)
    return _with_leader(found, live)


def min_isr(partition: Partition, snapshot: ClusterSnapshot) -> int | None:
    """Return how many replicas must be in sync for writes.

    Never more than there are (Kafka 4.3.1 ``Partition.effectiveMinIsr``).
    """
    topic = snapshot.topics.get(partition.topic)
    value = None if topic is None else topic.configs.get(MIN_ISR)
    return None if value is None else min(int(value), len(partition.replicas))


def live_replicas(partition: Partition, snapshot: ClusterSnapshot) -> frozenset[int]:
    """Return the brokers whose replica Kafka counts on: alive, its directory not offline (``KRaftMetadataCache``)."""
    lost = set(partition.offline_replicas)
    for replica in snapshot.replicas_of(partition.key):
        directory = snapshot.directories.get(replica.place)
        if directory is not None and directory.status is LogDirStatus.OFFLINE:
            lost.add(replica.broker)
    return frozenset(broker for broker in partition.replicas if snapshot.is_alive(broker) and broker not in lost)


def elected(state: LeadershipState, live: AbstractSet[int]) -> int | None:
    """Return who leads: the present leader if it may, else the first in sync, eligible, or known to have led last."""
    in_sync = state.in_order(live & set(state.isr))
    if state.leader in in_sync:
        return state.leader
    if in_sync:
        return in_sync[0]
    eligible = state.in_order(live & set(state.elr))
    if eligible:
        return state.leader if state.leader in eligible else eligible[0]
    if not state.isr and not state.elr and len(state.last_known) == 1:
        return next(iter(state.in_order(live & set(state.last_known))), None)
    return None


def without(state: LeadershipState, broker: int, live: AbstractSet[int], *, has_elr: bool) -> LeadershipState:
    """Return how a partition stands after a broker, or its replica there, is gone; ``live`` are those that are not."""
    isr = tuple(member for member in state.isr if member != broker)
    if has_elr:
        state = _below_minimum(state, isr)
    elif isr:
        state = replace(state, isr=isr)
    return _with_leader(state, live - {broker})


def back(state: LeadershipState, broker: int, live: AbstractSet[int]) -> LeadershipState:
    """Return how a partition stands once a broker returned with its data and caught up."""
    led = _with_leader(state, live | {broker})
    return _in_sync(led, broker) if led.leader is not None and broker in led.replicas else led


def reassigned(state: LeadershipState, target: tuple[int, ...], live: AbstractSet[int]) -> LeadershipState:
    """Return how a partition stands once a reassignment is through: it ends when every new replica is in sync.

    Kafka 4.3.1 ``PartitionReassignmentReplicas``: the ISR keeps the target's members, the leader stays if it is one.
    """
    added = set(target) - set(state.replicas)
    kept = (set(state.isr) | added) & set(target)
    after = replace(state, replicas=target, isr=tuple(broker for broker in target if broker in kept))
    return _with_leader(after, live | added)


def preferred(state: LeadershipState, live: AbstractSet[int]) -> LeadershipState:
    """Return how a partition stands after a preferred election: its first replica leads if it is in sync and alive."""
    first = state.replicas[0] if state.replicas else None
    if first is not None and first in live and first in state.isr:
        return replace(state, leader=first)
    return _with_leader(state, live)


def _below_minimum(state: LeadershipState, isr: tuple[int, ...]) -> LeadershipState:
    """With eligible leader replicas: who leaves an ISR that falls below its minimum stays eligible (KIP-966)."""
    if len(isr) >= (state.min_isr or 1):
        return replace(state, isr=isr, elr=(), last_known=())
    eligible = state.in_order((set(state.elr) | set(state.isr)) - set(isr))
    last_known = (state.leader,) if not isr and state.leader is not None else state.last_known
    return replace(state, isr=isr, elr=eligible, last_known=last_known)


def _with_leader(state: LeadershipState, live: AbstractSet[int]) -> LeadershipState:
    """Elect; who was elected from outside the ISR is then its only member."""
    leader = elected(state, live)
    if leader is None or leader in state.isr:
        return replace(state, leader=leader)
    elr = tuple(broker for broker in state.elr if broker != leader)
    return replace(state, leader=leader, isr=(leader,), elr=elr)


def _in_sync(state: LeadershipState, broker: int) -> LeadershipState:
    isr = state.in_order(set(state.isr) | {broker})
    if len(isr) >= (state.min_isr or 1):
        return replace(state, isr=isr, elr=(), last_known=())
    return replace(state, isr=isr, elr=tuple(member for member in state.elr if member != broker))
