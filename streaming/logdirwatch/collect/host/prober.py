"""Observes every log directory each round, each in its own thread: a dead disk blocks only that thread."""

import asyncio
import contextlib
import threading
import time
from collections.abc import Callable, Sequence
from typing import TypeVar

from logdirwatch.model.records import HostLogDir
from logdirwatch.text.units import human_s

T = TypeVar("T")
Look = Callable[[str], HostLogDir]


def in_thread(work: Callable[[], T]) -> "asyncio.Future[T]":
    """Start ``work`` in its own thread and return its future.

    The thread is a daemon: the program can end while it hangs in the kernel.
    """
    loop = asyncio.get_running_loop()
    outcome: asyncio.Future[T] = loop.create_future()

    def settle(value: T | None, error: BaseException | None) -> None:
        if outcome.done():
            return
        if error is not None:
            outcome.set_exception(error)
        else:
            outcome.set_result(value)  # type: ignore[arg-type] # None only where T is None

    def run() -> None:
        value, error = None, None
        try:
            value = work()
        except BaseException as raised:
            error = raised
        with contextlib.suppress(RuntimeError):  # the loop ended while this one hung
            loop.call_soon_threadsafe(settle, value, error)

    threading.Thread(target=run, name="host", daemon=True).start()
    return outcome


class Prober:
    """Observes ``paths``; one without an answer within ``timeout_ms`` is reported so, and skipped until it answers."""

    def __init__(
        self, paths: Sequence[str], look: Look, timeout_ms: int, timer_s: Callable[[], float] = time.monotonic
    ) -> None:
        self._paths = paths
        self._look = look
        self._timeout_ms = timeout_ms
        self._timer_s = timer_s
        self._busy: dict[str, tuple[asyncio.Future[HostLogDir], float]] = {}
        self._ended: dict[str, threading.Event] = {}

    async def round(self) -> list[HostLogDir]:
        """Observe every directory once; one that still hangs from an earlier round is not waited for again."""
        begun = {path: self._begin(path) for path in self._paths if not self._is_hanging(path)}
        if begun:
            await asyncio.wait(begun.values(), timeout=self._timeout_ms / 1_000)
        return [self._answer(path) for path in self._paths]

    def finish(self, timeout_s: float) -> None:
        """Wait for running observations, which remove their files; those that hang are left behind."""
        ends_s = time.monotonic() + timeout_s
        for ended in self._ended.values():
            ended.wait(max(0.0, ends_s - time.monotonic()))

    def _begin(self, path: str) -> "asyncio.Future[HostLogDir]":
        ended = self._ended[path] = threading.Event()

        def looked() -> HostLogDir:
            try:
                return self._look(path)
            finally:
                ended.set()

        future = in_thread(looked)
        self._busy[path] = future, self._timer_s()
        return future

    def _is_hanging(self, path: str) -> bool:
        """Tell whether an earlier observation has not ended; an answer that came too late is dropped."""
        return path in self._busy and not self._busy[path][0].done()

    def _answer(self, path: str) -> HostLogDir:
        future, begun_s = self._busy[path]
        if not future.done():
            waited_s = self._timer_s() - begun_s
            return HostLogDir(path=path, probe_error=f"no answer for {human_s(waited_s)}")
        error = future.exception()
        return HostLogDir(path=path, probe_error=f"look: {error}") if error else future.result()
