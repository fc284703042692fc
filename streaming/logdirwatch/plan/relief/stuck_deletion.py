"""Checks of what should be gone and is not: for copies to remote storage, by retention or the log cleaner, and strays.

Local retention keeps segments that wait for their copy (KIP-405). Kafka cleans a log once ``min.cleanable.dirty.ratio``
of it is dirty, skips partitions that it failed to clean, and loses threads that die (Kafka 4.3.1 ``LogCleaner``,
``LogCleanerManager``). Where siblings show that one broker alone does not delete, ``restart_for_retention`` answers.
"""

from collections import Counter
from collections.abc import Collection
from dataclasses import replace

from logdirwatch.config.section import DAY_MS
from logdirwatch.plan.actions.parts import bytes_at, check, host_notes
from logdirwatch.plan.availability.fault_tolerance import complete_copies
from logdirwatch.plan.capacity.growth_by_topic import BOTH, COMPACT, growth_by_policy, policy_of
from logdirwatch.plan.capacity.timing import place_target
from logdirwatch.plan.cluster.layout import Partition, Topic, is_number
from logdirwatch.plan.cluster.snapshot import ClusterSnapshot, LogDir
from logdirwatch.plan.commands.kafka_tools import LOG_DIRS, REASSIGN, TOPICS, describe_configs, note
from logdirwatch.plan.proposal import NAMED, Policy, Precondition, ProposedAction, owner_of
from logdirwatch.plan.retention.limits import bytes_kept_by_segments, effective_after_ms, is_copy_delayed, segment_bytes
from logdirwatch.plan.retention.overdue import DIRTY_RATIO, overdue, overdue_in, past_limit_bytes
from logdirwatch.plan.vetoes import replica_vetoes
from logdirwatch.text.units import human_bytes, human_ms
from logdirwatch.text.words import some_of

STEP = "remote_copies"
MOSTLY = 0.5
SEGMENT_MS = 604_800_000
"""Kafka's default of ``segment.ms`` (``LogConfig``)."""


def remote_copy_drafts(source: LogDir, snapshot: ClusterSnapshot) -> list[ProposedAction]:
    """Return the check of the copies to remote storage if most of a tiered topic waits for them; else empty.

    A topic whose copies are delayed on purpose waits without a fault (KIP-1241).
    """
    names = {replica.topic for replica in snapshot.replicas_in(source.place)}
    topics = (snapshot.topics[name] for name in names if name in snapshot.topics)
    waiting = sorted(
        (topic for topic in topics if topic.is_tiered and not is_copy_delayed(topic) and _waits(topic, snapshot)),
        key=lambda topic: (-(topic.remote_copy_lag_bytes or 0), topic.name),
    )
    if not waiting:
        return []
    waits = human_bytes(sum(topic.remote_copy_lag_bytes or 0 for topic in waiting))
    named = some_of((topic.name for topic in waiting), NAMED)
    reason = (
        f"find out why segments in {source.path} of broker {source.broker} are not copied to remote "
        f"storage: {waits} of {named} wait for their copy, and stay there whatever the retention is"
    )
    look = note(
        f"On the hosts of the leaders of {named}: the lines of RemoteLogManager in the broker's log, the storage "
        "itself, its credentials and the way there, remote.log.manager.copy.max.bytes.per.second."
    )
    return [check(place_target(source), STEP, reason, [look])]


def _waits(topic: Topic, snapshot: ClusterSnapshot) -> bool:
    """Tell whether most of a topic's local bytes wait for their copy; one replica of each partition counts."""
    local = sum(snapshot.layout.size_of(partition.key) or 0 for partition in topic.partitions)
    return (topic.remote_copy_lag_bytes or 0) > MOSTLY * local > 0


RETENTION_STEP = "retention"


def propose_retention_check(source: LogDir, snapshot: ClusterSnapshot, policy: Policy) -> list[ProposedAction]:
    """Return the check of the retention if replicas are past their limit, and no sibling tells why; else empty."""
    # Of those that are compacted too the log cleaner deletes.
    kept = (one for one in snapshot.replicas_in(source.place) if policy_of(snapshot.topics.get(one.topic)) != BOTH)
    past = {replica: past_limit_bytes(replica, snapshot) for replica in kept}
    found = sorted((one for one in past if past[one] and not overdue(one, snapshot)), key=lambda one: -past[one])
    if not found:
        return []
    broker, topic = source.broker, snapshot.topics[found[0].topic]
    held = [f"{r.topic}-{r.partition} holds {human_bytes(past[r])} more" for r in found]
    freed = human_bytes(snapshot.on_disk_bytes(source.place, sum(past[one] for one in found)))
    reason = (
        f"check whether broker {broker} deletes old segments: {some_of(held, NAMED)} than its retention.bytes allows. "
        f"If the limit was lowered just now, {freed} come free within {human_ms(effective_after_ms(topic, snapshot))}; "
        "if not, deletion is stuck, and a lower limit frees nothing"
    )
    looks = host_notes(broker, "errors of kafka-log-retention, kafka-delete-logs and LogManager in its log.")
    commands = [describe_configs(policy.tools, "topics", topic.name, "--all"), *looks]
    return [check(place_target(source), RETENTION_STEP, reason, commands)]


SEGMENTS_STEP = "segments"
MUCH = 0.1
"""The share of a directory that the segments of one topic must keep to be worth a change."""


def propose_segment_check(source: LogDir, snapshot: ClusterSnapshot, policy: Policy) -> list[ProposedAction]:
    """Return the check of a topic's segments where they keep much that its limits let go; else empty.

    Kafka deletes whole segments, and never the one that is written: with smaller ones a limit that is there already
    frees the rest, and no more is lost than the topic's owner allows.
    """
    kept: Counter[str] = Counter()
    for replica in snapshot.replicas_in(source.place):
        kept[replica.topic] += bytes_kept_by_segments(replica, snapshot)
    target, found = place_target(source), []
    for name, size in kept.most_common(NAMED):
        if size < MUCH * (source.total_bytes or 1) or replica_vetoes.never_touch(name, policy.limits):
            continue
        topic = snapshot.topics[name]
        reason = (
            f"ask {owner_of(name, policy)} for smaller segments: they are up to {human_bytes(segment_bytes(topic))} "
            f"large (segment.bytes) and roll after {human_ms(topic.number('segment.ms', SEGMENT_MS))} (segment.ms), "
            f"and keep about {human_bytes(size)} in {source.path} beyond its retention; smaller ones free that as they "
            "roll, and nothing that it has to keep"
        )
        shown = describe_configs(policy.tools, "topics", name, "--all")
        found.append(check({**target, "topic": name}, SEGMENTS_STEP, reason, [shown]))
    return found


CLEANER_STEP = "cleaner"
_CLEANER = {
    True: (
        (
            "look whether the log cleaner of broker {broker} works: {what}; threads that died, partitions that it gave "
            "up, a high min.cleanable.dirty.ratio or a small log.cleaner.dedupe.buffer.size let them grow"
        ),
        (
            "the gauges DeadThreadCount (LogCleaner) and uncleanable-partitions-count (LogCleanerManager) are 0 when "
            "it works; log-cleaner.log says why they are not."
        ),
    ),
    False: (
        (
            "set log.cleaner.enable=true on broker {broker}, and restart it: its log cleaner is disabled, so nothing "
            "compacts such topics there, or deletes from them, and they grow without end; {what}"
        ),
        "log.cleaner.enable in server.properties; one broker at a time, and its first cleaning reads all of them.",
    ),
}
"""By whether the broker has a cleaner: what to do, and where to look."""
_HOLD_BACK = {"min.compaction.lag.ms": 0.0, "min.cleanable.dirty.ratio": DIRTY_RATIO, "delete.retention.ms": DAY_MS}
"""Settings of a topic that let its log grow before it is cleaned, above Kafka's defaults (``LogConfig``)."""


def propose_cleaner_check(source: LogDir, snapshot: ClusterSnapshot, policy: Policy) -> list[ProposedAction]:
    """Return the check of the cleaner if compacted topics make up most of the growth, or of the bytes; else empty.

    Empty as well where in-sync siblings show that it stands still.
    """
    if not _is_compacted(source, snapshot) or any(one.is_compacted for one in overdue_in(source, snapshot)):
        return []
    sizes: Counter[str] = Counter()
    for replica in snapshot.replicas_in(source.place):
        if policy_of(snapshot.topics.get(replica.topic)) in {COMPACT, BOTH}:
            sizes[replica.topic] += replica.size_bytes or 0
    largest = sorted(sizes, key=lambda name: (-sizes[name], name))
    is_compact_only = all(policy_of(snapshot.topics.get(name)) == COMPACT for name in largest)
    held_back = [
        f"{name} sets {key}={value}"
        for name in largest
        for key, most in _HOLD_BACK.items()
        if (value := snapshot.topics[name].configs.get(key)) is not None and float(value) > most
    ]
    what = (
        f"{human_bytes(sum(sizes.values()))} of {source.path} are in compacted topics ({some_of(largest, NAMED)})"
        f"{', which no retention limit reaches' if is_compact_only else ''}"
        f"{f'; {some_of(held_back, NAMED)}' if held_back else ''}"
    )
    reason, look = _CLEANER[snapshot.has_cleaner(source.broker)]
    commands = (
        *host_notes(source.broker, look),
        describe_configs(policy.tools, "brokers", source.broker, "--all"),
        *(describe_configs(policy.tools, "topics", name, "--all") for name in largest[:1]),
    )
    return [check(place_target(source), CLEANER_STEP, reason.format(broker=source.broker, what=what), commands)]


def _is_compacted(source: LogDir, snapshot: ClusterSnapshot) -> bool:
    growth = growth_by_policy(source, snapshot)
    if growth is not None and sum(growth["bytes_per_s"].values()) > 0:
        rates = growth["bytes_per_s"]
        return bool(rates.get(COMPACT, 0.0) + rates.get(BOTH, 0.0) > MOSTLY * sum(rates.values()))
    here = snapshot.replicas_in(source.place)
    compacted = (r for r in here if policy_of(snapshot.topics.get(r.topic)) in {COMPACT, BOTH})
    return sum(r.size_bytes or 0 for r in compacted) > MOSTLY * sum(r.size_bytes or 0 for r in here)


# A cancelled or completed reassignment leaves a stray for a moment, or permanently (KAFKA-13972); so does a topic that
# was deleted meanwhile. No reassignment or retention reaches it. It goes when the broker deletes it or, after a restart
# that renames its folder to -stray (Kafka 4.3.1 LogManager.loadLog), by hand.
STRAYS_STEP = "strays"


def stray_bytes(directory: LogDir, snapshot: ClusterSnapshot) -> int:
    """Return the bytes of strays in a directory, which need not be moved or cut."""
    return snapshot.on_disk_bytes(directory.place, sum(snapshot.strays_in(directory.place).values()))


def propose_stray_check(directory: LogDir, snapshot: ClusterSnapshot, policy: Policy) -> list[ProposedAction]:
    """Return the check of the strays of a directory, and how to remove them; empty if they take no bytes."""
    found = {label: size for label, size in snapshot.strays_in(directory.place).items() if size}
    if not found:
        return []
    tools, (broker, path) = policy.tools, directory.place
    labels = sorted(found, key=lambda label: (-found[label], label))
    assigned = {label: _partition(label, snapshot) for label in labels}
    told = some_of([f"{label}, {human_bytes(found[label])}, {_whose(assigned[label])}" for label in labels], NAMED)
    freed = stray_bytes(directory, snapshot)
    reason = (
        f"stray copies in {path} of broker {broker} ({told}): {human_bytes(freed)} that no move and no retention "
        "frees. Kafka deletes the remains of a move within minutes; remove those that stay after a check"
    )
    topics = dict.fromkeys(name for label in labels if (name := label.rpartition("-")[0]) in snapshot.topics)
    commands = (
        tools.call(REASSIGN, "--list"),
        tools.call(LOG_DIRS, "--describe", "--broker-list", str(broker)),
        *(tools.call(TOPICS, "--describe", "--topic", name) for name in list(topics)[:NAMED]),
        note(
            f"Still listed in {path} after some minutes, and no move of them runs: restart broker {broker}, which "
            "renames their folders to -stray, and remove these. Never remove one that it still lists."
        ),
    )
    on = bytes_at({directory.place: freed})
    looked = check(place_target(directory), STRAYS_STEP, reason, commands, frees_bytes=freed, on=on, strays=dict(found))
    undo = {"text": "a removed copy cannot be brought back; the assigned replicas are not touched"}
    return [replace(looked, preconditions=(_copies_elsewhere(assigned.values(), snapshot),), undo=undo)]


def _whose(partition: Partition | None) -> str:
    if partition is None:
        return "of a topic that the metadata does not know"
    return f"assigned to broker {', '.join(map(str, partition.replicas))}"


def _copies_elsewhere(assigned: Collection[Partition | None], snapshot: ClusterSnapshot) -> Precondition:
    """Say whether the assigned replicas are healthy: a stray may be the last copy of what they lost."""
    text = "each of them has its assigned replicas in sync on other brokers"
    known = [partition for partition in assigned if partition is not None]
    bad = [partition.label for partition in known if not complete_copies(partition, snapshot)]
    if bad:
        return Precondition("copies_elsewhere", f"{text}: not so for {some_of(bad)}, keep the stray", holds=False)
    return Precondition("copies_elsewhere", text, True if len(known) == len(assigned) else None)


def _partition(label: str, snapshot: ClusterSnapshot) -> Partition | None:
    topic, _, number = label.rpartition("-")
    return snapshot.partitions.get((topic, int(number))) if is_number(number) else None
