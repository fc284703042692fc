"""Failing copies to remote storage: segments that are not copied stay on the disks, regardless of retention (KIP-405).

The evidence is a log line about a failed copy, and Kafka's counter of errors. It is over when nothing failed for a
while and the lag shrinks; without gauges, when the broker's log, while it is read, has had no such line for so long
that the task, which retries every half minute, must have succeeded (Kafka 4.3 ``RemoteLogManager``).
"""

from msgspec.structs import replace

from logdirwatch.detect.alerts import hints
from logdirwatch.detect.alerts.context import BrokerContext, EvidenceTime
from logdirwatch.detect.rules import log_dir_suspect
from logdirwatch.detect.state.broker_state import BrokerMemory, RemoteCopies
from logdirwatch.model.records import EventRecord, MetricsRecord
from logdirwatch.model.vocabulary import REMOTE_COPY_FAILS

ERRORS = "RemoteCopyErrorsTotal"
LAG = "RemoteCopyLagBytes"
TOLD_AFTER_MS = 300_000
"""A short outage of the storage is not an alert; the task retries."""
CALM_MS = 900_000
# remote.log.manager.task.interval.ms is 30 seconds by default: 120 runs without a line.
SILENT_MS = 3_600_000
LOG_READ_MS = 60_000


def take_event(context: BrokerContext, record: EventRecord, moment: EvidenceTime) -> None:
    """Record a failed copy."""
    _failed(context.memory, moment.at_ms, record.detail)
    _judge(context, moment)


def note_lag(memory: BrokerMemory, record: MetricsRecord) -> None:
    """Keep the lag, which alerts about the same answer's directories name."""
    if record.metrics:
        lag = record.metrics.get(LAG)
        memory.remote_copy_lag_bytes = None if lag is None else int(lag)


def take_gauges(context: BrokerContext, record: MetricsRecord, moment: EvidenceTime) -> None:
    """Apply the counter of errors, and the lag that is known already."""
    memory, errors = context.memory, record.metrics.get(ERRORS)
    if memory.remote_copies is not None and memory.remote_copies.lag_bytes is None:
        # The first known lag since the beginning: some lag is normal while topics are written.
        memory.remote_copies = replace(memory.remote_copies, lag_bytes=memory.remote_copy_lag_bytes)
    if errors is not None:
        # The counter begins at 0 again when the broker starts, so a smaller number is no failure.
        if memory.remote_copy_errors is not None and errors > memory.remote_copy_errors:
            _failed(memory, moment.at_ms, None)
        memory.remote_copy_errors = int(errors)
    else:
        memory.remote_copy_errors = None
    _judge(context, moment)


def note_log_read(memory: BrokerMemory, at_ms: int) -> None:
    """Record that the broker's log is being read: only then the absence of lines is evidence."""
    memory.log_read_ms = at_ms


def judge_answer(context: BrokerContext, _: MetricsRecord, moment: EvidenceTime) -> None:
    """End failures that a log which is read has not repeated for long."""
    _judge(context, moment)


def is_quiet(memory: BrokerMemory) -> bool:
    """Tell whether no copies fail; the columns leave new gauges to the state machine."""
    return memory.remote_copies is None


def forget(context: BrokerContext, path: str | None, until_ms: int, moment: EvidenceTime, reason: str) -> None:
    """Clear failures up to a time after a person declared the broker healthy."""
    found = context.memory.remote_copies
    if path is None and found is not None and found.failed_ms <= until_ms:
        context.memory.remote_copies = None
        log_dir_suspect.clear(context, None, REMOTE_COPY_FAILS, moment, reason=reason)


def _failed(memory: BrokerMemory, at_ms: int, text: str | None) -> None:
    known = memory.remote_copies
    memory.remote_copies = RemoteCopies(
        since_ms=at_ms if known is None else known.since_ms,
        failed_ms=at_ms,
        text=text or (None if known is None else known.text),
        lag_bytes=memory.remote_copy_lag_bytes if known is None else known.lag_bytes,
    )


def _judge(context: BrokerContext, moment: EvidenceTime) -> None:
    memory = context.memory
    found = memory.remote_copies
    if found is None:
        return
    if _is_over(memory, found, moment.at_ms):
        memory.remote_copies = None
        log_dir_suspect.clear(context, None, REMOTE_COPY_FAILS, moment)
    elif found.failed_ms - found.since_ms >= TOLD_AFTER_MS and not log_dir_suspect.is_told(
        context, None, REMOTE_COPY_FAILS
    ):
        log_dir_suspect.suspect(context, None, REMOTE_COPY_FAILS, hints.remote_copies(found), moment)


def _is_over(memory: BrokerMemory, found: RemoteCopies, at_ms: int) -> bool:
    calm_ms, lag = at_ms - found.failed_ms, memory.remote_copy_lag_bytes
    if lag is not None:
        # An idle task logs no error either: the copies work only if they also catch up.
        has_fallen = lag == 0 or lag <= (found.lag_bytes or 0)
        return calm_ms >= CALM_MS and has_fallen
    is_read = memory.log_read_ms is not None and at_ms - memory.log_read_ms <= LOG_READ_MS
    return calm_ms >= SILENT_MS and is_read
