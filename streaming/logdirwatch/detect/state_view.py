"""Converts the machine's memory to the record of ``logdir.state``."""

from msgspec import structs

from logdirwatch.detect.alerts import absence_messages, urgency
from logdirwatch.detect.predicates import used_ratio
from logdirwatch.detect.rules import broker_crash_loop, broker_offline
from logdirwatch.detect.state import log_recovery, maintenance
from logdirwatch.detect.state.broker_state import BrokerMemory, LogDirMemory, encode
from logdirwatch.detect.state.shared_volumes import unaccounted_bytes_of_all
from logdirwatch.detect.state.turns import is_turn, seed_of
from logdirwatch.model.record_part import in_common
from logdirwatch.model.records import LogDirView, StateRecord, Transition
from logdirwatch.model.vocabulary import LogDirStatus

_of_broker = in_common(BrokerMemory, StateRecord)
_of_log_dir = in_common(LogDirMemory, LogDirView)


def has_news(memory: BrokerMemory, refresh_ms: int) -> bool:
    """Tell whether to write a broker without a transition: something that ``fleet`` judges changed, or it is due."""
    is_other = memory.is_silent != memory.emitted_silent or _has_other_dangers(memory)
    is_planned_otherwise = memory.is_judged and _maintenance_ms(memory) != memory.emitted_maintenance_ms
    return is_other or is_planned_otherwise or _is_due(memory, refresh_ms)


def _is_due(memory: BrokerMemory, refresh_ms: int) -> bool:
    """Tell whether it is a broker's turn, so that a fleet first seen in one batch is not always written in one."""
    seed = seed_of(memory.cluster, memory.broker)
    return not refresh_ms or is_turn(memory.emitted_ms, memory.newest_ms, refresh_ms, seed)


def _has_other_dangers(memory: BrokerMemory) -> bool:
    """Tell whether the risk of partitions changed; the number of replicas still catching up does not count."""
    now, told = memory.partitions, memory.emitted_partitions
    if now == told or now is None or told is None:
        return now != told
    return structs.replace(now, out_of_sync=told.out_of_sync) != told


def state_record(memory: BrokerMemory, transitions: list[Transition]) -> StateRecord:
    """Return the next state record of a broker; increments its sequence."""
    memory.sequence += 1
    memory.emitted_ms, memory.emitted_silent = memory.newest_ms, memory.is_silent
    memory.emitted_partitions = memory.partitions
    memory.emitted_maintenance_ms = _maintenance_ms(memory)
    planned = maintenance.running(memory)
    unaccounted = unaccounted_bytes_of_all(memory)
    return StateRecord(
        **_of_broker(memory)
        | {
            "version": 1,
            "at_ms": memory.newest_ms,
            "reason": absence_messages.standing(memory),
            "last_seen_ms": memory.seen_ms,
            "log_dirs": [_view(path, log_dir, unaccounted[path]) for path, log_dir in sorted(memory.log_dirs.items())],
            "transitions": transitions,
            "positions": dict(memory.positions),
            "maintenance_until_ms": None if planned is None else planned.until_ms,
            "maintenance_by": None if planned is None else planned.by,
            "maintenance_reason": None if planned is None else planned.reason,
            "recovering_logs": log_recovery.logs_left(memory),
            "absence_alerts": {
                str(rule): memory.alerts[rule].alert_id for rule in broker_offline.RULES if rule in memory.alerts
            },
            "is_crash_looping": broker_crash_loop.is_looping(memory),
            "machine": encode(memory),
        }
    )


def _maintenance_ms(memory: BrokerMemory) -> int | None:
    planned = maintenance.running(memory)
    return None if planned is None else planned.until_ms


def _view(path: str, log_dir: LogDirMemory, unaccounted_bytes: int | None) -> LogDirView:
    growth, full_at_ms = urgency.outlook(log_dir)
    return LogDirView(
        **_of_log_dir(log_dir)
        | {
            "path": path,
            "cause": log_dir.cause if log_dir.status is LogDirStatus.OFFLINE else None,
            "last_seen_ms": log_dir.seen_ms,
            "last_proof_ms": log_dir.proof_ms,
            "used_ratio": used_ratio(log_dir.total_bytes, log_dir.usable_bytes),
            "unaccounted_bytes": unaccounted_bytes,
            "lasting_growth_bytes_per_s": growth,
            "full_at_ms": full_at_ms,
        }
    )
