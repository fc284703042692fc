"""Which executions are unfinished, and which of them holds its cluster. Pure.

After every stop nothing else begins on the cluster until the execution is resumed or undone and has ended, a person
releases it, or, if nothing of it is left there, what stopped it is over. What runs beside it goes on: it touches no
broker or topic of it.
"""

from collections.abc import Collection, Iterable, Sequence

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
    """Return an execution that holds a cluster, from the cluster's records in the order of the topic."""
    holds = (one for one in unfinished_of(records).values() if not may_pass(one))
    return next(holds, None) or next(iter(passing(records)), None)


def passing(records: Sequence[ExecutionRecord]) -> list[ExecutionRecord]:
    """Return the stops that :func:`may_pass`: each holds its cluster only until the next execution has begun.

    One that ran beside it had begun before.
    """
    return [
        one
        for number, one in enumerate(records, 1)
        if may_pass(one) and not any(later.started_at_ms >= one.at_ms for later in records[number:])
    ]


def share(touched: Collection[str] | None, others: Collection[str] | None) -> bool:
    """Tell whether executions touch the same broker or topic; None: the whole cluster."""
    return touched is None or others is None or not set(touched).isdisjoint(others)


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


def is_left(record: ExecutionRecord, now_ms: int) -> bool:
    """Tell whether nobody carries an execution out: it waits for a person, or its process is taken for dead."""
    return not is_running(record) or now_ms - record.at_ms > ABANDONED_MS


def may_begin(record: ExecutionRecord, records: Sequence[ExecutionRecord], now_ms: int) -> bool:
    """Tell whether an execution may begin despite a hold: it goes on with it, or undoes what nobody carries out.

    What else holds the cluster must touch nothing of it.
    """
    unfinished = unfinished_of(records)
    hold = unfinished.pop(record.action_id, None)
    if hold is None or not (record.execution_id == hold.execution_id or (record.back and is_left(hold, now_ms))):
        return False
    return not any(share(record.touches, one.touches) for one in unfinished.values() if not may_pass(one))


def held_by(record: ExecutionRecord, now_ms: int) -> str:
    """Return who holds a cluster, why, and how to end that, in one line."""
    what = f"the {'undo' if record.back else 'execution'} of {record.kind} {record.action_id} by {record.by}"
    ends = " or ".join(ways_on(record))
    return f"{what} on {record.cluster} is {status_of(record, now_ms - record.at_ms)}; go on with it or end it: {ends}"
