"""The episodes of a broker that later evidence is judged by: when the process that runs now started.

A start is evidence: it tries every directory again. A broker that does not answer, or that the controller fences, has
not ended: a pause or a lost network look the same. That it ended is only known if nothing listens on its port, if its
log or its host says so, or if it recovers its logs, which it does when it starts.
"""

from logdirwatch.detect.state.broker_state import BrokerMemory
from logdirwatch.model.broker_failures import BrokerFailureReason
from logdirwatch.model.records import MetricsRecord

NOTHING_LISTENS = "connection refused"
"""What a collector says of a host that answers, and on which no process has the broker's port."""
_STILL_RUNS = frozenset({BrokerFailureReason.HEARTBEAT_LOST, BrokerFailureReason.OTHER})
"""What a broker logs that may go on running."""


def note_failed_poll(memory: BrokerMemory, record: MetricsRecord, at_ms: int) -> None:
    """Note that no process runs, if a poll that was not answered shows it."""
    if NOTHING_LISTENS in (record.error or ""):
        note_start(memory, at_ms)


def note_answer(memory: BrokerMemory) -> None:
    """Note the start of a broker that answers after an absence, if its log says that it ended or it had to recover."""
    if memory.away_since_ms is None:
        return
    if memory.word is not None and memory.word.reason not in _STILL_RUNS:
        note_start(memory, memory.word.at_ms)
    if memory.recovery is not None:
        note_start(memory, memory.recovery.began_ms)


def note_start(memory: BrokerMemory, after_ms: int) -> None:
    """Note that the process that runs now, or next, started after this time."""
    memory.started_ms = max(after_ms, memory.started_ms or after_ms)


def has_started_since(memory: BrokerMemory, at_ms: int) -> bool:
    """Tell whether the broker's process is known to have started after ``at_ms``."""
    return memory.started_ms is not None and memory.started_ms >= at_ms
