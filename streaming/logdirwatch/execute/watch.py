"""Monitors the cluster during an execution, and halts it if something starts that must stop it.

After a stop it tells whether the cause is over, and so whether the cluster is still held.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

from logdirwatch.clock import monotonic_ms
from logdirwatch.execute.admin import AdminCluster
from logdirwatch.execute.ports import Halt, NoAnswerError, RefusedError
from logdirwatch.execute.surroundings import (
    Around,
    Surroundings,
    around,
    lasts,
    reason_to_stop,
    with_new_brokers,
    with_others,
)
from logdirwatch.executions import held_by, hold_of, may_pass, passing
from logdirwatch.kafka import clients
from logdirwatch.kafka.settings import KafkaSettings
from logdirwatch.model.records import ExecutionRecord

EVERY_MS = 5_000


class Outlook(Protocol):
    """Observes the cluster. Raises NoAnswerError and RefusedError."""

    def look_around(self, ours: Around) -> Surroundings:
        """Return the activity on the cluster around an execution."""


class Watch:
    """Compares each observation with the first: what was there before the execution began does not stop it."""

    def __init__(self, outlook: Outlook, monotonic_ms: Callable[[], int] = monotonic_ms) -> None:
        self._outlook, self._monotonic_ms = outlook, monotonic_ms
        self._first: Surroundings | None = None
        self._looked_at_ms: int | None = None
        self._around: tuple[object, Around] | None = None

    def __call__(self, record: ExecutionRecord, others: Callable[[], Iterable[ExecutionRecord]] = tuple) -> Halt | None:
        """Return why an execution must not continue; a cluster that does not answer is left to the step's own retry.

        ``others`` returns the executions beside it, which may do what they are to: it is called after the observation.
        """
        now_ms = self._monotonic_ms()
        if self._looked_at_ms is not None and now_ms - self._looked_at_ms < EVERY_MS:
            return None
        ours = self._ours(record)
        try:
            seen = self._outlook.look_around(ours)
        except NoAnswerError:
            return None
        except RefusedError as error:
            return Halt(f"what happens around it cannot be seen: {error}", must_end=True)
        self._looked_at_ms = now_ms
        self._first = seen if self._first is None else with_new_brokers(self._first, seen)
        if (reason := reason_to_stop(self._first, seen, ours)) is not None:
            reason = reason_to_stop(with_others(self._first, map(around, others())), seen, ours)
        return None if reason is None else Halt(reason, must_end=True)

    def _ours(self, record: ExecutionRecord) -> Around:
        """Return the scope of an execution: for a plan of many partitions it takes a while to find out."""
        decides = record.operations, record.back, record.step, record.changed if record.back else None
        if self._around is None or self._around[0] != decides:
            self._around = decides, around(record)
        return self._around[1]


def is_over(stopped: ExecutionRecord, outlook: Outlook) -> bool:
    """Tell whether what stopped an execution is seen to be over; what cannot be seen is not."""
    ours = around(stopped)
    try:
        seen = outlook.look_around(ours)
    except (NoAnswerError, RefusedError):
        return False
    return not lasts(stopped.reason or "", seen, ours)


def why_held(records: Sequence[ExecutionRecord], watched: KafkaSettings, now_ms: int) -> str | None:
    """Return in one line who holds a cluster, why, and how to end it; None if nothing does.

    ``records`` are those of the cluster, in the order of the topic. Raises UserError when the cluster has to be looked
    at and does not answer.
    """
    hold = hold_of(records)
    if hold is not None and may_pass(hold):
        with clients.admin(watched) as admin:
            outlook = AdminCluster(admin)
            hold = next((one for one in passing(records) if not is_over(one, outlook)), None)
    return None if hold is None else held_by(hold, now_ms)
