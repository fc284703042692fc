"""Which executions are unfinished, and which of them holds its cluster. Pure.

After every stop nothing else begins on the cluster until the execution is resumed or undone and has ended, a person
releases it, or, if nothing of it is left there, what stopped it is over.
"""

from collections.abc import Iterable, Sequence

from logdirwatch.model.records import ExecutionRecord
from logdirwatch.model.records.executions import ENDED
from logdirwatch.model.vocabulary import ActionKind, ExecutionState
from logdirwatch.text.units import human_ms

BEAT_MS = 300_000
"""How often the process of an execution writes to the journal at least."""
ABANDONED_MS = 3 * BEAT_MS
"""After how long without a record the process of an execution is taken for dead."""


def is_unfinished(record: ExecutionRecord) -> bool:
    """Tell whether an execution can be resumed; one that is stuck may, once a person has removed the reason."""
    return record.state not in ENDED


def is_running(record: ExecutionRecord) -> bool:
    """Tell whether an execution is in progress: not ended, and not waiting for a person."""
    return is_unfinished(record) and record.state is not ExecutionState.STUCK


def take(unfinished: dict[str, ExecutionRecord], record: ExecutionRecord) -> None:
    """Apply the next record of the topic to the unfinished executions, by action.

    The last execution of an action counts: an undo takes the place of what it undoes. One that ended before its first
    call ended nothing but itself.
    """
    if is_unfinished(record):
        unfinished[record.action_id] = record
        return
    known = unfinished.get(record.action_id)
    if known is not None and (record.reason is None or known.execution_id == record.execution_id):
        del unfinished[record.action_id]


def unfinished_of(records: Iterable[ExecutionRecord]) -> dict[str, ExecutionRecord]:
    """Return the unfinished executions by action, from records in the order of the topic."""
    found: dict[str, ExecutionRecord] = {}
    for record in records:
        take(found, record)
    return found


def hold_of(records: Sequence[ExecutionRecord]) -> ExecutionRecord | None:
    """Return the execution that holds a cluster, from the cluster's records in the order of the topic.

    One that :func:`may_pass` holds it only until the next one has begun.
    """
    for one in unfinished_of(records).values():
        if not may_pass(one):
            return one
    return records[-1] if records and may_pass(records[-1]) else None


def may_pass(record: ExecutionRecord) -> bool:
    """Tell whether a stop holds its cluster only as long as its cause is seen there."""
    return record.cause_is_seen and not is_running(record) and record.state is not ExecutionState.RELEASED


def ways_on(record: ExecutionRecord) -> list[str]:
    """Return the commands that end a stop; leaders that were elected have no way back."""
    has_undo = not record.back and record.kind is not ActionKind.ELECT_LEADERS
    options = ("--resume", "--undo") if has_undo else ("--resume",)
    found = [f"logdirwatch apply {option} {record.action_id}" for option in options if is_unfinished(record)]
    return [*found, f"logdirwatch apply --release {record.action_id} --by NAME --reason WHY"]


def status_of(record: ExecutionRecord, silent_ms: int) -> str:
    """Return how an execution stands, nothing having been written of it for ``silent_ms``."""
    if not is_running(record):
        return f"{record.state} ({record.reason})"
    if silent_ms > ABANDONED_MS:
        return f"{record.state}, and its process has written nothing for {human_ms(silent_ms)}"
    return f"{record.state} and unfinished"


def may_begin(record: ExecutionRecord, hold: ExecutionRecord, now_ms: int) -> bool:
    """Tell whether an execution may begin despite a hold: it goes on with it, or undoes what nobody carries out."""
    if record.execution_id == hold.execution_id:
        return True
    is_left = not is_running(hold) or now_ms - hold.at_ms > ABANDONED_MS
    return record.back and record.action_id == hold.action_id and is_left


def held_by(record: ExecutionRecord, now_ms: int) -> str:
    """Return who holds a cluster, why, and how to end that, in one line."""
    what = f"the {'undo' if record.back else 'execution'} of {record.kind} {record.action_id} by {record.by}"
    ends = " or ".join(ways_on(record))
    return f"{what} on {record.cluster} is {status_of(record, now_ms - record.at_ms)}; go on with it or end it: {ends}"
