"""A failed directory: its replicas to other brokers, with racks, replication factor and order of preference kept.

Inside the broker nothing can be moved: Kafka refuses it while a directory is offline.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from logdirwatch.model.vocabulary import LogDirStatus
from logdirwatch.plan import vetoes
from logdirwatch.plan.assignment import ANY, Assignment
from logdirwatch.plan.draft import Policy, Veto
from logdirwatch.plan.facts import Facts, Partition, Place, TopicPartition
from logdirwatch.plan.space import Landing, Space


@dataclass(frozen=True)
class Unplaced:
    """A lost replica for which there is no place, and why."""

    label: str
    veto: Veto


@dataclass(frozen=True)
class Repair:
    """Where the lost replicas go, how it was before, and what cannot be helped."""

    assignments: tuple[Assignment, ...]
    before: tuple[Assignment, ...]
    unplaced: tuple[Unplaced, ...]
    bytes_in: dict[Place, int]
    bytes_per_broker: dict[int, int]


@dataclass(frozen=True)
class Spot:
    """A place for one replica: a broker and one of its directories, or ``any`` where a path would be refused."""

    broker: int
    path: str | None
    ratio: float
    is_other_rack: bool
    has_metadata: bool

    @property
    def preference(self) -> tuple[bool, bool, bool, float, int, str]:
        """Healthy brokers first, then the rack that the replica was in, then the emptiest directory.

        A directory with the metadata log comes last of a rack: its broker halts when it fills.
        """
        return self.path is None, self.is_other_rack, self.has_metadata, self.ratio, self.broker, self.path or ANY


def plan_repair(place: Place, facts: Facts, policy: Policy) -> Repair:
    """Find a new place on another broker for every replica lost with the directory ``place``.

    What cannot be rebuilt, or fits nowhere, is in ``unplaced``; the rest is planned without it.
    """
    return _Planner(place, facts, policy).run()


def lost_partitions(place: Place, facts: Facts) -> list[Partition]:
    """Return the partitions whose replica on the broker lies in the directory, most endangered first.

    Replicas newer than the last inventory are known from metadata alone: offline there and in no directory that was
    seen. They count when only one directory of the broker is offline.
    """
    broker = place[0]
    keys = {replica.key for replica in facts.replicas_in(place)} | _unseen(place, facts)
    assigned = (facts.partitions[key] for key in keys if key in facts.partitions)
    return sorted((p for p in assigned if broker in p.replicas), key=lambda p: _urgency(p, facts, broker))


def _unseen(place: Place, facts: Facts) -> set[TopicPartition]:
    broker = place[0]
    offline = [d for d in facts.directories_of.get(broker, ()) if d.status is LogDirStatus.OFFLINE]
    if not facts.is_alive(broker) or [d.place for d in offline] != [place]:
        return set()
    seen = {replica.key for replica in facts.layout.replicas if replica.broker == broker}
    return {p.key for p in facts.partitions.values() if broker in p.offline_replicas} - seen


def _urgency(partition: Partition, facts: Facts, broker: int) -> tuple[int, bool, int, TopicPartition]:
    in_sync = sum(1 for other in partition.isr if other != broker)
    is_internal = facts.topics[partition.topic].is_internal
    return in_sync, not is_internal, -(facts.layout.size_of(partition.key) or 0), partition.key


class _Planner:
    """Places one replica after the other; every place taken counts for the next one."""

    def __init__(self, place: Place, facts: Facts, policy: Policy) -> None:
        self._place, self._facts, self._policy = place, facts, policy
        self._limit = policy.limits.destination_max_ratio
        self._space = Space(facts)
        self._landings: dict[int, Landing] = {}
        self._bytes_in: Counter[Place] = Counter()
        self._bytes_per_broker: Counter[int] = Counter()

    def run(self) -> Repair:
        assignments, before, unplaced = [], [], []
        for partition in lost_partitions(self._place, self._facts):
            found = self._blocked(partition) or self._find(partition)
            if isinstance(found, Veto):
                unplaced.append(Unplaced(partition.label, found))
                continue
            self._take(partition, found)
            assignments.append(self._moved(partition, found))
            before.append(self._as_it_was(partition))
        return Repair(
            tuple(assignments), tuple(before), tuple(unplaced), dict(self._bytes_in), dict(self._bytes_per_broker)
        )

    def _blocked(self, partition: Partition) -> Veto | None:
        facts, broker = self._facts, self._place[0]
        others = [other for other in partition.replicas if other != broker]
        return vetoes.first(
            [
                vetoes.never_touch(partition.topic, self._policy.limits),
                vetoes.no_live_source(facts, partition, without=broker),
                *(vetoes.broker_not_alive(facts, other) for other in others),
                vetoes.partition_moving(facts, partition),
                vetoes.partition_claimed(facts, partition),
                vetoes.size_unknown(facts, partition),
            ]
        )

    def _find(self, partition: Partition) -> Spot | Veto:
        size = self._facts.layout.size_of(partition.key) or 0
        refusals: Counter[Veto] = Counter()
        spots = sorted(self._spots(partition, size, refusals), key=lambda spot: spot.preference)
        for spot in spots:
            veto = self._landing(spot.broker).veto(size, spot.path)
            if veto is None:
                return spot
            refusals[veto] += 1
        if not refusals:
            return Veto("no_broker_left", f"every broker that is alive holds a replica of {partition.label} already")
        return Veto("nothing_fits", "; ".join(veto.reason for veto, _ in refusals.most_common(3)))

    def _spots(self, partition: Partition, size: int, refusals: Counter[Veto]) -> Iterator[Spot]:
        for broker in self._facts.brokers:
            if vetoes.already_hosts(partition, broker):
                continue
            veto = vetoes.first(
                [
                    vetoes.broker_not_alive(self._facts, broker),
                    vetoes.rack_spread_lost(self._facts, partition.replicas, self._replaced(partition, broker)),
                ]
            )
            if veto is not None:
                refusals[veto] += 1
            else:
                yield from self._spots_on(broker, size, refusals)

    def _spots_on(self, broker: int, size: int, refusals: Counter[Veto]) -> Iterator[Spot]:
        is_other_rack = self._facts.brokers[broker].rack != self._facts.brokers[self._place[0]].rack
        ratios: dict[str, tuple[float, bool]] = {}
        for directory in self._facts.directories_of.get(broker, ()):
            veto = vetoes.first([vetoes.destination_not_serving(directory), vetoes.destination_cordoned(directory)])
            if veto is not None:
                refusals[veto] += 1
            else:
                ratio = self._space.ratio(directory.place, size + self._bytes_in[directory.place])
                ratios[directory.path] = 1.0 if ratio is None else ratio, directory.is_metadata_dir is True
        if vetoes.destination_degraded(self._facts, broker) is None:
            yield from (Spot(broker, path, ratio, is_other_rack, is_meta) for path, (ratio, is_meta) in ratios.items())
        elif ratios:
            yield Spot(broker, None, max(ratio for ratio, _ in ratios.values()), is_other_rack, has_metadata=False)

    def _landing(self, broker: int) -> Landing:
        if broker not in self._landings:
            self._landings[broker] = Landing(self._facts, broker, self._space, self._limit)
        return self._landings[broker]

    def _take(self, partition: Partition, spot: Spot) -> None:
        size = self._facts.layout.size_of(partition.key) or 0
        self._landing(spot.broker).land(size, spot.path)
        self._bytes_per_broker[spot.broker] += size
        if partition.leader is not None:
            self._bytes_per_broker[partition.leader] += size
        if spot.path is not None:
            self._bytes_in[spot.broker, spot.path] += size

    def _moved(self, partition: Partition, spot: Spot) -> Assignment:
        replicas = self._replaced(partition, spot.broker)
        log_dirs = tuple(spot.path or ANY if broker == spot.broker else ANY for broker in replicas)
        return Assignment(partition.topic, partition.partition, replicas, log_dirs)

    def _as_it_was(self, partition: Partition) -> Assignment:
        log_dirs = tuple(self._place[1] if broker == self._place[0] else ANY for broker in partition.replicas)
        return Assignment(partition.topic, partition.partition, partition.replicas, log_dirs)

    def _replaced(self, partition: Partition, broker: int) -> tuple[int, ...]:
        """Put the new broker at the lost one's position, so the order of preference stays."""
        return tuple(broker if old == self._place[0] else old for old in partition.replicas)
