"""Directories filled by compacted topics, which retention does not reach: usually the log cleaner stands still.

Kafka cleans a log once ``min.cleanable.dirty.ratio`` of it is dirty, skips partitions that it failed to clean, and
loses threads that die (Kafka 4.3.1 ``LogCleaner``, ``LogCleanerManager``).
"""

from collections import Counter
from collections.abc import Sequence

from logdirwatch.model.vocabulary import ActionKind
from logdirwatch.plan.capacity.growth_by_policy import BOTH, COMPACT, growth_by_policy, policy_of
from logdirwatch.plan.capacity.timing import place_target
from logdirwatch.plan.cluster.snapshot import ClusterSnapshot, LogDir
from logdirwatch.plan.commands.configs import describe_configs
from logdirwatch.plan.commands.kafka_tools import note
from logdirwatch.plan.proposal import Policy, ProposedAction, effect
from logdirwatch.plan.retention.overdue import overdue_in
from logdirwatch.text.units import human_bytes
from logdirwatch.text.words import some_of

STEP = "cleaner"
MOSTLY = 0.5
_NAMED = 3
_METRICS = "the gauges DeadThreadCount (LogCleaner) and uncleanable-partitions-count (LogCleanerManager)"


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
    host = f"On broker {source.broker}'s host"
    return [
        ProposedAction(
            kind=ActionKind.INVESTIGATE,
            target={**place_target(source), "step": STEP},
            reason=f"look whether the log cleaner of broker {source.broker} works: {human_bytes(sum(sizes.values()))} "
            f"of {source.path} are in compacted topics ({some_of(largest, _NAMED)}){_unreached(largest, snapshot)}; "
            "threads that died, partitions that it gave up, a high min.cleanable.dirty.ratio or a small "
            "log.cleaner.dedupe.buffer.size let them grow",
            expected=effect(),
            commands=(
                note(f"{host}: {_METRICS} are 0 when it works; log-cleaner.log says why they are not."),
                describe_configs(policy.tools, "brokers", source.broker, "--all"),
                *(describe_configs(policy.tools, "topics", name, "--all") for name in largest[:1]),
            ),
        )
    ]


def _unreached(names: Sequence[str], snapshot: ClusterSnapshot) -> str:
    """Say that no retention limit helps; empty if one of the topics is ``compact,delete``, which has limits."""
    is_compact_only = all(policy_of(snapshot.topics.get(name)) == COMPACT for name in names)
    return ", which no retention limit reaches" if is_compact_only else ""


def _is_compacted(source: LogDir, snapshot: ClusterSnapshot) -> bool:
    growth = growth_by_policy(source, snapshot)
    if growth is not None and sum(growth["bytes_per_s"].values()) > 0:
        rates = growth["bytes_per_s"]
        return bool(rates.get(COMPACT, 0.0) + rates.get(BOTH, 0.0) > MOSTLY * sum(rates.values()))
    here = snapshot.replicas_in(source.place)
    compacted = (r for r in here if policy_of(snapshot.topics.get(r.topic)) in {COMPACT, BOTH})
    return sum(r.size_bytes or 0 for r in compacted) > MOSTLY * sum(r.size_bytes or 0 for r in here)
