"""``retention=orders:3d``: a topic keeps less history, or more.

The age of a replica's first record is unknown. A topic that deletes by age is assumed to hold as much history as it
may: its bytes then change in proportion to its retention, and a cut frees no more than Kafka certainly deletes.
"""

from collections import defaultdict
from dataclasses import dataclass, replace

from logdirwatch.plan.cluster.layout import LogDirId, Replica, Topic
from logdirwatch.plan.cluster.ramp import Ramp
from logdirwatch.plan.proposal import Policy
from logdirwatch.plan.retention.limits import freed_bytes, segment_bytes
from logdirwatch.plan.what_if.scenario import Key, Scenario, key_of, refused, with_replicas
from logdirwatch.text.units import human_ms, written_ms
from logdirwatch.text.words import did_you_mean

EXAMPLE = "retention=orders:3d"
RETENTION = "retention.ms"
TIERED = "local.retention.ms"


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
        share = self.keeps_ms / before_ms
        kept: list[Replica] = []
        freed: defaultdict[LogDirId, int] = defaultdict(int)
        ramps: dict[Key, Ramp] = dict(scenario.ramps)
        for replica in scenario.snapshot.layout.replicas:
            size = replica.size_bytes or 0
            if replica.topic != topic.name or not size:
                kept.append(replica)
                continue
            gone = freed_bytes(size, int(size * share), segment_bytes(topic)) if share < 1 else 0
            kept.append(replace(replica, size_bytes=size - gone))
            freed[replica.place] += gone
            if share > 1 and not replica.is_future:
                ramps[key_of(replica)] = Ramp(1000 * size / before_ms, self.keeps_ms - before_ms)
        snapshot = with_replicas(scenario.snapshot, kept, freed)
        note = f"{topic.name} holds as much history as its retention of {human_ms(before_ms)} lets it"
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
        local = topic.configs.get(TIERED) if topic.is_tiered else None
        told = local if local not in {None, "-2"} else topic.configs.get(RETENTION)
        if told is None or not told.isdecimal() or int(told) == 0:
            limit = "not known" if told is None else "unlimited" if told == "-1" else told
            raise refused(
                self.written,
                f"the retention of {topic.name} is {limit}, so nobody can say how much history its bytes are",
            )
        return topic, int(told)


def parse(value: str, written: str) -> Retention:
    """Read ``TOPIC:DURATION``."""
    topic, _, duration = value.rpartition(":")
    keeps_ms = written_ms(duration)
    if not topic or not keeps_ms:
        raise refused(written, f"write a topic and how long it keeps records, such as {EXAMPLE}")
    return Retention(written, topic, keeps_ms)
