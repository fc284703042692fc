"""What a plan does to leaders and in-sync replicas, step by step, as an action carries it in ``expected``.

::

    now ──▶ copied ──▶ preferred                   a reassignment
    now ──▶ stopped ──▶ started ──▶ preferred      a restart
    now ──▶ demoted                                another order of preference, and an election
    now ──▶ preferred                              an election
    now ──▶ cancelled                              a reassignment taken back

A partition that loses its leader in a later step, or can no longer be written to, is a veto against the action until it
is planned otherwise; one check for every kind, whoever planned the action.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from logdirwatch.plan.availability import leadership
from logdirwatch.plan.availability.leadership import LeadershipState
from logdirwatch.plan.cluster.assignment import Assignment
from logdirwatch.plan.cluster.layout import Partition, TopicPartition
from logdirwatch.plan.cluster.snapshot import ClusterSnapshot
from logdirwatch.plan.proposal import EXAMPLES, NAMED, ProposedAction, Veto

Path = Mapping[str, LeadershipState]
"""One partition's state after each step, in order; the first is its present state."""


def of_reassignment(assignments: Sequence[Assignment], snapshot: ClusterSnapshot) -> dict[str, Any]:
    """Return what happens to the partitions of a reassignment."""
    targets = {one.key: one.replicas for one in assignments}

    def steps(partition: Partition, now: LeadershipState, live: frozenset[int]) -> Path:
        target = targets[partition.key]
        copied = leadership.reassigned(now, target, live)
        reached = live | (set(target) - set(partition.replicas))
        return {"copied": copied, "preferred": leadership.preferred(copied, reached)}

    return _predicted(_known(targets, snapshot), snapshot, steps)


def of_demotion(assignments: Sequence[Assignment], snapshot: ClusterSnapshot) -> dict[str, Any]:
    """Return what happens to partitions whose replicas are reordered and whose first replica is elected."""
    targets = {one.key: one.replicas for one in assignments}

    def steps(partition: Partition, now: LeadershipState, live: frozenset[int]) -> Path:
        return {"demoted": leadership.preferred(replace(now, replicas=targets[partition.key]), live)}

    return _predicted(_known(targets, snapshot), snapshot, steps)


def of_election(partitions: Iterable[Partition], snapshot: ClusterSnapshot) -> dict[str, Any]:
    """Return what happens to partitions in a preferred election."""
    return _predicted(partitions, snapshot, lambda _, now, live: {"preferred": leadership.preferred(now, live)})


def of_cancelling(partitions: Iterable[Partition], snapshot: ClusterSnapshot) -> dict[str, Any]:
    """Return what happens to partitions whose reassignment is cancelled: the added replicas are dropped."""

    def steps(partition: Partition, now: LeadershipState, live: frozenset[int]) -> Path:
        target = tuple(broker for broker in partition.replicas if broker not in (partition.adding or ()))
        return {"cancelled": leadership.reassigned(now, target, live)}

    return _predicted(partitions, snapshot, steps)


def of_restart(broker: int, partitions: Iterable[Partition], snapshot: ClusterSnapshot) -> dict[str, Any]:
    """Return what happens to a broker's partitions while it is stopped, and after it returns with its data.

    A broker that is down already is not stopped; ``stopped`` is then the present state.
    """
    has_elr = snapshot.layout.uses_elr

    def steps(_: Partition, now: LeadershipState, live: frozenset[int]) -> Path:
        stopped = leadership.without(now, broker, live, has_elr=has_elr) if broker in live else now
        started = leadership.back(stopped, broker, live)
        preferred = leadership.preferred(started, live | {broker})
        return {"stopped": stopped, "started": started, "preferred": preferred}

    return _predicted(partitions, snapshot, steps)


def _known(keys: Iterable[TopicPartition], snapshot: ClusterSnapshot) -> Iterable[Partition]:
    return (snapshot.partitions[key] for key in keys if key in snapshot.partitions)


def _predicted(
    partitions: Iterable[Partition],
    snapshot: ClusterSnapshot,
    steps: Callable[[Partition, LeadershipState, frozenset[int]], Path],
) -> dict[str, Any]:
    """Return the outlook of partitions from their present state and the steps after it."""
    paths = []
    for partition in partitions:
        now, live = leadership.current_leadership(partition, snapshot), leadership.live_replicas(partition, snapshot)
        paths.append((partition.label, {"now": now, **steps(partition, now, live)}))
    return outlook(paths)


def outlook(paths: Iterable[tuple[str, Path]]) -> dict[str, Any]:
    """Return the counts of every step and some of the partitions, those that lose their leader first.

    ``leaderless`` and ``under_min_isr`` count partitions, the latter those whose minimum is known; ``led_anew`` those
    whose leader differs from the previous step. ``becomes_leaderless`` and ``falls_under_min_isr`` count partitions
    that lose a leader or the minimum that they have now.
    """
    listed = list(paths)
    names = list(listed[0][1]) if listed else []
    steps = []
    for before, name in zip([*names[:1], *names], names, strict=False):
        pairs = [(path[before].leader, path[name]) for _, path in listed]
        steps.append(
            {
                "step": name,
                "leaderless": sum(state.leader is None for _, state in pairs),
                "under_min_isr": sum(state.is_under_min_isr for _, state in pairs),
                "led_anew": sum(state.leader not in {None, old} for old, state in pairs),
            }
        )
    return {
        "partitions": len(listed),
        "steps": steps,
        "examples": [_example(label, path) for label, path in sorted(listed, key=_harm)[:EXAMPLES]],
        **_harmed("becomes_leaderless", listed, lambda state: state.leader is None),
        # A leaderless partition takes no writes now, so one that is led with too few in sync loses nothing.
        **_harmed("falls_under_min_isr", listed, lambda state: state.leader is not None and state.is_under_min_isr),
    }


def _harmed(key: str, listed: Iterable[tuple[str, Path]], is_so: Callable[[LeadershipState], bool]) -> dict[str, Any]:
    """Return the partitions for which something becomes true that is not true now, and the first such step.

    Empty if there are none. Compared by partition, since a total hides one that is harmed behind another that recovers.
    """
    found = []
    for label, path in listed:
        now, *later = path.items()
        if not (now[1].leader is None or is_so(now[1])):
            found += [(label, step) for step, standing in later if is_so(standing)][:1]
    if not found:
        return {}
    return {key: {"partitions": len(found), "step": found[0][1], "examples": [label for label, _ in found[:EXAMPLES]]}}


def _harm(item: tuple[str, Path]) -> tuple[bool, int, bool]:
    """Sort key: leaderless in some step first, then the fewest in-sync replicas, then those with a new leader."""
    found = list(item[1].values())
    is_led = all(step.leader is not None for step in found)
    return is_led, min(len(step.isr) for step in found), len({step.leader for step in found}) == 1


def _example(label: str, path: Path) -> dict[str, Any]:
    steps = {name: {"leader": found.leader, "isr": list(found.isr)} for name, found in path.items()}
    return {"partition": label, **steps}


LEADERLESS, UNDER_MIN_ISR = "leaderless_after", "under_min_isr_after"
_SAID_BY = {
    LEADERLESS: frozenset({LEADERLESS, "last_in_sync_replica"}),
    UNDER_MIN_ISR: frozenset({UNDER_MIN_ISR, "min_isr_lost"}),
}
"""Vetoes of a restart that already say the same."""
_WHEN = {"stopped": "while the broker is away", "cancelled": "once that is cancelled"}


def veto_predicted_harm(proposal: ProposedAction) -> ProposedAction:
    """Return a proposal with the vetoes that follow from its own prediction."""
    named = {veto.name for veto in proposal.vetoes}
    found = [veto for veto in against(proposal.expected) if not named & _SAID_BY[veto.name]]
    return replace(proposal, vetoes=(*proposal.vetoes, *found)) if found else proposal


def against(expected: Mapping[str, Any]) -> list[Veto]:
    """Return the vetoes that follow from the prediction in an action's ``expected``."""
    leadership = expected.get("leadership") or {}
    too_few = "too few replicas are in sync then for min.insync.replicas"
    harms = (
        (LEADERLESS, "becomes_leaderless", "have no leader", "no replica that is alive is in sync then"),
        (UNDER_MIN_ISR, "falls_under_min_isr", "take no writes", too_few),
    )
    return [
        Veto(name, f"{_named(harm)} would {what} {_WHEN.get(harm['step'], 'afterwards')}: {why}")
        for name, key, what, why in harms
        if (harm := leadership.get(key))
    ]


def _named(harmed: Mapping[str, Any]) -> str:
    first = harmed["examples"][:NAMED]
    more = harmed["partitions"] - len(first)
    return f"{', '.join(first)} and {more} more" if more else ", ".join(first)
