"""Virtual time: one queue of events in true time, hosts whose clocks differ from it, and processes that wait on them.

Product code that blocks runs unchanged: a ``Process`` is a greenlet, and every wait of it hands control back to the
queue. While an event runs, the functions of ``time`` return the clock of the host that it runs on.
"""

import heapq
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from unittest.mock import patch

import greenlet

from logdirwatch.kafka.unread import Unread
from logdirwatch.notify.health import Health
from logdirwatch.observe.progress import Beat

MONOTONIC_S = time.monotonic
EPOCH_MS = 1_700_000_000_000


class Scheduler:
    """The events of a run in the order of their true times; those of one time keep the order in which they came."""

    def __init__(self) -> None:
        self.now_ms = 0
        self.host = Host(self, "true")
        self._queue: list[tuple[int, int, Callable[[], None]]] = []
        self._count = 0

    def after(self, wait_ms: int, action: Callable[[], None]) -> None:
        """Run ``action`` in ``wait_ms`` of true time."""
        self._count += 1
        heapq.heappush(self._queue, (self.now_ms + max(0, wait_ms), self._count, action))

    def run(self, until_ms: int, after_each: Callable[[], None]) -> None:
        """Run the events up to ``until_ms``, and ``after_each`` after every one."""
        while self._queue and self._queue[0][0] <= until_ms:
            self.now_ms, _, action = heapq.heappop(self._queue)
            action()
            after_each()
        self.now_ms = until_ms

    @contextmanager
    def virtual_time(self) -> Iterator[None]:
        """Let ``time`` return the clock of the current host until the end of the block."""
        monotonic_s = lambda: self.host.monotonic_ms() / 1000  # noqa: E731
        with ExitStack() as patched:
            for owner in (Unread, Health, Beat):
                # Their default is the function of ``time`` as it was when they were imported.
                given = owner.__init__.__defaults__ or ()
                defaults = tuple(monotonic_s if value is MONOTONIC_S else value for value in given)
                patched.enter_context(patch.object(owner.__init__, "__defaults__", defaults))
            patched.enter_context(self._patched_time())
            yield

    @contextmanager
    def _patched_time(self) -> Iterator[None]:
        with (
            patch.object(time, "time_ns", lambda: self.host.wall_ms() * 1_000_000),
            patch.object(time, "time", lambda: self.host.wall_ms() / 1000),
            patch.object(time, "monotonic_ns", lambda: self.host.monotonic_ms() * 1_000_000),
            patch.object(time, "monotonic", lambda: self.host.monotonic_ms() / 1000),
            patch.object(time, "sleep", lambda seconds: Process.current().pause(round(seconds * 1000))),
        ):
            yield


class Host:
    """A machine: its wall clock drifts and is stepped; its monotonic clock stands still while it is suspended."""

    def __init__(self, scheduler: Scheduler, name: str, drift_ppm: int = 0, ahead_ms: int = 0) -> None:
        self.name, self.drift_ppm, self.ahead_ms = name, drift_ppm, ahead_ms
        self.is_suspended = False
        self._scheduler, self._slept_ms, self._asleep_ms = scheduler, 0, 0
        self._on_resume: list[Callable[[], None]] = []

    def wall_ms(self) -> int:
        """Return what the host takes for the milliseconds since 1970."""
        return EPOCH_MS + self._passed_ms() + self.ahead_ms

    def monotonic_ms(self) -> int:
        """Return the milliseconds for which the host ran."""
        now_ms = self._asleep_ms if self.is_suspended else self._scheduler.now_ms
        return now_ms + now_ms * self.drift_ppm // 1_000_000 - self._slept_ms

    def suspend(self) -> None:
        """Freeze every process of the host."""
        if not self.is_suspended:
            self._asleep_ms = self._scheduler.now_ms
            self.is_suspended = True

    def resume(self) -> None:
        """Go on where the processes stood."""
        if self.is_suspended:
            self.is_suspended = False
            self._slept_ms += self._scheduler.now_ms - self._asleep_ms
            waiting, self._on_resume = self._on_resume, []
            for action in waiting:
                self._scheduler.after(0, lambda action=action: self.run(action))

    def run(self, action: Callable[[], None]) -> None:
        """Run ``action`` by this host's clock; once it is resumed, if it is suspended."""
        if self.is_suspended:
            self._on_resume.append(action)
            return
        before, self._scheduler.host = self._scheduler.host, self
        try:
            action()
        finally:
            self._scheduler.host = before

    def after(self, wait_ms: int, action: Callable[[], None]) -> None:
        """Run ``action`` on this host in ``wait_ms``; drift is too small to matter for one wait."""
        self._scheduler.after(wait_ms, lambda: self.run(action))

    def _passed_ms(self) -> int:
        now_ms = self._scheduler.now_ms
        return now_ms + now_ms * self.drift_ppm // 1_000_000


class Process:
    """A process of the product that blocks; ``main`` is its life, ``died`` is told of an exception that ends it."""

    _current: "Process | None" = None

    def __init__(self, host: Host, main: Callable[[], None], died: Callable[[Exception], None]) -> None:
        self._host, self._main, self._died = host, main, died
        self._turn, self._is_waiting, self.is_alive = 0, False, True
        self._greenlet = greenlet.greenlet(self._live)
        self._resume_in(0)

    @classmethod
    def current(cls) -> "Process":
        """Return the process that runs now."""
        assert cls._current is not None, "product code waits outside of any process"
        return cls._current

    def pause(self, wait_ms: int) -> None:
        """Wait for ``wait_ms``, or until :meth:`wake`."""
        self._is_waiting = True
        self._resume_in(max(1, wait_ms))
        self._greenlet.parent.switch()

    def wake(self, after_ms: int = 1) -> None:
        """End the current wait early."""
        if self._is_waiting and self.is_alive:
            self._is_waiting = False
            self._resume_in(after_ms)

    def kill(self) -> None:
        """End the process as ``kill -9`` does: nothing of it runs any more."""
        self.is_alive = False
        if not self._greenlet.dead and self._greenlet:
            self._switch(lambda: self._greenlet.throw(greenlet.GreenletExit()))

    def _resume_in(self, wait_ms: int) -> None:
        self._turn += 1
        turn = self._turn
        self._host.after(wait_ms, lambda: self._resume(turn))

    def _resume(self, turn: int) -> None:
        if self.is_alive and turn == self._turn:
            self._is_waiting = False
            self._switch(self._greenlet.switch)

    def _switch(self, go: Callable[[], object]) -> None:
        before, Process._current = Process._current, self
        self._greenlet.parent = greenlet.getcurrent()
        try:
            go()
        finally:
            Process._current = before

    def _live(self) -> None:
        try:
            self._main()
        except Exception as error:
            self._died(error)
        self.is_alive = False


class Stop:
    """``threading.Event`` of a process: it is never set, and its waits are virtual."""

    def is_set(self) -> bool:
        """Return False."""
        return False

    def wait(self, timeout: float | None = None) -> bool:
        """Let the process wait."""
        Process.current().pause(round((timeout or 0) * 1000))
        return False
