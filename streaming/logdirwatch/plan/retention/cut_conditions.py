"""Preconditions and vetoes of a cut: consumers, owner, minimum history, segments held back."""

from logdirwatch.plan.cluster.layout import Topic
from logdirwatch.plan.cluster.snapshot import ClusterSnapshot
from logdirwatch.plan.proposal import Policy, Precondition, Veto, owner_of
from logdirwatch.plan.retention.cut import RetentionCut
from logdirwatch.plan.retention.limits import is_copy_delayed
from logdirwatch.plan.retention.retention_vetoes import slowest_reader, unread_goes, unread_text
from logdirwatch.plan.retention.write_rates import wanted_ms
from logdirwatch.text.units import human_bytes, human_ms


def cut_preconditions(
    cut: RetentionCut, snapshot: ClusterSnapshot, policy: Policy, *, is_moving: bool
) -> tuple[Precondition, ...]:
    """Return the preconditions of a cut: consumers, owner, minimum history, no segments held back."""
    topic = cut.topic.name
    moves = f"no replica of {topic} is moved meanwhile: its retention would stand still"
    agrees = Precondition("owner_agrees", f"{owner_of(topic, policy)} agrees to lose it", None)
    consumers = consumers_done(cut.topic, snapshot, spared=cut.spares_unread)
    return (
        *((consumers, agrees) if cut.way.loses_data else (_remote_copied(cut.topic),)),
        _min_retention(cut, policy),
        Precondition("no_move", moves, None if is_moving else True),
        *_held_back(cut),
    )


def cut_vetoes(cut: RetentionCut, snapshot: ClusterSnapshot, policy: Policy) -> tuple[Veto, ...]:
    """Veto a cut that by its own numbers leaves too little; none is planned here unless configured."""
    history = _min_retention(cut, policy)
    found = [
        Veto("min_retention", f"of {cut.topic.name}, {history.text}") if history.holds is False else None,
        unread_goes(cut.topic, snapshot, is_spared=cut.spares_unread),
    ]
    return tuple(veto for veto in found if veto is not None)


def consumers_done(topic: Topic, snapshot: ClusterSnapshot, *, spared: bool) -> Precondition:
    """Return the precondition that no consumer loses unread records, as far as committed offsets show.

    ``spared``: the deleted records do not include any that groups have not read. That no group commits offsets proves
    nothing: MirrorMaker 2, Flink and Spark keep their offsets elsewhere.
    """
    text = f"no consumer of {topic.name} still needs the deleted records"
    if not all(partition.is_unread_known for partition in topic.partitions):
        return Precondition("consumers_done", f"{text}; the progress of its groups is not known", None)
    slowest = slowest_reader(topic, snapshot)
    if not any(partition.groups for partition in topic.partitions):
        who = "no consumer group commits offsets for it; who reads without committing them is not seen"
        return Precondition("consumers_done", f"{text}; {who}", None)
    if slowest is None or spared:
        return Precondition("consumers_done", f"{text}; every group has read it", True)
    return Precondition("consumers_done", f"{text}; {unread_text(slowest, snapshot)}", False)


def _remote_copied(topic: Topic) -> Precondition:
    """Return the precondition that remote storage has what is deleted; the lag says how much can be deleted.

    Kafka deletes nothing else. A lag of 0 proves nothing before Kafka 4.3: the gauge may be stuck while copies fail
    (KAFKA-19995).
    """
    text = f"remote storage has what is deleted of {topic.name} locally"
    lag = topic.remote_copy_lag_bytes
    if lag is None:
        return Precondition("remote_copied", f"{text}: RemoteCopyLagBytes is not known; waiting segments stay", None)
    if is_copy_delayed(topic):
        why = "copies are delayed by remote.copy.lag.*; waiting segments stay"
        return Precondition("remote_copied", f"{text}: {why}", None)
    waits = f"{human_bytes(lag)} wait for their copy and stay" if lag else "nothing waits for its copy"
    waits = f"{waits}; before Kafka 4.3 it may be more, if copies fail"
    return Precondition("remote_copied", f"{text}: {waits}", True)


def _held_back(cut: RetentionCut) -> list[Precondition]:
    """Return why Kafka may keep segments that the limit would delete; empty if there is no reason.

    Kafka waits for the high watermark, and uses a segment's largest timestamp (``UnifiedLog.deletableSegments``).
    """
    found = []
    needed = cut.topic.number("min.insync.replicas", 1)
    stuck = [p.label for p in cut.topic.partitions if p.leader is None or len(p.isr) < needed]
    if stuck:
        text = (
            f"the high watermark of {', '.join(stuck[:5])} moves on: it may wait for a leader, or for replicas in sync"
        )
        found.append(Precondition("high_watermark_moves", text, None))
    if cut.way.is_estimate:
        is_logged = cut.topic.configs.get("message.timestamp.type") == "LogAppendTime"
        text = f"no record of {cut.topic.name} has a time in the future: it would hold its segment"
        found.append(Precondition("timestamps", text, True if is_logged else None))
    return found


def _min_retention(cut: RetentionCut, policy: Policy) -> Precondition:
    """Return the precondition that enough history stays; known if the topic's write rate is."""
    kept, wanted = cut.keeps_ms, wanted_ms(cut.topic, policy)
    text = f"{human_ms(wanted)} of history should stay; "
    if not cut.way.is_history_known:
        return Precondition("min_retention", f"{text}whether it does is not known, nor how fast it is written", None)
    if kept is None:
        return Precondition("min_retention", f"{text}nothing is written now, so it does", True)
    return Precondition("min_retention", f"{text}at least {human_ms(kept)} does", kept >= wanted)
