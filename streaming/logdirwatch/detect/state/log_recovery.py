"""A broker that recovers its logs at startup: as long as it makes progress, it is starting, not lost.

Kafka 4.3.1 counts the logs still to be recovered in a gauge for each directory (``LogManager.remainingLogsToRecover``),
which a JMX exporter shows while the broker itself does not answer yet.
"""

from logdirwatch.detect.settings import DetectSettings
from logdirwatch.detect.state.broker_state import BrokerMemory, Recovery
from logdirwatch.model.records import MetricsRecord

GAUGE = "remainingLogsToRecover:"
RECENT_MS = 60_000
"""A gauge not seen for this long is no longer used."""


def note(memory: BrokerMemory, record: MetricsRecord, at_ms: int) -> None:
    """Apply the gauges of a broker that does not answer; progress is fewer logs than ever, or a new directory."""
    left = {
        name.removeprefix(GAUGE): int(value)
        for name, value in record.metrics.items()
        if value is not None and name.startswith(GAUGE)
    }
    if not left:
        return
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
    if found is None or memory.newest_ms - found.seen_ms > RECENT_MS:
        return None
    return sum(found.left.values())
