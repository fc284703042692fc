"""Throttles of others that make a move late: their owner is asked to raise them before anything is deleted.

A throttle that no plan of logdirwatch set belongs to somebody: it may protect clients, or another move. So it is
neither raised nor cleared here; the action names the broker, the value, and the rate that would be in time.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from logdirwatch.model.vocabulary import LOG_DIR_THROTTLE, REPLICATION_THROTTLES, ActionKind
from logdirwatch.plan.capacity.copy_rates import ABOVE_WRITES, SHARE_OF_TIME_LEFT, foreign, is_limit
from logdirwatch.plan.capacity.timing import in_time, place_target, time_to_full_ms
from logdirwatch.plan.cluster.snapshot import Broker, ClusterSnapshot, LogDir
from logdirwatch.plan.commands.configs import describe_configs
from logdirwatch.plan.commands.throttles import from_data
from logdirwatch.plan.proposal import Policy, ProposedAction, effect
from logdirwatch.plan.reassignment.throttles import SETS_LIMITS
from logdirwatch.plan.relief.freed_bytes import freed_by
from logdirwatch.text.units import human_bytes, human_in, human_ms, human_rate

STEP = "ask_to_raise_limits"
_RATES = (*REPLICATION_THROTTLES, LOG_DIR_THROTTLE)
_NAMED = 5


def ask_to_raise(
    source: LogDir,
    snapshot: ClusterSnapshot,
    policy: Policy,
    moves: Sequence[ProposedAction],
    plan: Callable[[ClusterSnapshot], Sequence[ProposedAction]],
) -> list[ProposedAction]:
    """Return the request to raise the throttles that make ``moves`` late; empty if none does.

    ``plan`` plans the moves on another snapshot.
    """
    free = _without_limits(snapshot)
    if free.brokers == snapshot.brokers:
        return []
    better = [proposal for proposal in plan(free) if not proposal.vetoes and proposal.reassignment is not None]
    more = freed_by(better, source) - freed_by(moves, source)
    found = {one: wanted for proposal in better for one, wanted in _binding(proposal, source, snapshot)}
    if more <= 0 or not found:
        return []
    return [_ask(source, found, better, more, policy)]


def _ask(
    source: LogDir,
    limits: dict[tuple[int, str, int], int],
    moves: Sequence[ProposedAction],
    more_bytes: int,
    policy: Policy,
) -> ProposedAction:
    needs = sum(proposal.expected["needs_ms"] for proposal in moves)
    named = [
        f"{key}={human_rate(limit)} of broker {broker} to at least {human_rate(wanted)}"
        for (broker, key, limit), wanted in sorted(limits.items())
    ]
    more = f" and {len(named) - _NAMED} more" if len(named) > _NAMED else ""
    left_ms = time_to_full_ms(source)
    full = "" if left_ms is None else f", before {source.path} is full {human_in(left_ms)}"
    return ProposedAction(
        kind=ActionKind.INVESTIGATE,
        target={**place_target(source), "step": STEP},
        reason=f"raise the limit, it is set by somebody else: ask them to raise {', '.join(named[:_NAMED])}{more}; "
        f"then {human_bytes(more_bytes)} more of {source.path} of broker {source.broker} can be moved away in "
        f"{human_ms(needs)}{full}, and no data is lost",
        expected=effect(
            then_needs_ms=needs,
            back_bytes=more_bytes,
            throttle_bytes_per_s=max(limits.values()),
            asked_limits=[
                {"broker": broker, "key": key, "from_bytes_per_s": limit, "to_bytes_per_s": wanted}
                for (broker, key, limit), wanted in sorted(limits.items())
            ],
        ),
        preconditions=(in_time(source, needs),),
        commands=tuple(
            describe_configs(policy.tools, "brokers", broker) for broker in sorted({broker for broker, _, _ in limits})
        ),
    )


def _binding(
    proposal: ProposedAction, source: LogDir, snapshot: ClusterSnapshot
) -> Iterable[tuple[tuple[int, str, int], int]]:
    """Yield the throttles of others that slow down a move, each with the rate that the move needs."""
    wanted = _needed_rate(proposal, source, snapshot)
    for broker, rates in from_data(proposal.expected[SETS_LIMITS]).brokers.items():
        for limit in foreign({broker: rates}, snapshot):
            if limit[2] < wanted:
                yield limit, wanted


def _needed_rate(proposal: ProposedAction, source: LogDir, snapshot: ClusterSnapshot) -> int:
    """Return the lowest rate with which a move takes at most half of the time left, and outpaces what is written to it.

    Never more than the planned rate.
    """
    planned: int = proposal.expected["throttle_bytes_per_s"]
    left_ms = time_to_full_ms(source)
    if left_ms is None:
        return planned
    copied = planned * proposal.expected["needs_ms"] // 1000
    in_half = int(copied * 1000 / max(1.0, left_ms * SHARE_OF_TIME_LEFT)) + 1
    return min(planned, max(in_half, int(ABOVE_WRITES * _written(proposal, snapshot)) + 1))


def _written(proposal: ProposedAction, snapshot: ClusterSnapshot) -> float:
    moved = {(one["topic"], one["partition"]) for one in (proposal.reassignment or {"partitions": ()})["partitions"]}
    return sum(
        max((snapshot.growth_of(replica) or 0.0 for replica in snapshot.replicas_of(key)), default=0.0) for key in moved
    )


def _without_limits(snapshot: ClusterSnapshot) -> ClusterSnapshot:
    return replace(snapshot, brokers={number: _without(broker) for number, broker in snapshot.brokers.items()})


def _without(broker: Broker) -> Broker:
    """Return a broker without throttles."""
    set_ones = {key for key in _RATES if (value := broker.configs.get(key)) is not None and is_limit(value)}
    if not set_ones:
        return broker
    return replace(broker, configs={key: value for key, value in broker.configs.items() if key not in set_ones})
