"""Check whether a reassignment may be carried out on a snapshot, whoever made it.

It shares no code with the planners, so that a plan is checked by something other than what made it.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence

from logdirwatch.plan.capacity.copy_rates import ceiling
from logdirwatch.plan.capacity.projected_use import NewReplicas, Space
from logdirwatch.plan.cluster.assignment import ANY, Assignment
from logdirwatch.plan.cluster.layout import Partition
from logdirwatch.plan.cluster.snapshot import ClusterSnapshot
from logdirwatch.plan.proposal import Policy, Veto
from logdirwatch.plan.vetoes import replica_vetoes


def violations(assignments: Sequence[Assignment], snapshot: ClusterSnapshot, policy: Policy) -> list[Veto]:
    """Return every reason why a reassignment must not be executed now; empty if it may."""
    found = [*_repeated(assignments)]
    for assignment in assignments:
        partition = snapshot.partitions.get(assignment.key)
        if partition is None:
            found.append(Veto("partition_gone", f"{assignment.label} does not exist any more"))
        else:
            found.extend(_of_partition(assignment, partition, snapshot, policy))
    if not found:
        found.extend(_of_space(assignments, snapshot, policy))
    return list(dict.fromkeys(found))


def _repeated(assignments: Iterable[Assignment]) -> Iterator[Veto]:
    counts = Counter(assignment.label for assignment in assignments)
    yield from (Veto("partition_repeated", f"{label} is named twice") for label, count in counts.items() if count > 1)


def _of_partition(
    assignment: Assignment, partition: Partition, snapshot: ClusterSnapshot, policy: Policy
) -> Iterator[Veto]:
    yield from _of_form(assignment, partition)
    found = [replica_vetoes.broker_not_alive(snapshot, broker) for broker in _taking_part(assignment, partition)]
    found.append(replica_vetoes.never_touch(partition.topic, policy.limits))
    found.append(replica_vetoes.rack_spread_lost(snapshot, partition.replicas, assignment.replicas))
    found.append(replica_vetoes.partition_moving(snapshot, partition))
    found += [
        replica_vetoes.marked_may_be_chosen(snapshot, broker) for broker in _chosen_by_kafka(assignment, partition)
    ]
    for broker, path in assignment.chosen:
        directory = snapshot.directories.get((broker, path))
        if directory is None:
            is_told = snapshot.is_alive(broker)  # the directories of another one are unknown
            found.append(Veto("log_dir_not_found", f"broker {broker} has no log directory {path}") if is_told else None)
            continue
        found.append(replica_vetoes.destination_not_serving(directory))
        found.append(replica_vetoes.destination_closed(directory))
        found.append(replica_vetoes.log_dir_offline(snapshot, broker))
        found.append(replica_vetoes.log_dir_unknown(snapshot, broker))
    yield from (veto for veto in found if veto is not None)


def _taking_part(assignment: Assignment, partition: Partition) -> Iterable[int]:
    """Return the brokers without which an assignment is not reached.

    Among the same brokers, only those whose directory is named copy anything (``AlterReplicaLogDirs``). With another
    broker, Kafka waits until all that stay are in sync (4.3.1 ``PartitionReassignmentReplicas``).
    """
    if set(assignment.replicas) == set(partition.replicas):
        return [broker for broker, _ in assignment.chosen]
    return assignment.replicas


def _chosen_by_kafka(assignment: Assignment, partition: Partition) -> list[int]:
    """Return the brokers that choose the directory of a new replica themselves."""
    places = zip(assignment.replicas, assignment.log_dirs, strict=True)
    return [broker for broker, path in places if path == ANY and broker not in partition.replicas]


def _of_form(assignment: Assignment, partition: Partition) -> Iterator[Veto]:
    if len(set(assignment.replicas)) != len(assignment.replicas):
        yield Veto("replica_repeated", f"{assignment.label} names a broker twice")
    if len(assignment.replicas) != len(partition.replicas):
        yield Veto("replication_factor_changed", f"{assignment.label} would have {len(assignment.replicas)} replicas")


def _of_space(assignments: Iterable[Assignment], snapshot: ClusterSnapshot, policy: Policy) -> Iterator[Veto]:
    """Check what every broker receives: all copies at once, before anything is deleted.

    The growth of directories meanwhile is counted at the highest rate that the settings allow between brokers.
    """
    limits, space = policy.limits, Space(snapshot)
    limit = limits.destination_max_ratio
    usual = limits.replication_throttle_bytes_per_s
    rate = max(usual, ceiling(usual, limits.network_bandwidth_bytes_per_s))
    received: defaultdict[int, list[tuple[int, str | None]]] = defaultdict(list)
    for assignment in assignments:
        partition, size = snapshot.partitions[assignment.key], snapshot.layout.size_of(assignment.key)
        there = {replica.place for replica in snapshot.replicas_of(assignment.key)}
        for broker, path in zip(assignment.replicas, assignment.log_dirs, strict=True):
            is_new = broker not in partition.replicas
            if not is_new and (path == ANY or (broker, path) in there):
                continue  # nothing is copied, so another order of preference needs no room
            if size is None:
                yield Veto("size_unknown", f"the size of {assignment.label} is not known")
            elif is_new:
                received[broker].append((size, None if path == ANY else path))
            else:
                yield from _copy(space, (broker, path), size, limit)
    for broker, copies in received.items():
        landing = NewReplicas(snapshot, broker, space, limit, rate)
        for size_bytes, wanted in copies:
            veto = landing.veto(size_bytes, wanted)
            landing.land(size_bytes, wanted)
            if veto is not None:
                yield veto


def _copy(space: Space, place: tuple[int, str], size_bytes: int, limit_ratio: float) -> Iterator[Veto]:
    veto = space.overflow(place, size_bytes, limit_ratio)
    space.add(place, size_bytes)
    if veto is not None:
        yield veto
