"""Looks around while an execution runs, and halts it when something begins that must stop it."""

from collections.abc import Callable
from typing import Protocol

from logdirwatch.execute.run import Halt, NoAnswerError, RefusedError
from logdirwatch.execute.surroundings import Around, Surroundings, around, reason_to_stop, with_new_brokers
from logdirwatch.model.records import ExecutionRecord

EVERY_MS = 5_000


class Outlook(Protocol):
    """What looks around. Raises NoAnswerError and RefusedError."""

    def look_around(self, ours: Around) -> Surroundings:
        """Return what happens around what an execution touches."""


class Watch:
    """Compares what it sees with its first look: what was there before did not stop whoever began the execution."""

    def __init__(self, outlook: Outlook, now_ms: Callable[[], int]) -> None:
        self._outlook, self._now_ms = outlook, now_ms
        self._first: Surroundings | None = None
        self._looked_at_ms = -EVERY_MS

    def __call__(self, record: ExecutionRecord) -> Halt | None:
        """Return why an execution must not go on; a cluster that does not answer is asked again by its step."""
        now_ms = self._now_ms()
        if now_ms - self._looked_at_ms < EVERY_MS:
            return None
        ours = around(record)
        try:
            seen = self._outlook.look_around(ours)
        except NoAnswerError:
            return None
        except RefusedError as error:
            return Halt(f"what happens around it cannot be seen: {error}")
        self._looked_at_ms = now_ms
        self._first = seen if self._first is None else with_new_brokers(self._first, seen)
        reason = reason_to_stop(self._first, seen, ours)
        return None if reason is None else Halt(reason)
