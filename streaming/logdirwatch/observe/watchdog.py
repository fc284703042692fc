"""Ends a process one of whose loops is stuck, so that its supervisor starts it again.

A thread that hangs cannot be restarted from within, and may hold locks and connections that its successor needs.
"""

import os
import socket
import threading
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager

import structlog

from logdirwatch.observe.progress import Beat, silence

log = structlog.get_logger(__name__)

LOOK_S = 5.0
PAUSED_S = 15.0
"""A look that is so late shows that the whole process was suspended (SIGSTOP, a paused virtual machine)."""
EXIT_CODE = 70
"""EX_SOFTWARE of sysexits.h: not 0, and not 2, which means a wrong configuration and is not started again."""


def end_process() -> None:
    """End this process at once: a clean exit would wait for the thread that hangs."""
    os._exit(EXIT_CODE)


class Watchdog:
    """Looks at the loops of a process; ``end`` is called when only a new process helps."""

    def __init__(
        self,
        beats: Callable[[], Collection[Beat]],
        end: Callable[[], None] = end_process,
        clock_s: Callable[[], float] = time.monotonic,
    ) -> None:
        self._beats = beats
        self._end = end
        self._clock_s = clock_s
        self._looked_s = clock_s()
        self._silent: set[str] = set()

    def look(self) -> None:
        """Log each silence once at its begin and once at its end; end the process if a loop is hopeless."""
        beats = self._beats()
        self._excuse_pause(beats)
        for beat in beats:
            self._tell(beat)
        hopeless = [beat for beat in beats if beat.is_hopeless]
        if hopeless:
            log.critical("watchdog.process_ends", reason=silence(hopeless), meaning="its supervisor starts it again")
            self._end()
        else:
            notify_systemd("WATCHDOG=1")

    def run(self, stop: threading.Event) -> None:
        """Look every few seconds until ``stop`` is set."""
        while not stop.wait(LOOK_S):
            self.look()

    def _excuse_pause(self, beats: Collection[Beat]) -> None:
        before_s, self._looked_s = self._looked_s, self._clock_s()
        paused_s = self._looked_s - before_s
        if paused_s > PAUSED_S:
            for beat in beats:
                beat.excuse(paused_s)

    def _tell(self, beat: Beat) -> None:
        if beat.is_silent and beat.loop not in self._silent:
            self._silent.add(beat.loop)
            meaning = "it is not ready; if that lasts, the process ends and its supervisor starts it again"
            log.error("watchdog.loop_silent", loop=beat.loop, reason=silence([beat]), meaning=meaning)
        elif not beat.is_silent and beat.loop in self._silent:
            self._silent.discard(beat.loop)
            log.warning("watchdog.loop_recovered", loop=beat.loop)


@contextmanager
def watching(beats: Callable[[], Collection[Beat]]) -> Iterator[None]:
    """Watch the loops of this process until the end of the block."""
    stop = threading.Event()
    thread = threading.Thread(target=Watchdog(beats).run, args=(stop,), name="watchdog", daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def notify_systemd(state: str) -> None:
    """Tell systemd how this process is (sd_notify(3)); do nothing under another supervisor."""
    address = os.environ.get("NOTIFY_SOCKET")
    if not address:
        return
    # An address that begins with @ is an abstract one, which begins with a null byte.
    target = f"\0{address[1:]}" if address.startswith("@") else address
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as connection:
            connection.sendto(state.encode(), target)
    except OSError as error:
        log.debug("watchdog.systemd_unreachable", error=error.strerror)
