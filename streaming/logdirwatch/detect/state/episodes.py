"""The episodes of a broker that later evidence is judged by: its last absences, and when its process started.

A start is evidence: it tries every directory again. A broker that does not answer, or that the controller fences, has
not ended: a pause or a lost network look the same. That it ended is only known if nothing listens on its port, if its
log or its host says so, or if it recovers its logs, which it does when it starts.
"""

from logdirwatch.detect.state import maintenance
from logdirwatch.detect.state.broker_state import BrokerMemory, Episode
from logdirwatch.model.broker_failures import BrokerFailureReason
from logdirwatch.model.records import MetricsRecord

NOTHING_LISTENS = "connection refused"
"""What a collector says of a host that answers, and on which no process has the broker's port."""
KEPT = 24
STOPPING_MS = 60_000
"""How long a broker may still answer after it logged why it ends: a controlled shutdown moves its leaders first."""
_STILL_RUNS = frozenset({BrokerFailureReason.HEARTBEAT_LOST, BrokerFailureReason.OTHER})
"""What a broker logs that may go on running."""


def begin(memory: BrokerMemory, at_ms: int, *, is_fenced: bool) -> None:
    """Note that the broker does not answer; silence is no sign of an absence, because nobody looked."""
    if memory.away_since_ms is None and not memory.is_silent:
        memory.episodes.append(Episode(since_ms=at_ms))
    if memory.away_since_ms is not None:
        memory.episodes[-1].is_fenced |= is_fenced


def note_failed_poll(memory: BrokerMemory, record: MetricsRecord, at_ms: int) -> None:
    """Note that no process runs, if a poll that was not answered shows it."""
    if NOTHING_LISTENS in (record.error or ""):
        note_start(memory, at_ms)


def end(memory: BrokerMemory, at_ms: int) -> None:
    """Note that the broker answers again; an absence is kept if it was a restart, or confirmed, and not planned."""
    since_ms, word = memory.away_since_ms, memory.word
    if since_ms is None:
        return
    *before, episode = memory.episodes
    earliest_ms = max([since_ms - STOPPING_MS, *(one.until_ms or 0 for one in before[-1:])])
    episode.until_ms = at_ms
    if word is not None and word.at_ms >= earliest_ms:
        episode.reason, episode.text = word.reason, word.text
        if word.reason not in _STILL_RUNS:
            note_start(memory, word.at_ms)
    if memory.recovery is not None:
        note_start(memory, memory.recovery.began_ms)
    counts = episode.is_fenced or has_started_since(memory, earliest_ms)
    if not counts or maintenance.running(memory) is not None:
        del memory.episodes[-1]
    del memory.episodes[:-KEPT]


def note_start(memory: BrokerMemory, after_ms: int) -> None:
    """Note that the process that runs now, or next, started after this time."""
    memory.started_ms = max(after_ms, memory.started_ms or after_ms)


def has_started_since(memory: BrokerMemory, at_ms: int) -> bool:
    """Tell whether the broker's process is known to have started after ``at_ms``."""
    return memory.started_ms is not None and memory.started_ms >= at_ms
