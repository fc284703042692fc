"""A rolling restart: brokers that are away one after the other and soon back get one ``info`` alert.

Those that are away at the same time have lost what they share, unless somebody restarts several at once: a warning.
A broker counts as away only when the controller has fenced it, as it does when a broker shuts down. A broker that stays
away longer than the grace period has its own alert and is not part of the restart.
"""

from collections.abc import Iterable
from itertools import accumulate
from typing import NamedTuple

from logdirwatch.detect.alerts.context import EvidenceTime
from logdirwatch.fleet import rules, wording
from logdirwatch.fleet.alerts import Claim, Details
from logdirwatch.fleet.context import ClusterContext
from logdirwatch.fleet.memory import BrokerDigest, FleetMemory
from logdirwatch.model.evidence.clusters import RollingRestartEvidence
from logdirwatch.model.records import StateRecord, Transition
from logdirwatch.model.vocabulary import BrokerStatus, Rule, Severity

RULE = Rule.BROKER_OFFLINE
_ANSWERING = frozenset({BrokerStatus.ONLINE, BrokerStatus.DEGRADED})


class Absence(NamedTuple):
    """When a broker was away; without an end it still is."""

    since_ms: int
    until_ms: int | None


def absences(state: StateRecord, since_ms: int | None) -> list[Absence]:
    """Return when the broker was away, by a state record; ``since_ms`` is since when it was before that record."""
    found = []
    for status, at_ms in [*_steps(state.transitions), (state.status, state.since_ms)]:
        if status == BrokerStatus.OFFLINE and since_ms is None:
            since_ms = at_ms
        elif status in _ANSWERING and since_ms is not None:
            found.append(Absence(since_ms, at_ms))
            since_ms = None
    return found if since_ms is None else [*found, Absence(since_ms, None)]


def _steps(transitions: Iterable[Transition]) -> list[tuple[str, int]]:
    return [(step.to_status, step.at_ms) for step in transitions if step.log_dir is None]


def follow(context: ClusterContext, state: StateRecord, before: BrokerDigest | None) -> None:
    """Record a broker that was away and is back in time; one that crashes again and again is not restarted in turn."""
    if state.is_crash_looping:
        context.memory.restarts.pop(state.broker, None)
        return
    detect = context.detect
    was_recovering = before is not None and bool(before.recovering_logs)
    longest_ms = max(detect.broker_offline_grace_ms, detect.recovery_max_ms if was_recovering else 0)
    for since_ms, until_ms in absences(state, None if before is None else before.away_since_ms):
        if until_ms is not None and until_ms - since_ms < longest_ms:
            context.memory.restarts[state.broker] = since_ms, until_ms


def judge(context: ClusterContext, moment: EvidenceTime) -> None:
    """Update the alert with the restarts; when none has happened for a while, it ends and they are forgotten."""
    memory = context.memory
    last_ms = max((until_ms for _, until_ms in memory.restarts.values()), default=None)
    if last_ms is None:
        return
    if moment.at_ms - last_ms >= context.settings.restart_window_ms:
        memory.restarts.clear()
        context.alerts.resolve(RULE, None, "over", moment.at_ms)
    elif context.alerts.get(RULE) is not None or len(memory.restarts) >= context.settings.restart_brokers_min:
        severity = Severity.WARNING if _at_once(memory) > 1 else Severity.INFO
        claim = Claim(severity, BrokerStatus.ONLINE, (len(memory.restarts),))
        context.alerts.fire(RULE, None, claim, lambda: _details(context), *moment)


def forget(memory: FleetMemory, broker: int) -> None:
    """Forget a removed broker."""
    memory.restarts.pop(broker, None)


def _at_once(memory: FleetMemory) -> int:
    """Return how many brokers were away at the same time, without those in maintenance."""
    away = [times for broker, times in memory.restarts.items() if memory.brokers[broker].maintenance_until_ms is None]
    steps = sorted((at_ms, step) for times in away for at_ms, step in zip(times, (1, -1), strict=True))
    return max(accumulate(step for _, step in steps), default=0)


def _details(context: ClusterContext) -> Details:
    restarts = context.memory.restarts
    in_turn = sorted(restarts, key=lambda broker: (restarts[broker], broker))
    away = sum(digest.away_since_ms is not None for digest in context.memory.brokers.values())
    evidence = RollingRestartEvidence(
        restarted_brokers=len(restarts),
        brokers=context.tally.sums.brokers,
        away_brokers=away,
        at_once_brokers=_at_once(context.memory),
        since_ms=min(since_ms for since_ms, _ in restarts.values()),
        longest_away_ms=max(until_ms - since_ms for since_ms, until_ms in restarts.values()),
        grace_ms=context.detect.broker_offline_grace_ms,
    )
    affected = {"brokers": len(restarts), "examples": [str(broker) for broker in in_turn[: rules.EXAMPLES]]}
    return Details(evidence, affected, wording.rolling_restart(context.memory.cluster, evidence, in_turn))
