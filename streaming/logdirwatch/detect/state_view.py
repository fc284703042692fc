"""Converts the machine's memory to the record of ``logdir.state``."""

from msgspec import structs

from logdirwatch.detect.alerts import absence_messages, urgency
from logdirwatch.detect.predicates import used_ratio
from logdirwatch.detect.rules import broker_crash_loop, broker_offline
from logdirwatch.detect.state import log_recovery, maintenance
from logdirwatch.detect.state.broker_state import BrokerMemory, LogDirMemory, encode
from logdirwatch.detect.state.shared_volumes import unaccounted_bytes_of_all
from logdirwatch.detect.state.turns import is_turn, seed_of
from logdirwatch.model.records import LogDirView, StateRecord, Transition
from logdirwatch.model.vocabulary import LogDirStatus


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
        version=1,
        cluster=memory.cluster,
        broker=memory.broker,
        sequence=memory.sequence,
        at_ms=memory.newest_ms,
        status=memory.status,
        reason=absence_messages.standing(memory),
        since_ms=memory.since_ms,
        last_seen_ms=memory.seen_ms,
        collector=memory.collector,
        host=memory.host,
        rack=memory.rack,
        is_fenced=memory.is_fenced,
        kafka_version=memory.kafka_version,
        metadata_version=memory.metadata_version,
        metadata_mode=memory.metadata_mode,
        not_reported=memory.not_reported,
        controller_id=memory.controller_id,
        log_dirs=[_view(path, log_dir, unaccounted[path]) for path, log_dir in sorted(memory.log_dirs.items())],
        partitions=memory.partitions,
        transitions=transitions,
        positions=dict(memory.positions),
        is_silent=memory.is_silent,
        maintenance_until_ms=None if planned is None else planned.until_ms,
        maintenance_by=None if planned is None else planned.by,
        maintenance_reason=None if planned is None else planned.reason,
        recovering_logs=log_recovery.logs_left(memory),
        flush_ms=memory.flush_ms,
        remote_copy_lag_bytes=memory.remote_copy_lag_bytes,
        absence_alerts={
            str(rule): memory.alerts[rule].alert_id for rule in broker_offline.RULES if rule in memory.alerts
        },
        is_crash_looping=broker_crash_loop.is_looping(memory),
        machine=encode(memory),
    )


def _maintenance_ms(memory: BrokerMemory) -> int | None:
    planned = maintenance.running(memory)
    return None if planned is None else planned.until_ms


def _view(path: str, log_dir: LogDirMemory, unaccounted_bytes: int | None) -> LogDirView:
    growth, full_at_ms = urgency.outlook(log_dir)
    return LogDirView(
        path=path,
        status=log_dir.status,
        cause=log_dir.cause if log_dir.status is LogDirStatus.OFFLINE else None,
        reason=log_dir.reason,
        since_ms=log_dir.since_ms,
        sample_at_ms=log_dir.sample_at_ms,
        last_seen_ms=log_dir.seen_ms,
        last_status=log_dir.last_status,
        last_proof_ms=log_dir.proof_ms,
        error_code=log_dir.error_code,
        total_bytes=log_dir.total_bytes,
        usable_bytes=log_dir.usable_bytes,
        used_ratio=used_ratio(log_dir.total_bytes, log_dir.usable_bytes),
        replica_count=log_dir.replica_count,
        replica_bytes=log_dir.replica_bytes,
        future_bytes=log_dir.future_bytes,
        incoming_bytes=log_dir.incoming_bytes,
        outgoing_bytes=log_dir.outgoing_bytes,
        unaccounted_bytes=unaccounted_bytes,
        growth_bytes_per_s=log_dir.growth_bytes_per_s,
        lasting_growth_bytes_per_s=growth,
        full_at_ms=full_at_ms,
        forecast_confidence=log_dir.forecast_confidence,
        volume=log_dir.volume,
        is_cordoned=log_dir.is_cordoned,
        is_metadata_dir=log_dir.is_metadata_dir,
        strays=log_dir.strays,
        capacity_source=log_dir.capacity_source,
    )
