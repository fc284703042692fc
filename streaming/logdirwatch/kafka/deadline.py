"""One deadline for all Kafka requests of a command, so that time limits do not add up.

It is ambient, like the cancel scopes of Trio: code that connects or waits reads the remaining time here, and callers
pass nothing on. Services, which wait as long as they are configured to, have none.
"""

import contextvars
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from threading import Thread
from typing import TypeVar

Answer = TypeVar("Answer")
Clock = Callable[[], float]

ANSWER_MS = 4_000
"""The time limit of a command for Kafka's answers, including its own start."""
SHARE_MS = 3_000
"""Kafka's minimum share of it: where the start takes long, a TLS handshake and a refusal of credentials do too."""
LEAST_MS = 1_000
"""The minimum for each later request: a healthy broker answers in a few milliseconds."""


class Deadline:
    """The end of waiting for Kafka, ``wait_ms`` after ``started_s``, a time of ``monotonic_s``.

    A start that took most of that time leaves ``SHARE_MS`` from now.
    """

    def __init__(self, started_s: float, wait_ms: int = ANSWER_MS, monotonic_s: Clock = time.monotonic) -> None:
        share_ms = min(SHARE_MS, wait_ms)
        self._ends_s = max(started_s + wait_ms / 1000, monotonic_s() + share_ms / 1000)
        self._monotonic_s = monotonic_s

    def left_ms(self) -> int:
        """Return how long a request may still wait."""
        return max(LEAST_MS, round(1000 * (self._ends_s - self._monotonic_s())))


_AMBIENT: contextvars.ContextVar[Deadline | None] = contextvars.ContextVar("deadline", default=None)


@contextmanager
def answers_by(deadline: Deadline | None) -> Iterator[None]:
    """Limit all requests within to ``deadline``, also those of :func:`begun`.

    None lifts it: a cluster that has answered may take its time.
    """
    token = _AMBIENT.set(deadline)
    try:
        yield
    finally:
        _AMBIENT.reset(token)


def is_set() -> bool:
    """Return whether there is a deadline."""
    return _AMBIENT.get() is not None


def at_most_ms(limit_ms: int) -> int:
    """Return a request's own limit, or the time until the deadline if that is less."""
    deadline = _AMBIENT.get()
    return limit_ms if deadline is None else min(limit_ms, deadline.left_ms())


def begun(ask: Callable[[], Answer]) -> "Future[Answer]":
    """Run a request in its own thread, under the same deadline, while other work continues.

    The thread never delays the end of the process.
    """
    answer: Future[Answer] = Future()
    context = contextvars.copy_context()

    def run() -> None:
        try:
            answer.set_result(context.run(ask))
        except BaseException as error:
            answer.set_exception(error)

    Thread(target=run, name="asks-kafka", daemon=True).start()
    return answer
