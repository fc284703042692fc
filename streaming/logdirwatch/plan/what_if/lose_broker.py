"""``lose-broker=7``: a broker is lost for good, and its replicas are rebuilt on the others."""

from dataclasses import dataclass, replace

from logdirwatch.model.vocabulary import BrokerStatus
from logdirwatch.plan.cluster.assignment import ANY
from logdirwatch.plan.cluster.layout import LogDirId, Partition
from logdirwatch.plan.cluster.snapshot import ClusterSnapshot
from logdirwatch.plan.proposal import Policy
from logdirwatch.plan.reassignment.replacement_replicas import Repair, plan_rebuild
from logdirwatch.plan.what_if.scenario import Copies, Homeless, Key, Scenario, key_of, refused, with_replicas
from logdirwatch.text.words import number_ranges

EXAMPLE = "lose-broker=7"


@dataclass(frozen=True)
class LoseBroker:
    """A broker is lost with all of its directories."""

    written: str
    broker: int

    def apply(self, scenario: Scenario, policy: Policy) -> Scenario:
        """Return the cluster without the broker; its replicas are where the planner would rebuild them."""
        snapshot = scenario.snapshot
        if self.broker not in snapshot.brokers:
            known = number_ranges(snapshot.brokers)
            raise refused(self.written, f"no broker {self.broker} in {snapshot.cluster}; its brokers: {known}")
        if len(snapshot.brokers) == 1:
            raise refused(self.written, f"{snapshot.cluster} has no other broker")
        held = [p for p in snapshot.partitions.values() if self.broker in p.replicas]
        away = replace(snapshot.brokers[self.broker], status=BrokerStatus.OFFLINE)
        lost = replace(
            snapshot,
            brokers={**snapshot.brokers, self.broker: away},
            directories={place: d for place, d in snapshot.directories.items() if place[0] != self.broker},
        )
        # One plan for all replicas: it does not have to fit into one record.
        limits = policy.limits.model_copy(update={"partitions_per_reassignment": max(1, len(held))})
        repair = plan_rebuild(self.broker, held, lost, replace(policy, limits=limits))
        to = _places(repair, lost, self.broker)
        rate = policy.limits.replication_throttle_bytes_per_s
        copies = Copies(len(to), 0, repair.copied_bytes, _needs_ms(repair, rate))
        after = replace(scenario, snapshot=lost).moved(to, copies)
        return replace(_without(after, self.broker), homeless=_homeless(scenario.homeless, repair, held, self.broker))


def _places(repair: Repair, snapshot: ClusterSnapshot, broker: int) -> dict[Key, LogDirId]:
    """Return the directory in which each of a broker's replicas is rebuilt; where Kafka chooses it, the emptiest."""
    found: dict[Key, LogDirId] = {}
    for new, old in zip(repair.assignments, repair.before, strict=True):
        for number, path in zip(new.replicas, new.log_dirs, strict=True):
            if number not in old.replicas:
                place = number, _emptiest(snapshot, number) if path == ANY else path
                found[broker, new.topic, new.partition] = place
    return found


def _emptiest(snapshot: ClusterSnapshot, broker: int) -> str:
    serving = [d for d in snapshot.directories_of[broker] if d.is_serving]
    return max(serving, key=lambda directory: (directory.usable_bytes or 0, directory.path)).path


def _needs_ms(repair: Repair, rate: int) -> int:
    """Return how long the copies take: brokers copy in parallel, each within its throttle."""
    return max(repair.bytes_per_broker.values(), default=0) * 1000 // rate


def _without(scenario: Scenario, broker: int) -> Scenario:
    """Return the cluster without the broker's remaining replicas, which nothing could rebuild."""
    left = [replica for replica in scenario.snapshot.layout.replicas if replica.broker != broker]
    gone = {key_of(replica) for replica in scenario.snapshot.layout.replicas if replica.broker == broker}
    return replace(
        scenario,
        snapshot=with_replicas(scenario.snapshot, left, {}),
        growth={key: rate for key, rate in scenario.growth.items() if key not in gone},
        new=frozenset(place for place in scenario.new if place[0] != broker),
    )


def _homeless(before: Homeless, repair: Repair, held: list[Partition], broker: int) -> Homeless:
    """Return what cannot be rebuilt: replicas without another copy are lost, the others have no place."""
    only = {partition.label for partition in held if set(partition.replicas) == {broker}}
    rest = [one for one in repair.unplaced if one.label not in only]
    return Homeless(
        before.replicas + len(rest),
        before.size_bytes + sum(one.size_bytes or 0 for one in rest),
        before.reason or next((one.veto.reason for one in rest), None),
        (*before.lost, *sorted(only)),
    )


def parse(value: str, written: str) -> LoseBroker:
    """Read a broker's id."""
    if not value.isdecimal() or len(value) > 9:
        raise refused(written, f"{value!r} is no broker's id; write {EXAMPLE}")
    return LoseBroker(written, int(value))
