"""Partitions in danger: remove throttles left behind, bring brokers back, elect leaders as the last resort."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from logdirwatch.model.vocabulary import LogDirStatus
from logdirwatch.plan.actions.brokers.investigate import UNAVAILABLE, UNDER_MIN_ISR, Runbook
from logdirwatch.plan.actions.replicas.clear_throttles import propose_clear
from logdirwatch.plan.actions.replicas.elect_leaders import elect_unclean
from logdirwatch.plan.availability import leadership
from logdirwatch.plan.availability.fault_tolerance import fault_tolerance_of
from logdirwatch.plan.availability.offline_log_dirs import common_cause
from logdirwatch.plan.cluster.layout import Partition
from logdirwatch.plan.cluster.snapshot import ClusterSnapshot
from logdirwatch.plan.proposal import EXAMPLES, ProposedAction, Veto
from logdirwatch.plan.reassignment.throttles import holding_back
from logdirwatch.plan.responses.response import Response, Situation
from logdirwatch.text.units import human_ms
from logdirwatch.text.words import counted, some_of


def propose(situation: Situation) -> list[ProposedAction]:
    """Return what keeps replicas back, what brings most partitions back, and the last resort for those without."""
    snapshot, policy = situation.snapshot, situation.policy
    endangered = [p for p in _doubtful(snapshot) if _is_endangered(p, snapshot)]
    returns = brought_back_by(endangered, snapshot)
    best = _best(returns) or _most_missed(endangered, snapshot)
    slowed = holding_back(endangered, snapshot)
    kept_back = f"replicas that are behind are throttled: {some_of([one.text for one in slowed])}" if slowed else None
    why = [text for text in (kept_back, best, common_cause((), snapshot)) if text is not None]
    look = situation.look_because("; ".join(why) or None)
    looked = replace(
        look,
        expected={
            **look.expected,
            "endangered": len(endangered),
            "led_again_by_return_of": {str(broker): count for broker, count in returns.most_common(EXAMPLES)},
            "endurance": fault_tolerance_of(endangered, snapshot),
        },
    )
    target = {"broker": None, "log_dir": None}
    cleared = propose_clear(slowed, snapshot, policy, target)
    # To remove a throttle takes a moment and loses nothing, and replicas may be in sync again by that alone.
    first = [looked] if cleared is None or cleared.vetoes else [cleared, looked]
    return [*first, *elect_unclean(target, snapshot, policy, _may_come_back(situation))]


def brought_back_by(partitions: Sequence[Partition], snapshot: ClusterSnapshot) -> Counter[int]:
    """Return by broker how many leaderless partitions get a leader when it, or its disk, returns with its data."""
    counts: Counter[int] = Counter()
    for partition in partitions:
        state, live = leadership.current_leadership(partition, snapshot), leadership.live_replicas(partition, snapshot)
        if state.leader is None:
            # Any replica does not do: only one that was in sync, or eligible, may lead without loss (KIP-966).
            counts.update(b for b in partition.replicas if leadership.elected(state, live | {b}) is not None)
    return counts


def _doubtful(snapshot: ClusterSnapshot) -> list[Partition]:
    """Return the partitions that need a closer look: leaderless, behind, or on an unhealthy broker."""
    troubled = {number for number in snapshot.brokers if not snapshot.is_alive(number)}
    troubled |= {place[0] for place, d in snapshot.directories.items() if d.status is LogDirStatus.OFFLINE}
    return [
        partition
        for partition in snapshot.partitions.values()
        if partition.leader is None
        or len(partition.isr) < len(partition.replicas)
        or not troubled.isdisjoint(partition.replicas)
    ]


def _is_endangered(partition: Partition, snapshot: ClusterSnapshot) -> bool:
    """Tell whether a partition has no leader, is under its minimum ISR, or has one copy left of several."""
    state = leadership.current_leadership(partition, snapshot)
    needed = state.min_isr
    live = leadership.live_replicas(partition, snapshot) & set(state.isr)
    is_under = needed is not None and len(live) < needed
    return state.leader is None or is_under or (len(partition.replicas) > 1 and len(live) <= 1)


def _best(returns: Counter[int]) -> str | None:
    if not returns:
        return None
    broker, count = returns.most_common(1)[0]
    led = counted(count, "leaderless partition is", "leaderless partitions are")
    return f"broker {broker} brings most back: {led} led again with it"


def _most_missed(partitions: Sequence[Partition], snapshot: ClusterSnapshot) -> str | None:
    """Say whose replicas most partitions lack that have a leader, but too few in-sync replicas."""
    counts: Counter[int] = Counter()
    for partition in partitions:
        counts.update(set(partition.replicas) - leadership.live_replicas(partition, snapshot))
    if not counts:
        return None
    broker, count = counts.most_common(1)[0]
    lack = counted(count, "endangered partition lacks", "endangered partitions lack")
    return f"broker {broker} is missed most: {lack} its replica"


def _may_come_back(situation: Situation) -> Veto | None:
    if not situation.may_come_back:
        return None
    wait = human_ms(situation.policy.limits.rebuild_after_ms)
    return Veto("may_come_back", f"the lost replicas may come back with all that they have; wait {wait}")


RESPONSE = Response(
    runbook=Runbook(
        "see which partitions have no leader or too few in-sync replicas; restart no broker that holds the last copy",
        (UNAVAILABLE, UNDER_MIN_ISR),
    ),
    propose=propose,
    ends_when="no broker reports a partition in danger",
)
