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
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import partial

from logdirwatch.errors import UserError
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
from logdirwatch.plan.what_if.scenario import Key, Moves, Scenario, Unplaced, key_of, with_replicas
from logdirwatch.text.units import human_ms, written_bytes, written_ms
from logdirwatch.text.words import did_you_mean, number_ranges

KINDS = {
    "growth": "growth=1.5x",
    "retention": "retention=orders:3d",
    "add-disks": "add-disks=3:2x8TB",
    "lose-broker": "lose-broker=7",
}
"""An example of each change. What is there is settled before what is lost: a new disk takes what a lost broker held."""
EXAMPLES = ", ".join(KINDS.values())
MOST_CHANGES = 20
MOST_TIMES = 1_000.0
MOST_DISKS = 100
_DISKS = re.compile(r"(\d{1,9}):(?:(\d{1,3})x)?(.+)")


@dataclass(frozen=True)
class Change:
    """One change to a cluster; ``apply`` raises UserError if it does not fit this cluster."""

    written: str
    apply: Callable[[Scenario, Policy], Scenario]


def parse(texts: Iterable[str]) -> list[Change]:
    """Read changes such as ``lose-broker=7``; raises UserError, one line, for an invalid one."""
    found = [_parsed(text.strip()) for text in texts]
    if len(found) > MOST_CHANGES:
        raise _refused(f"({len(found)} of them)", f"at most {MOST_CHANGES} at once")
    order = list(KINDS)
    return [change for _, change in sorted(found, key=lambda one: order.index(one[0]))]


def _parsed(text: str) -> tuple[str, Change]:
    name, separator, value = text.partition("=")
    if name not in KINDS or not separator:
        raise _refused(text, f"there is no such change{did_you_mean(name, KINDS)}; write one such as {EXAMPLES}")
    return name, Change(text, _PARSERS[name](value.strip(), text))


def _refused(written: str, why: str) -> UserError:
    """Return the error, one line, of a change that cannot be tried."""
    return UserError(f"what-if {written}: {why}", exit_code=2)


_Applied = Callable[[Scenario, Policy], Scenario]


def _growth(value: str, written: str) -> _Applied:
    """Read ``1.5x`` or ``1.5``."""
    try:
        times = float(value.removesuffix("x"))
    except ValueError:
        times = -1.0
    if not 0 <= times <= MOST_TIMES:
        most = f"from 0 to {MOST_TIMES:.0f}; write {KINDS['growth']}"
        raise _refused(written, f"{value!r} is not how many times as fast, {most}")
    return partial(_grown, times)


def _grown(times: float, scenario: Scenario, _: Policy) -> Scenario:
    """Return the cluster with every topic written ``times`` as fast."""

    def net(rate: float) -> float:
        return times * max(0.0, rate) + min(0.0, rate)

    ramps = {key: Ramp(times * ramp.bytes_per_s, ramp.until_ms) for key, ramp in scenario.ramps.items()}
    more = {
        key_of(replica): ramp
        for replica in scenario.snapshot.layout.assigned
        if (ramp := _written_more(times, replica, scenario)) is not None
    }
    return replace(
        scenario,
        growth={key: rate if key in more else net(rate) for key, rate in scenario.growth.items()},
        other_growth={place: net(rate) for place, rate in scenario.other_growth.items()},
        ramps=more | ramps,
    )


def _written_more(times: float, replica: Replica, scenario: Scenario) -> Ramp | None:
    """Return what a replica whose retention deletes as much as is written gets more, and until when."""
    topic, size = scenario.snapshot.topics.get(replica.topic), replica.size_bytes
    net = scenario.growth.get(key_of(replica))
    if not size or net is None or replica.is_future or topic is None:
        return None
    limit, keeps_ms = kept_bytes(topic), kept_ms(topic)
    if limit is not None and size >= limit:
        return Ramp(0.0, 0)
    if not keeps_ms or net * keeps_ms > 1000 * size:
        return None
    more = (times - 1) * 1000 * size / keeps_ms
    return Ramp(more, ends_ms(replica, more, keeps_ms, topic))


def _retention(value: str, written: str) -> _Applied:
    """Read ``TOPIC:DURATION``."""
    topic, _, duration = value.rpartition(":")
    keeps_ms = written_ms(duration)
    if not topic or not keeps_ms:
        raise _refused(written, f"write a topic and how long it keeps records, such as {KINDS['retention']}")
    return partial(_kept, written, topic, keeps_ms)


def _kept(written: str, name: str, keeps_ms: int, scenario: Scenario, _: Policy) -> Scenario:
    """Return the cluster with a topic that keeps a history of ``keeps_ms``; a longer one fills up as it is written."""
    topic, before_ms = _topic(written, name, scenario.snapshot)
    limit = kept_bytes(topic)
    kept: list[Replica] = []
    freed: defaultdict[LogDirId, int] = defaultdict(int)
    ramps: dict[Key, Ramp] = dict(scenario.ramps)
    for replica in scenario.snapshot.layout.replicas:
        size = replica.size_bytes or 0
        if replica.topic != topic.name or not size or _is_held(size, limit):
            kept.append(replica)
            continue
        rate = scenario.snapshot.growth_of_partitions.get(replica.key) or 0.0
        held_ms = max(1, min(before_ms, int(size / rate * 1000))) if rate > 0 else before_ms
        gone = freed_bytes(size, int(size * keeps_ms / held_ms), segment_bytes(topic))
        kept.append(replace(replica, size_bytes=size - gone))
        freed[replica.place] += gone
        if keeps_ms > held_ms == before_ms and not replica.is_future:
            rate = 1000 * size / before_ms
            ramps[key_of(replica)] = Ramp(rate, ends_ms(replica, rate, keeps_ms - before_ms, topic))
    note = f"{topic.name} holds as much history as its retention of {human_ms(before_ms)} lets it"
    if any(_is_held(one.size_bytes or 0, limit) for one in kept if one.topic == topic.name):
        note += ", and no more bytes than its retention.bytes lets it: replicas at that limit keep their size"
    snapshot = with_replicas(scenario.snapshot, kept, freed)
    return replace(scenario, snapshot=snapshot, ramps=ramps, notes=(*scenario.notes, note))


def _topic(written: str, name: str, snapshot: ClusterSnapshot) -> tuple[Topic, int]:
    """Return a topic and its present retention in milliseconds."""
    topic = snapshot.topics.get(name)
    if topic is None:
        raise _refused(written, f"no topic {name} in {snapshot.cluster}{did_you_mean(name, snapshot.topics)}")
    if "delete" not in (topic.configs.get("cleanup.policy") or "delete"):
        raise _refused(written, f"{name} is compacted only, so its retention deletes nothing")
    local = topic.configs.get(LOCAL + RETENTION_MS) if topic.is_tiered else None
    told = local if local not in {None, AS_REMOTE} else topic.configs.get(RETENTION_MS)
    if told is None or not told.isdecimal() or int(told) == 0:
        limit = "not known" if told is None else "unlimited" if told == UNLIMITED else told
        why = f"the retention of {name} is {limit}, so nobody can say how much history its bytes are"
        raise _refused(written, why)
    return topic, int(told)


def _is_held(size_bytes: int, limit: int | None) -> bool:
    """Whether a replica's limit in bytes holds it: its history is then shorter than its limit by age, and unknown."""
    return limit is not None and size_bytes >= limit


def _add_disks(value: str, written: str) -> _Applied:
    """Read ``BROKER:SIZE`` or ``BROKER:COUNTxSIZE``."""
    found = _DISKS.fullmatch(value)
    size_bytes = written_bytes(found[3]) if found else None
    if found is None or not size_bytes:
        what = f"a broker, how many disks and their size (GB, TB, TiB), such as {KINDS['add-disks']}"
        raise _refused(written, f"write {what}")
    count = int(found[2] or 1)
    if not 1 <= count <= MOST_DISKS:
        raise _refused(written, f"{count} disks are not from 1 to {MOST_DISKS}")
    return partial(_with_disks, written, int(found[1]), count, size_bytes)


def _with_disks(written: str, broker: int, count: int, size_bytes: int, scenario: Scenario, _: Policy) -> Scenario:
    """Return the cluster with empty directories; moves into them are planned for all changes together."""
    snapshot = scenario.snapshot
    _refuse_unknown(broker, snapshot, written)
    taken = sum(number == broker for number, _ in scenario.new)
    added = [
        LogDir(
            broker,
            f"new-{number}",
            LogDirStatus.ONLINE,
            total_bytes=size_bytes,
            usable_bytes=size_bytes,
            growth_bytes_per_s=0.0,
            replica_count=0,
            incoming_bytes=0,
            is_cordoned=False,
            sample_at_ms=snapshot.state_at_ms,
            state_at_ms=snapshot.state_at_ms,
            volume=f"what-if new-{number}",
        )
        for number in range(taken + 1, taken + count + 1)
    ]
    places: frozenset[LogDirId] = frozenset(directory.place for directory in added)
    return replace(
        scenario,
        snapshot=snapshot.with_directories(added),
        other_growth={**scenario.other_growth, **dict.fromkeys(places, 0.0)},
        new=scenario.new | places,
    )


def _refuse_unknown(broker: int, snapshot: ClusterSnapshot, written: str) -> None:
    if broker not in snapshot.brokers:
        known = number_ranges(snapshot.brokers)
        raise _refused(written, f"no broker {broker} in {snapshot.cluster}; its brokers: {known}")


def _lose_broker(value: str, written: str) -> _Applied:
    """Read a broker's id."""
    if not value.isdecimal() or len(value) > 9:
        raise _refused(written, f"{value!r} is no broker's id; write {KINDS['lose-broker']}")
    return partial(_without_broker, written, int(value))


def _without_broker(written: str, broker: int, scenario: Scenario, policy: Policy) -> Scenario:
    """Return the cluster without a broker and its directories; its replicas are where the planner would rebuild them.

    What nothing could rebuild is gone.
    """
    snapshot = scenario.snapshot
    _refuse_unknown(broker, snapshot, written)
    if len(snapshot.brokers) == 1:
        raise _refused(written, f"{snapshot.cluster} has no other broker")
    held = [p for p in snapshot.partitions.values() if broker in p.replicas]
    lost = replace(
        snapshot,
        brokers={**snapshot.brokers, broker: replace(snapshot.brokers[broker], status=BrokerStatus.OFFLINE)},
        directories={place: d for place, d in snapshot.directories.items() if place[0] != broker},
    )
    # One plan for all replicas: it does not have to fit into one record.
    limits = policy.limits.model_copy(update={"partitions_per_reassignment": max(1, len(held))})
    repair = plan_rebuild(broker, held, lost, replace(policy, limits=limits))
    to, copied = _places(repair, lost, broker), repair.copied_bytes
    # Brokers copy in parallel, each within its throttle.
    needs_ms = repair.copying_ms(policy.limits.replication_throttle_bytes_per_s)
    moves = Moves(replicas=len(to), bytes=copied, between_brokers_bytes=copied, needs_ms=needs_ms)
    after = replace(scenario, snapshot=lost).moved(to, moves)
    left = [replica for replica in after.snapshot.layout.replicas if replica.broker != broker]
    gone = {key_of(replica) for replica in after.snapshot.layout.replicas if replica.broker == broker}
    return replace(
        after,
        snapshot=with_replicas(after.snapshot, left, {}),
        growth={key: rate for key, rate in after.growth.items() if key not in gone},
        new=frozenset(place for place in after.new if place[0] != broker),
        unplaced=_unplaced(after.unplaced, repair, held, broker),
    )


def _places(repair: Repair, snapshot: ClusterSnapshot, broker: int) -> dict[Key, LogDirId]:
    """Return the directory in which each of a broker's replicas is rebuilt; where Kafka chooses it, the emptiest."""
    found: dict[Key, LogDirId] = {}
    for new, old in zip(repair.assignments, repair.before, strict=True):
        for number, path in zip(new.replicas, new.log_dirs, strict=True):
            if number not in old.replicas:
                serving = [d for d in snapshot.directories_of[number] if d.is_serving]
                emptiest = max(serving, key=lambda directory: (directory.usable_bytes or 0, directory.path))
                found[broker, new.topic, new.partition] = number, emptiest.path if path == ANY else path
    return found


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


_PARSERS: dict[str, Callable[[str, str], _Applied]] = {
    "growth": _growth,
    "retention": _retention,
    "add-disks": _add_disks,
    "lose-broker": _lose_broker,
}
