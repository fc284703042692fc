"""The judgement of one cluster from the states of its brokers.

``take`` processes one record, ``tick`` the passing of time. Both change the memory in the context they are given and
collect the records to write there. Partitions and space are judged by the time of the evidence alone, so that the
result does not depend on how records are split into batches. Only silence is judged by the batch's clock, since no
record may come.
"""

from typing import NamedTuple

from logdirwatch.detect.alerts.context import EvidenceTime
from logdirwatch.fleet import peers, restarts, risk, silence, space, stops
from logdirwatch.fleet.context import ClusterContext
from logdirwatch.fleet.memory import BrokerDigest, DirDigest, FleetMemory
from logdirwatch.fleet.restarts import absences
from logdirwatch.fleet.settings import FleetSettings
from logdirwatch.model.identity import Origin
from logdirwatch.model.record_part import in_common
from logdirwatch.model.records import LogDirView, StateRecord
from logdirwatch.model.vocabulary import Rule

_of_broker = in_common(StateRecord, BrokerDigest)
_of_log_dir = in_common(LogDirView, DirDigest)


class Seen(NamedTuple):
    """One record of ``logdir.state``; without a state it is a tombstone, and the broker was removed."""

    broker: int
    state: StateRecord | None
    origin: Origin


def is_newer(state: StateRecord, known: tuple[int, int] | None) -> bool:
    """Tell whether a record is newer than the one with that sequence and time.

    The sequence decides. When ``detect`` has lost its checkpoint, it counts from 1 again, and the time decides.
    """
    return known is None or state.sequence > known[0] or state.at_ms > known[1]


def digest(state: StateRecord, before: BrokerDigest | None, now_ms: int) -> BrokerDigest:
    """Return what is kept of a state record; an ongoing silence began when it was first seen."""
    since_ms = before.silent_at_ms if before is not None and before.is_silent else now_ms
    return BrokerDigest(
        **_of_broker(state)
        | {
            "log_dirs": [DirDigest(**_of_log_dir(view)) for view in state.log_dirs],
            "silent_at_ms": None if state.is_reported else since_ms,
            "away_since_ms": _away_since_ms(state, before),
            "flush_ms": _flush_ms(state, before),
            "absence_alerts": state.absence_alerts or {},
        }
    )


def _flush_ms(state: StateRecord, before: BrokerDigest | None) -> float | None:
    """Return the last known flush time of the broker: a missing metric does not make its disks faster."""
    return before.flush_ms if state.flush_ms is None and before is not None else state.flush_ms


def _away_since_ms(state: StateRecord, before: BrokerDigest | None) -> int | None:
    found = absences(state, None if before is None else before.away_since_ms)
    return found[-1].since_ms if found and found[-1].until_ms is None else None


def take(context: ClusterContext, seen: Seen, now_ms: int) -> None:
    """Process one record; ``now_ms`` is the batch's time and is used only for waiting."""
    is_news = _remove(context, seen, now_ms) if seen.state is None else _note(context, seen.state, now_ms)
    if is_news and context.memory.brokers and context.memory.newest_ms > context.memory.judged_until_ms:
        moment = EvidenceTime(context.memory.newest_ms, str(seen.origin))
        risk.judge(context, moment)
        space.judge(context, moment)
        peers.judge(context, moment)
        restarts.judge(context, moment)
        context.alerts.renew(moment.at_ms)


def tick(context: ClusterContext, now_ms: int) -> None:
    """Let time pass: it decides only whether brokers and executions are silent, and for how long."""
    silence.judge(context, now_ms)
    stops.judge(context, now_ms)
    silence.renew_unseen(context, now_ms)


def next_deadline_ms(memory: FleetMemory, settings: FleetSettings) -> int | None:
    """Return when ``tick`` has something to decide next; None when only a record can change anything."""
    of_brokers = silence.next_deadline_ms(memory, settings), silence.unseen_renewal_ms(memory)
    deadlines = [*of_brokers, *stops.next_deadline_ms(memory)]
    return min((deadline_ms for deadline_ms in deadlines if deadline_ms is not None), default=None)


def _note(context: ClusterContext, state: StateRecord, now_ms: int) -> bool:
    """Apply a broker's state; return whether it was newer than the known one."""
    memory, broker = context.memory, state.broker
    before = memory.brokers.get(broker)
    known = memory.gone.get(broker) if before is None else (before.sequence, before.at_ms)
    if not is_newer(state, known):
        return False
    memory.gone.pop(broker, None)
    memory.newest_ms = max(memory.newest_ms, state.at_ms)
    memory.brokers[broker] = digest(state, before, now_ms)
    context.tally.put(broker, memory.brokers[broker])
    if state.at_ms > memory.judged_until_ms:
        silence.follow(context, broker, now_ms)
    restarts.follow(context, state, before)
    return True


def _remove(context: ClusterContext, seen: Seen, now_ms: int) -> bool:
    """Forget a broker; return whether it was known. When the last one is removed, the cluster's alerts end too."""
    memory, broker = context.memory, seen.broker
    digest = memory.brokers.pop(broker, None)
    if digest is None:
        return False
    memory.gone[broker] = digest.sequence, digest.at_ms
    context.tally.drop(broker)
    restarts.forget(memory, broker)
    if seen.origin.kafka_timestamp_ms <= memory.judged_until_ms:
        return True
    silence.forget(context, broker, now_ms)
    if not memory.brokers:
        memory.pending.clear()
        for rule in (Rule.PARTITIONS_AT_RISK, Rule.FLEET_SPACE, peers.RULE, restarts.RULE):
            context.alerts.resolve(rule, None, "removed", memory.newest_ms)
    return True
