"""Partitions in danger, one by one or all over a cluster; and moves that do not get on."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from logdirwatch.model.records import AlertRecord
from logdirwatch.model.vocabulary import ActionKind, LogDirStatus
from logdirwatch.plan.actions.brokers.investigate import investigate
from logdirwatch.plan.actions.brokers.restart_broker import restart_steps
from logdirwatch.plan.actions.replicas.cancel_moves import cancel_draft, cancel_moves, why_hopeless
from logdirwatch.plan.actions.replicas.demote_leaders import demote
from logdirwatch.plan.actions.replicas.elect_leaders import elect_unclean
from logdirwatch.plan.actions.replicas.reassign import Loss, rebuild
from logdirwatch.plan.availability import leadership
from logdirwatch.plan.availability.common_cause import common_cause
from logdirwatch.plan.availability.fault_tolerance import endurance_of, good_copies
from logdirwatch.plan.cluster.snapshot import Facts, Partition
from logdirwatch.plan.commands.kafka_tools import note
from logdirwatch.plan.proposal import Draft, Policy, Veto, effect
from logdirwatch.plan.reassignment.replacement_replicas import Repair, plan_rebuild
from logdirwatch.plan.reassignment.running_copies import copies_to
from logdirwatch.plan.reassignment.running_reassignments import dead_ends
from logdirwatch.plan.reassignment.unplaced import nothing_fits, unplaced
from logdirwatch.plan.vetoes import restart_vetoes
from logdirwatch.report.units import human_bytes, human_ms
from logdirwatch.report.words import counted

EXAMPLES = 20
STANDS_STILL = "stands_still"
"""The verdict of ``detect`` on moves of which nothing is copied any more."""


def partitions_at_risk(alert: AlertRecord, facts: Facts, policy: Policy, now_ms: int) -> list[Draft]:
    """Return what brings most partitions back, and the last resort for what nobody else can lead."""
    endangered = [p for p in _doubtful(facts) if _is_endangered(p, facts)]
    returns = brought_back_by(endangered, facts)
    why = [text for text in (_best(returns), common_cause((), facts)) if text is not None]
    look = investigate(alert, policy, "; ".join(why) or None)
    looked = replace(
        look,
        expected={
            **look.expected,
            "endangered": len(endangered),
            "led_again_by_return_of": {str(broker): count for broker, count in returns.most_common(EXAMPLES)},
            "endurance": endurance_of(endangered, facts),
        },
    )
    target = {"broker": None, "log_dir": None}
    return [looked, *elect_unclean(target, facts, policy, _may_come_back(alert, policy, now_ms))]


def brought_back_by(partitions: Sequence[Partition], facts: Facts) -> Counter[int]:
    """Return for each broker how many leaderless partitions are led again when it, or its disk, is back as it was."""
    counts: Counter[int] = Counter()
    for partition in partitions:
        state, live = leadership.standing_now(partition, facts), leadership.live_replicas(partition, facts)
        if state.leader is None:
            counts.update(b for b in partition.replicas if leadership.elected(state, live | {b}) is not None)
    return counts


def partition_failed(alert: AlertRecord, facts: Facts, policy: Policy, now_ms: int) -> list[Draft]:
    """Return what to do about single bad partitions: others lead them first, then they are copied elsewhere."""
    broker, labels = alert.broker, set(alert.evidence.get("why") or ())
    bad = [p for p in facts.partitions.values() if p.label in labels and broker in p.replicas]
    if broker is None or not bad:
        return [investigate(alert, policy)]
    led = [p for p in bad if leadership.standing_now(p, facts).leader == broker]
    why = "its copies of them are bad, and new ones would be copied from it"
    demoted = demote(broker, None, led, facts, policy, why)
    followed = [p for p in bad if p not in led]
    repair = plan_rebuild(broker, followed, facts, policy)
    return [
        *demoted,
        *_rebuilt(broker, repair, facts, policy, now_ms),
        *_copied_in_place(broker, followed, repair, facts, policy),
        investigate(alert, policy),
    ]


def move_stalled(alert: AlertRecord, facts: Facts, policy: Policy) -> list[Draft]:
    """Return what to do about moves to a broker that stand still: cancel what cannot end; a limit may be raised."""
    broker, told = alert.broker, alert.evidence.get("moves") or {}
    hopeless = [one for one in dead_ends(facts) if broker in (one.partition.adding or ())]
    limits = sorted({f"{found['throttle']}={found['throttle_bytes_per_s']}" for found in told.values() if _held(found)})
    why = f"the limit {', '.join(limits)} holds them back: raise it first" if limits else None
    if broker is None:
        return [investigate(alert, policy)]
    if not hopeless:
        return [*_stalled(broker, told, facts, policy), investigate(alert, policy, why)]
    moves = [one.partition for one in hopeless]
    return [
        cancel_moves(broker, None, moves, facts, policy, why_hopeless(hopeless)),
        investigate(alert, policy, why),
    ]


def _stalled(broker: int, told: dict[str, Any], facts: Facts, policy: Policy) -> list[Draft]:
    """Return the cancelling of copies that stand still though they could end; where a limit is set it comes first."""
    held_up = [
        path for path, found in sorted(told.items()) if found.get("verdict") == STANDS_STILL and not _held(found)
    ]
    drafts = []
    for place in ((broker, path) for path in held_up):
        copies = copies_to([place], facts)
        if copies and place in facts.directories:
            left = human_bytes(sum(copy.remaining_bytes for copy in copies))
            why = f"{len(copies)} copies to {place[1]} of broker {broker} stand still, {left} before their end"
            drafts.append(cancel_draft(facts.directories[place], copies, facts, policy, why))
    return drafts


def _held(found: dict[str, Any]) -> bool:
    return found.get("throttle") is not None


def _rebuilt(broker: int, repair: Repair, facts: Facts, policy: Policy, now_ms: int) -> list[Draft]:
    if not repair.assignments:
        return []
    loss = Loss(
        what=f"that the log of broker {broker} calls bad",
        stray=f"the bad copies on broker {broker} are deleted once the new ones are in sync",
        undo=f"puts the replicas back onto broker {broker}, copied anew",
    )
    target = {"broker": broker, "log_dir": None}
    return [rebuild((broker, "bad"), target, loss, repair, facts, policy, now_ms)]


def _copied_in_place(
    broker: int, bad: Sequence[Partition], repair: Repair, facts: Facts, policy: Policy
) -> list[Draft]:
    """Return how bad copies are made anew on the broker itself, where no other broker can take them."""
    left = {one.label for one in repair.unplaced}
    chosen = [p for p in bad if p.label in left and good_copies(p, facts) - {broker}][:EXAMPLES]
    if not chosen:
        return []
    text = f"remove the folders {', '.join(p.label for p in chosen)} of broker {broker} while it is stopped"
    between = [note(f"On broker {broker}'s host: {text}, whole and no others; they are copied again.")]
    return [
        Draft(
            kind=ActionKind.INVESTIGATE,
            target={"broker": broker, "log_dir": None, "step": restart_vetoes.COPY_AGAIN},
            reason=f"{text}: other replicas are in sync, and no other broker can take them{nothing_fits(repair)}",
            expected=effect(**unplaced(repair)),
            vetoes=restart_vetoes.against_restart(facts, broker),
            commands=tuple(restart_steps(broker, policy, between)),
            undo={"text": "move the folders away instead of removing them, until the copies are in sync"},
        )
    ]


def _doubtful(facts: Facts) -> list[Partition]:
    """Return the partitions that need a closer look: those without a leader, behind, or on a broker in trouble."""
    troubled = {number for number in facts.brokers if not facts.is_alive(number)}
    troubled |= {place[0] for place, d in facts.directories.items() if d.status is LogDirStatus.OFFLINE}
    return [
        partition
        for partition in facts.partitions.values()
        if partition.leader is None
        or len(partition.isr) < len(partition.replicas)
        or not troubled.isdisjoint(partition.replicas)
    ]


def _is_endangered(partition: Partition, facts: Facts) -> bool:
    """Tell whether a partition has no leader, is under its minimum, or has one copy left of several."""
    state = leadership.standing_now(partition, facts)
    needed = state.min_isr
    live = leadership.live_replicas(partition, facts) & set(state.isr)
    is_under = needed is not None and len(live) < needed
    return state.leader is None or is_under or (len(partition.replicas) > 1 and len(live) <= 1)


def _best(returns: Counter[int]) -> str | None:
    if not returns:
        return None
    broker, count = returns.most_common(1)[0]
    led = counted(count, "leaderless partition is", "leaderless partitions are")
    return f"broker {broker} brings most back: {led} led again with it"


def _may_come_back(alert: AlertRecord, policy: Policy, now_ms: int) -> Veto | None:
    wait_ms = policy.limits.rebuild_after_ms
    if now_ms - alert.opened_at_ms >= wait_ms:
        return None
    return Veto("may_come_back", f"the lost replicas may come back with all that they have; wait {human_ms(wait_ms)}")
