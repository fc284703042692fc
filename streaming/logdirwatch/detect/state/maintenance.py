"""Maintenance: planned absence of a broker. While it is active, alerts about the broker's absence have severity info.

It ends with evidence later than its end, with a newer decision, or by a timer if no evidence arrives.
"""

from typing import Any

from logdirwatch.decisions import dated, ends_ms
from logdirwatch.detect.observations import Decided
from logdirwatch.detect.settings import DetectSettings
from logdirwatch.detect.state.broker_state import BrokerMemory, Maintenance
from logdirwatch.model.evidence.brokers import MaintenanceWindow
from logdirwatch.model.vocabulary import Decision


def take(memory: BrokerMemory, decided: Decided, settings: DetectSettings) -> bool:
    """Apply a decision; return whether it changed anything. Repeated and older ones do not."""
    given, origin = decided
    if given.decision is not Decision.MAINTENANCE:
        return False
    place = f"{origin.topic}/{origin.partition}"
    # The order of the topic decides, not the clocks of those who decide.
    is_later = origin.offset > memory.positions.get(place, -1)
    memory.positions[place] = max(origin.offset, memory.positions.get(place, -1))
    record = dated(given, origin.kafka_timestamp_ms, settings.clock_skew_ms)
    if memory.maintenance is not None and not is_later and record.at_ms <= memory.maintenance.at_ms:
        return False
    memory.corrected_clocks += abs(record.at_ms - given.at_ms) > settings.clock_skew_ms
    until_ms = ends_ms(record, settings.maintenance_max_ms)
    memory.maintenance = Maintenance(
        at_ms=record.at_ms,
        until_ms=until_ms,
        by=record.by,
        reason=record.reason,
        is_over=until_ms <= max(record.at_ms, memory.newest_ms),
    )
    return True


def running(memory: BrokerMemory) -> Maintenance | None:
    """Return the active maintenance, if any."""
    found = memory.maintenance
    return None if found is None or found.is_over else found


def end_if_due(memory: BrokerMemory, at_ms: int) -> bool:
    """End the maintenance if its time is over at ``at_ms``; return whether it ended just now."""
    found = running(memory)
    if found is None or at_ms < found.until_ms:
        return False
    found.is_over = True
    return True


def evidence(memory: BrokerMemory) -> dict[str, Any]:
    """Return the active maintenance as evidence of an alert; another end makes a revision due."""
    found = running(memory)
    if found is None:
        return {}
    shown = MaintenanceWindow(until_ms=found.until_ms, by=found.by, reason=found.reason)
    return {"why": f"maintenance until {found.until_ms}", "maintenance": shown}
