"""Ctrl-C and SIGTERM as something that a running command looks at, so that it ends what it began."""

import signal
import threading


def on_signals() -> threading.Event:
    """Return what is set once somebody wants this process to end."""
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    return stop
