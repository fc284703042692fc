"""The predicted leader and in-sync replicas of a partition after one step of a plan.

The rule is KIP-18's: the broker leaves the ISR. Losing a follower changes no leader; losing the leader elects the first
assigned replica that is alive and in sync. Kafka 4.3.1 (``PartitionChangeBuilder``) adds what happens when no replica
is left: without eligible leader replicas (KIP-966) the last member stays in the ISR and there is no leader; with them
the ISR is empty, and the eligible replicas, then the last known leader, may lead. Whether a cluster uses eligible
leader replicas shows only when one is needed. The predicted leader is the same either way, because the eligible replica
is the last member of the ISR.
"""

from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace

from logdirwatch.model.vocabulary import LogDirStatus
from logdirwatch.plan.cluster.layout import Partition
from logdirwatch.plan.cluster.snapshot import ClusterSnapshot

MIN_ISR = "min.insync.replicas"


@dataclass(frozen=True, slots=True)
class LeadershipState:
    """One partition: assigned replicas in order of preference, its leader, ISR and eligible leader replicas.

    ``min_isr`` None: the topic's configuration is unknown; then no replica becomes eligible by the ISR falling below
    it.
    """

    replicas: tuple[int, ...]
    leader: int | None
    isr: tuple[int, ...]
    elr: tuple[int, ...] = ()
    last_known: tuple[int, ...] = ()
    min_isr: int | None = None

    @property
    def is_under_min_isr(self) -> bool:
        """Whether writes are known to be blocked: without a leader they are, whatever the ISR holds."""
        return self.min_isr is not None and (self.leader is None or len(self.isr) < self.min_isr)

    def in_order(self, brokers: AbstractSet[int]) -> tuple[int, ...]:
        """Return the brokers in the order of the assignment."""
        return tuple(broker for broker in self.replicas if broker in brokers)


def current_leadership(partition: Partition, snapshot: ClusterSnapshot) -> LeadershipState:
    """Return a partition's state after Kafka has noticed what is dead by now; its metadata may be older."""
    live = live_replicas(partition, snapshot)
    found = LeadershipState(
        replicas=partition.replicas,
        leader=partition.leader,
        isr=partition.isr,
        elr=partition.elr or (),
        last_known=partition.last_known_elr or (),
        min_isr=min_isr(partition, snapshot),
    )
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
    """Return the brokers whose replica Kafka counts: alive, its directory not offline (``KRaftMetadataCache``)."""
    lost = set(partition.offline_replicas)
    for replica in snapshot.replicas_of(partition.key):
        directory = snapshot.directories.get(replica.place)
        if directory is not None and directory.status is LogDirStatus.OFFLINE:
            lost.add(replica.broker)
    return frozenset(broker for broker in partition.replicas if snapshot.is_alive(broker) and broker not in lost)


def in_sync(partition: Partition, snapshot: ClusterSnapshot) -> frozenset[int]:
    """Return the brokers from which a partition can be copied, and which may lead it: alive and in its ISR."""
    return live_replicas(partition, snapshot) & frozenset(partition.isr)


def elected(state: LeadershipState, live: AbstractSet[int]) -> int | None:
    """Return the leader: the present one if it may lead, else the first in sync, eligible, or last known leader."""
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
    """Return a partition's state after a broker, or its replica there, is gone; ``live`` are the remaining brokers."""
    isr = tuple(member for member in state.isr if member != broker)
    if has_elr:
        state = _below_minimum(state, isr)
    elif isr:
        state = replace(state, isr=isr)
    return _with_leader(state, live - {broker})


def back(state: LeadershipState, broker: int, live: AbstractSet[int]) -> LeadershipState:
    """Return a partition's state after a broker returned with its data and caught up."""
    led = _with_leader(state, live | {broker})
    if led.leader is None or broker not in led.replicas:
        return led
    isr = led.in_order(set(led.isr) | {broker})
    return _with_isr(led, isr, tuple(member for member in led.elr if member != broker))


def reassigned(state: LeadershipState, target: tuple[int, ...], live: AbstractSet[int]) -> LeadershipState:
    """Return a partition's state after a reassignment, which completes when every new replica is in sync.

    Kafka 4.3.1 ``PartitionReassignmentReplicas``: the ISR keeps the members of the target; the leader stays if it is
    one.
    """
    added = set(target) - set(state.replicas)
    kept = (set(state.isr) | added) & set(target)
    after = replace(state, replicas=target, isr=tuple(broker for broker in target if broker in kept))
    return _with_leader(after, live | added)


def preferred(state: LeadershipState, live: AbstractSet[int]) -> LeadershipState:
    """Return a partition's state after a preferred election: its first replica leads if it is alive and in sync."""
    first = state.replicas[0] if state.replicas else None
    if first is not None and first in live and first in state.isr:
        return replace(state, leader=first)
    return _with_leader(state, live)


def _below_minimum(state: LeadershipState, isr: tuple[int, ...]) -> LeadershipState:
    """With eligible leader replicas, a member that leaves an ISR below its minimum stays eligible (KIP-966)."""
    eligible = state.in_order((set(state.elr) | set(state.isr)) - set(isr))
    last_known = (state.leader,) if not isr and state.leader is not None else state.last_known
    return _with_isr(replace(state, last_known=last_known), isr, eligible)


def _with_isr(state: LeadershipState, isr: tuple[int, ...], eligible: tuple[int, ...]) -> LeadershipState:
    """Return a state with another ISR; where that is enough, nobody is eligible besides."""
    if len(isr) >= (state.min_isr or 1):
        return replace(state, isr=isr, elr=(), last_known=())
    return replace(state, isr=isr, elr=eligible)


def _with_leader(state: LeadershipState, live: AbstractSet[int]) -> LeadershipState:
    """Elect a leader; one from outside the ISR becomes its only member."""
    leader = elected(state, live)
    if leader is None or leader in state.isr:
        return replace(state, leader=leader)
    elr = tuple(broker for broker in state.elr if broker != leader)
    return replace(state, leader=leader, isr=(leader,), elr=elr)
