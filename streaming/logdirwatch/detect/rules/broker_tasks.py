"""Tasks and threads of a broker that fail: told at once where they matter, and as a suspicion once they last.

A task that runs again by itself is over when the broker's log, while it is read, has not named it for long: it must
have succeeded. A thread is over when the log says that it runs again, or that the broker started.
"""

from logdirwatch.detect.alerts import hints
from logdirwatch.detect.alerts.context import BrokerContext, EvidenceTime
from logdirwatch.detect.alerts.lifecycle import RECOVERED
from logdirwatch.detect.rules import log_dir_suspect
from logdirwatch.detect.rules.remote_copies import LOG_READ_MS, SILENT_MS
from logdirwatch.detect.state.broker_state import BrokerMemory, TaskFailure
from logdirwatch.model.broker_tasks import task_of
from logdirwatch.model.records import EventRecord, MetricsRecord
from logdirwatch.model.vocabulary import OPEN_FILES, READ_ERRORS, TASK_FAILS, EventName

# The next file that cannot be opened takes a whole directory offline, and a disk that cannot be read fails soon:
# neither can wait an hour.
_AT_ONCE = frozenset({OPEN_FILES, READ_ERRORS})
TOLD_AFTER_MS = 3_600_000
"""One exception is not an alert: the task runs again."""
KEPT = 20


def take_event(context: BrokerContext, record: EventRecord, moment: EvidenceTime) -> None:
    """Record that a task failed, or that it runs again."""
    tasks, name = context.memory.tasks, record.reason or ""
    known = tasks.pop(name, None)
    if record.event == EventName.BROKER_TASK_FAILED:
        since_ms = moment.at_ms if known is None else known.since_ms
        tasks[name] = TaskFailure(since_ms=since_ms, failed_ms=moment.at_ms, text=record.detail)
        # A task that fails again was taken out above and is the last now, so the first ones have been silent for
        # longest.
        for oldest in list(tasks)[:-KEPT]:
            del tasks[oldest]
    _judge(context, moment)


def judge_answer(context: BrokerContext, _: MetricsRecord, moment: EvidenceTime) -> None:
    """Judge what has lasted, and what is over."""
    if context.memory.tasks or {*_AT_ONCE, TASK_FAILS} & context.memory.suspicions.keys():
        _judge(context, moment)


def is_quiet(memory: BrokerMemory) -> bool:
    """Tell whether nothing failed that may have lasted, or be over, with the next answer."""
    return not memory.tasks


def forget(context: BrokerContext, path: str | None, until_ms: int, moment: EvidenceTime, reason: str) -> None:
    """Clear failures up to a time after a person declared the broker healthy."""
    if path is None:
        tasks = context.memory.tasks
        context.memory.tasks = {name: failure for name, failure in tasks.items() if failure.failed_ms > until_ms}
        _judge(context, moment, reason)


def _judge(context: BrokerContext, moment: EvidenceTime, reason: str = RECOVERED) -> None:
    memory, told = context.memory, dict.fromkeys((*sorted(_AT_ONCE), TASK_FAILS), "")
    for name, failure in sorted(memory.tasks.items()):
        if task_of(name).repeats and _is_silent(memory, failure, moment.at_ms):
            del memory.tasks[name]
        elif name in _AT_ONCE:
            told[name] = hints.task(name, failure)
        elif _has_lasted(name, failure, moment.at_ms):
            told[TASK_FAILS] += f"{'; ' if told[TASK_FAILS] else ''}{hints.task(name, failure)}"
    for kind, text in told.items():
        if not text:
            log_dir_suspect.clear(context, None, kind, moment, reason=reason)
        elif memory.suspicions.get(kind) != text or not log_dir_suspect.is_told(context, None, kind):
            log_dir_suspect.suspect(context, None, kind, text, moment)


def _has_lasted(name: str, failure: TaskFailure, at_ms: int) -> bool:
    # A thread fails only once and stays dead (ShutdownableThread): it has failed until now.
    until_ms = failure.failed_ms if task_of(name).repeats else at_ms
    return until_ms - failure.since_ms >= TOLD_AFTER_MS


def _is_silent(memory: BrokerMemory, failure: TaskFailure, at_ms: int) -> bool:
    is_read = memory.log_read_ms is not None and at_ms - memory.log_read_ms <= LOG_READ_MS
    return at_ms - failure.failed_ms >= SILENT_MS and is_read
