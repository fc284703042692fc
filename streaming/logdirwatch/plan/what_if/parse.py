"""The changes that a person may try: growth, retention, more disks, a lost broker.

They are applied in this order, whatever order they are given in.

What is written more to a topic that deletes by age stays for its retention: it grows for that long, and then as much
more is deleted as is written. The age of a replica's first record is unknown. A topic that deletes by age is assumed to
hold as much history as it may, unless it is known to grow so fast that it holds less: its bytes then change in
proportion to its retention, and a cut frees no more than Kafka certainly deletes. What is at its limit in bytes keeps
its size.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Protocol

from logdirwatch.model.vocabulary import BrokerStatus, LogDirStatus
from logdirwatch.plan.cluster.assignment import ANY
from logdirwatch.plan.cluster.layout import LogDirId, Partition, Ramp, Replica, Topic
from logdirwatch.plan.cluster.snapshot import ClusterSnapshot, LogDir
from logdirwatch.plan.proposal import Policy
from logdirwatch.plan.reassignment.replacement_replicas import Repair, plan_rebuild
from logdirwatch.plan.retention.limits import (
    AS_REMOTE,
    LOCAL,
    RETENTION_MS,
    UNLIMITED,
    freed_bytes,
    kept_bytes,
    kept_ms,
    segment_bytes,
)
from logdirwatch.plan.retention.plateau import ends_ms
from logdirwatch.plan.what_if.scenario import Key, Moves, Scenario, Unplaced, key_of, refused, with_replicas
from logdirwatch.text.units import human_ms, written_bytes, written_ms
from logdirwatch.text.words import did_you_mean, number_ranges

GROWTH_EXAMPLE = "growth=1.5x"
MOST_TIMES = 1_000.0


@dataclass(frozen=True)
class Growth:
    """Every topic is written ``times`` as fast."""

    written: str
    times: float

    def apply(self, scenario: Scenario, policy: Policy) -> Scenario:
        """Return the cluster with that growth."""
        del policy
        ramps = {key: Ramp(self.times * ramp.bytes_per_s, ramp.until_ms) for key, ramp in scenario.ramps.items()}
        more = {
            key_of(replica): ramp
            for replica in scenario.snapshot.layout.assigned
            if (ramp := self._more(replica, scenario)) is not None
        }
        return replace(
            scenario,
            growth={key: rate if key in more else self._net(rate) for key, rate in scenario.growth.items()},
            other_growth={place: self._net(rate) for place, rate in scenario.other_growth.items()},
            ramps=more | ramps,
        )

    def _net(self, rate: float) -> float:
        return self.times * max(0.0, rate) + min(0.0, rate)

    def _more(self, replica: Replica, scenario: Scenario) -> Ramp | None:
        """Return what a replica whose retention deletes as much as is written gets more, and until when."""
        key: Key = key_of(replica)
        topic, size, net = scenario.snapshot.topics.get(replica.topic), replica.size_bytes, scenario.growth.get(key)
        if not size or net is None or replica.is_future or topic is None:
            return None
        limit, keeps_ms = kept_bytes(topic), kept_ms(topic)
        if limit is not None and size >= limit:
            return Ramp(0.0, 0)
        if not keeps_ms or net * keeps_ms > 1000 * size:
            return None
        more = (self.times - 1) * 1000 * size / keeps_ms
        return Ramp(more, ends_ms(replica, more, keeps_ms, topic))


def parse_growth(value: str, written: str) -> Growth:
    """Read ``1.5x`` or ``1.5``."""
    try:
        times = float(value.removesuffix("x"))
    except ValueError:
        times = -1.0
    if not 0 <= times <= MOST_TIMES:
        raise refused(
            written, f"{value!r} is not how many times as fast, from 0 to {MOST_TIMES:.0f}; write {GROWTH_EXAMPLE}"
        )
    return Growth(written, times)


RETENTION_EXAMPLE = "retention=orders:3d"


@dataclass(frozen=True)
class Retention:
    """A topic keeps a history of ``keeps_ms``."""

    written: str
    topic: str
    keeps_ms: int

    def apply(self, scenario: Scenario, policy: Policy) -> Scenario:
        """Return the cluster with that retention; a longer one fills up at the topic's write rate."""
        del policy
        topic, before_ms = self._topic(scenario)
        limit = kept_bytes(topic)
        kept: list[Replica] = []
        freed: defaultdict[LogDirId, int] = defaultdict(int)
        ramps: dict[Key, Ramp] = dict(scenario.ramps)
        for replica in scenario.snapshot.layout.replicas:
            size = replica.size_bytes or 0
            if replica.topic != topic.name or not size or _is_held(size, limit):
                kept.append(replica)
                continue
            held_ms = _held_ms(replica, size, before_ms, scenario)
            gone = freed_bytes(size, int(size * self.keeps_ms / held_ms), segment_bytes(topic))
            kept.append(replace(replica, size_bytes=size - gone))
            freed[replica.place] += gone
            if self.keeps_ms > held_ms == before_ms and not replica.is_future:
                rate = 1000 * size / before_ms
                ramps[key_of(replica)] = Ramp(rate, ends_ms(replica, rate, self.keeps_ms - before_ms, topic))
        snapshot = with_replicas(scenario.snapshot, kept, freed)
        note = f"{topic.name} holds as much history as its retention of {human_ms(before_ms)} lets it"
        if any(_is_held(one.size_bytes or 0, limit) for one in kept if one.topic == topic.name):
            note += ", and no more bytes than its retention.bytes lets it: replicas at that limit keep their size"
        return replace(scenario, snapshot=snapshot, ramps=ramps).noting(note)

    def _topic(self, scenario: Scenario) -> tuple[Topic, int]:
        """Return the topic and its present retention in milliseconds."""
        topics = scenario.snapshot.topics
        topic = topics.get(self.topic)
        if topic is None:
            near = did_you_mean(self.topic, topics)
            raise refused(self.written, f"no topic {self.topic} in {scenario.snapshot.cluster}{near}")
        if "delete" not in (topic.configs.get("cleanup.policy") or "delete"):
            raise refused(self.written, f"{topic.name} is compacted only, so its retention deletes nothing")
        local = topic.configs.get(LOCAL + RETENTION_MS) if topic.is_tiered else None
        told = local if local not in {None, AS_REMOTE} else topic.configs.get(RETENTION_MS)
        if told is None or not told.isdecimal() or int(told) == 0:
            limit = "not known" if told is None else "unlimited" if told == UNLIMITED else told
            raise refused(
                self.written,
                f"the retention of {topic.name} is {limit}, so nobody can say how much history its bytes are",
            )
        return topic, int(told)


def _is_held(size_bytes: int, limit: int | None) -> bool:
    """Whether a replica's limit in bytes holds it: its history is then shorter than its limit by age, and unknown."""
    return limit is not None and size_bytes >= limit


def _held_ms(replica: Replica, size_bytes: int, limit_ms: int, scenario: Scenario) -> int:
    rate = scenario.snapshot.growth_of_partitions.get(replica.key) or 0.0
    return max(1, min(limit_ms, int(size_bytes / rate * 1000))) if rate > 0 else limit_ms


def parse_retention(value: str, written: str) -> Retention:
    """Read ``TOPIC:DURATION``."""
    topic, _, duration = value.rpartition(":")
    keeps_ms = written_ms(duration)
    if not topic or not keeps_ms:
        raise refused(written, f"write a topic and how long it keeps records, such as {RETENTION_EXAMPLE}")
    return Retention(written, topic, keeps_ms)


DISKS_EXAMPLE = "add-disks=3:2x8TB"
MOST_DISKS = 100
_DISKS = re.compile(r"(\d{1,9}):(?:(\d{1,3})x)?(.+)")


@dataclass(frozen=True)
class AddDisks:
    """A broker gets ``count`` more directories of ``size_bytes`` each."""

    written: str
    broker: int
    count: int
    size_bytes: int

    def apply(self, scenario: Scenario, policy: Policy) -> Scenario:
        """Return the cluster with the empty directories; moves into them are planned for all changes together."""
        del policy
        snapshot = scenario.snapshot
        _refuse_unknown(self.broker, snapshot, self.written)
        taken = sum(broker == self.broker for broker, _ in scenario.new)
        added = [self._directory(scenario, taken + number) for number in range(1, self.count + 1)]
        places: frozenset[LogDirId] = frozenset(directory.place for directory in added)
        return replace(
            scenario,
            snapshot=replace(snapshot, directories={**snapshot.directories, **{d.place: d for d in added}}),
            other_growth={**scenario.other_growth, **dict.fromkeys(places, 0.0)},
            new=scenario.new | places,
        )

    def _directory(self, scenario: Scenario, number: int) -> LogDir:
        at_ms, name = scenario.snapshot.state_at_ms, f"new-{number}"
        return LogDir(
            self.broker,
            name,
            LogDirStatus.ONLINE,
            total_bytes=self.size_bytes,
            usable_bytes=self.size_bytes,
            growth_bytes_per_s=0.0,
            replica_count=0,
            incoming_bytes=0,
            is_cordoned=False,
            sample_at_ms=at_ms,
            state_at_ms=at_ms,
            volume=f"what-if {name}",
        )


def _refuse_unknown(broker: int, snapshot: ClusterSnapshot, written: str) -> None:
    if broker not in snapshot.brokers:
        known = number_ranges(snapshot.brokers)
        raise refused(written, f"no broker {broker} in {snapshot.cluster}; its brokers: {known}")


def parse_disks(value: str, written: str) -> AddDisks:
    """Read ``BROKER:SIZE`` or ``BROKER:COUNTxSIZE``."""
    found = _DISKS.fullmatch(value)
    size_bytes = written_bytes(found[3]) if found else None
    if found is None or not size_bytes:
        raise refused(written, f"write a broker, how many disks and their size (GB, TB, TiB), such as {DISKS_EXAMPLE}")
    count = int(found[2] or 1)
    if not 1 <= count <= MOST_DISKS:
        raise refused(written, f"{count} disks are not from 1 to {MOST_DISKS}")
    return AddDisks(written, int(found[1]), count, size_bytes)


BROKER_EXAMPLE = "lose-broker=7"


@dataclass(frozen=True)
class LoseBroker:
    """A broker is lost with all of its directories."""

    written: str
    broker: int

    def apply(self, scenario: Scenario, policy: Policy) -> Scenario:
        """Return the cluster without the broker; its replicas are where the planner would rebuild them."""
        snapshot = scenario.snapshot
        _refuse_unknown(self.broker, snapshot, self.written)
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
        # Brokers copy in parallel, each within its throttle.
        needs_ms = repair.copying_ms(policy.limits.replication_throttle_bytes_per_s)
        copied = repair.copied_bytes
        moves = Moves(replicas=len(to), bytes=copied, between_brokers_bytes=copied, needs_ms=needs_ms)
        after = replace(scenario, snapshot=lost).moved(to, moves)
        return replace(_without(after, self.broker), unplaced=_unplaced(scenario.unplaced, repair, held, self.broker))


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


def _unplaced(before: Unplaced, repair: Repair, held: list[Partition], broker: int) -> Unplaced:
    """Return what cannot be rebuilt: replicas without another copy are lost, the others have no place."""
    only = {partition.label for partition in held if set(partition.replicas) == {broker}}
    rest = [one for one in repair.unplaced if one.label not in only]
    return Unplaced(
        replicas=before.replicas + len(rest),
        bytes=before.bytes + sum(one.size_bytes or 0 for one in rest),
        reason=before.reason or next((one.veto.reason for one in rest), None),
        lost=[*before.lost, *sorted(only)],
    )


def parse_broker(value: str, written: str) -> LoseBroker:
    """Read a broker's id."""
    if not value.isdecimal() or len(value) > 9:
        raise refused(written, f"{value!r} is no broker's id; write {BROKER_EXAMPLE}")
    return LoseBroker(written, int(value))


MOST_CHANGES = 20


class Change(Protocol):
    """One change to a cluster."""

    @property
    def written(self) -> str:
        """The change as it was given."""

    def apply(self, scenario: Scenario, policy: Policy) -> Scenario:
        """Return the cluster after the change; raises UserError if it does not fit this cluster."""


# What is there is settled before what is lost: a new disk takes what a lost broker held.
KINDS: Mapping[str, tuple[Callable[[str, str], Change], str]] = {
    "growth": (parse_growth, GROWTH_EXAMPLE),
    "retention": (parse_retention, RETENTION_EXAMPLE),
    "add-disks": (parse_disks, DISKS_EXAMPLE),
    "lose-broker": (parse_broker, BROKER_EXAMPLE),
}
EXAMPLES = ", ".join(example for _, example in KINDS.values())


def parse(texts: Iterable[str]) -> list[Change]:
    """Read changes such as ``lose-broker=7``; raises UserError, one line, for an invalid one."""
    found = [_parsed(text.strip()) for text in texts]
    if len(found) > MOST_CHANGES:
        raise refused(f"({len(found)} of them)", f"at most {MOST_CHANGES} at once")
    order = list(KINDS)
    return [change for _, change in sorted(found, key=lambda one: order.index(one[0]))]


def _parsed(text: str) -> tuple[str, Change]:
    name, separator, value = text.partition("=")
    if name not in KINDS or not separator:
        raise refused(text, f"there is no such change{did_you_mean(name, KINDS)}; write one such as {EXAMPLES}")
    parse_value, _ = KINDS[name]
    return name, parse_value(value.strip(), text)
