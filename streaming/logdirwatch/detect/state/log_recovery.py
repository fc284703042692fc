"""A broker that recovers its logs at startup: as long as it makes progress, it is starting, not lost.

Kafka 4.3.1 counts the logs still to be recovered in a gauge for each directory (``LogManager.remainingLogsToRecover``),
which a JMX exporter shows while the broker itself does not answer yet. Its log counts them too, one line for each.
"""

from logdirwatch.detect.settings import DetectSettings
from logdirwatch.detect.state.broker_state import BrokerMemory, Recovery
from logdirwatch.model.records import EventRecord, MetricsRecord

GAUGE = "remainingLogsToRecover:"
RECENT_MS = 60_000
"""A gauge not seen for this long is no longer used."""
PROGRESS_MS = 600_000
"""A large log takes minutes, and its line is written at its end; a recovery without progress for longer is stuck."""


def note(memory: BrokerMemory, record: MetricsRecord, at_ms: int) -> None:
    """Apply the gauges of a broker that does not answer."""
    left = {
        name.removeprefix(GAUGE): int(value)
        for name, value in record.metrics.items()
        if value is not None and name.startswith(GAUGE)
    }
    if left:
        _note(memory, left, at_ms)


def note_line(memory: BrokerMemory, record: EventRecord, at_ms: int) -> None:
    """Apply a line of the log of a broker that does not answer."""
    path, loaded, total = record.log_dir or "", record.logs_loaded, record.logs_total
    if loaded is None or total is None or memory.away_since_ms is None:
        return
    _note(memory, {path: max(0, total - loaded)}, at_ms)
    if memory.recovery is not None:
        memory.recovery.total = {**memory.recovery.total, path: total}


def _note(memory: BrokerMemory, left: dict[str, int], at_ms: int) -> None:
    """Apply counts; progress is fewer logs than ever, or a new directory."""
    if memory.recovery is None:
        if any(left.values()):
            memory.recovery = Recovery(began_ms=at_ms, progress_ms=at_ms, seen_ms=at_ms, left=left)
        return
    memory.recovery.seen_ms = max(at_ms, memory.recovery.seen_ms)
    lowest = memory.recovery.left
    if any(count < lowest.get(path, count + 1) for path, count in left.items()):
        memory.recovery.progress_ms = at_ms
        memory.recovery.left = lowest | {path: min(count, lowest.get(path, count)) for path, count in left.items()}


def is_under_way(memory: BrokerMemory, at_ms: int, settings: DetectSettings) -> bool:
    """Tell whether progress was seen within the grace period; limited, since a broker may recover again and again."""
    found = memory.recovery
    if found is None or at_ms - found.began_ms >= settings.recovery_max_ms:
        return False
    return at_ms - found.progress_ms < settings.broker_offline_grace_ms


def logs_left(memory: BrokerMemory) -> int | None:
    """Return how many logs are still to be recovered; None without a recovery."""
    found = memory.recovery
    if found is None or memory.newest_ms - found.progress_ms > PROGRESS_MS:
        return None
    is_counted = found.total or memory.newest_ms - found.seen_ms <= RECENT_MS
    return sum(found.left.values()) if is_counted else None


def is_cut_short(memory: BrokerMemory, at_ms: int) -> bool:
    """Tell whether the broker was still recovering when it ended: the next start begins again."""
    found = memory.recovery
    return found is not None and bool(sum(found.left.values())) and at_ms - found.seen_ms <= RECENT_MS


def progress(memory: BrokerMemory) -> str | None:
    """Return how far a recovery is, None without one: ``59 of 400``, or ``341 left`` where nothing counts all logs."""
    left, found = logs_left(memory), memory.recovery
    if not left or found is None:
        return None
    total = sum(found.total.values())
    return f"{total - left} of {total}" if found.total.keys() == found.left.keys() else f"{left} left"
