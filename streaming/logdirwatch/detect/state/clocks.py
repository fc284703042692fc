"""The times of a broker's evidence: those of its writers, shifted where a clock was set (``model.times``)."""

from typing import TypeVar

from msgspec.structs import replace

from logdirwatch.detect.observations import Event
from logdirwatch.detect.settings import DetectSettings
from logdirwatch.detect.state.broker_state import BrokerMemory
from logdirwatch.model.identity import Origin
from logdirwatch.model.records import HostRecord, MetricsRecord
from logdirwatch.model.times import LEAST_STEP_MS, Arrival, Known, WriterClock
from logdirwatch.model.vocabulary import EventName

MOST_CLOCKS = 16
"""If every start of a writer has a new name, those that stalled would accumulate forever."""

R = TypeVar("R", MetricsRecord, HostRecord)


def in_evidence_time(
    memory: BrokerMemory, record: R, origin: Origin, last_ms: int | None, now_ms: int, settings: DetectSettings
) -> R | None:
    """Return a record with the time that it has as evidence; None if it is not newer than what is known.

    ``last_ms`` is the time of its writer's last evidence, ``now_ms`` that of the batch.
    """
    clock = memory.clocks.pop(record.collector, None) or WriterClock()
    before_ms = clock.shift_ms
    least_ms = LEAST_STEP_MS if isinstance(record, MetricsRecord) else 0
    known = Known(last_ms, memory.newest_ms, memory.heard_ms, record.interval_ms, least_ms, settings.clock_skew_ms)
    at_ms = clock.evidence_ms(record.timestamp_ms, Arrival(origin.kafka_timestamp_ms, now_ms), known)
    if clock.shift_ms or clock.stalled:
        memory.clocks[record.collector] = clock
        for name in list(memory.clocks)[:-MOST_CLOCKS]:
            del memory.clocks[name]
    memory.corrected_clocks += clock.shift_ms != 0 and abs(clock.shift_ms - before_ms) > settings.clock_skew_ms
    return None if at_ms is None else _shifted(record, at_ms - record.timestamp_ms)


def _shifted(record: R, by_ms: int) -> R:
    if not by_ms:
        return record
    if isinstance(record, HostRecord):
        started_ms = record.broker_started_ms
        return replace(
            record,
            timestamp_ms=record.timestamp_ms + by_ms,
            broker_started_ms=None if started_ms is None else max(0, started_ms + by_ms),
        )
    moves, read_ms = record.moves, record.controller_at_ms
    return replace(
        record,
        timestamp_ms=record.timestamp_ms + by_ms,
        controller_at_ms=None if read_ms is None else max(0, read_ms + by_ms),
        moves=None if moves is None else replace(moves, at_ms=max(0, moves.at_ms + by_ms)),
    )


def event_ms(memory: BrokerMemory, event: Event, now_ms: int, settings: DetectSettings) -> int:
    """Return the time of an event: its writer's, or that of its arrival if its writer's clock is wrong.

    The failure of a directory is never taken for an old one because of a clock: it counts as newer than what is known.
    """
    record, arrival = event.record, Arrival(event.origin.kafka_timestamp_ms, now_ms)
    clock, newest_ms = memory.clocks.get(record.collector or ""), memory.newest_ms
    at_ms = (record.timestamp_ms or arrival.kafka_ms) + (clock.shift_ms if clock else 0)
    is_ahead = at_ms > max(arrival.earliest_ms, newest_ms) + settings.clock_skew_ms
    is_late = record.event == EventName.LOG_DIR_FAILURE and at_ms < newest_ms - settings.clock_skew_ms
    if not (is_ahead or is_late):
        return at_ms
    if newest_ms < arrival.kafka_ms <= now_ms + settings.clock_skew_ms:
        return arrival.kafka_ms
    return newest_ms + 1 if newest_ms else arrival.earliest_ms


def stalled(memory: BrokerMemory) -> list[str]:
    """Return the writers whose records arrive without being newer than what is known."""
    return sorted(name for name, clock in memory.clocks.items() if clock.stalled)
