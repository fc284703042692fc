"""Ctrl-C and SIGTERM as an event that a running command checks, so that it can end cleanly."""

import signal
import threading


def on_signals() -> threading.Event:
    """Return an event that is set when this process should end."""
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    return stop
