"""The signals that ask a process to end as an event that a running command checks, so that it can end cleanly."""

import signal
import threading

from logdirwatch.observe.signals import asking_to_end


def on_signals() -> threading.Event:
    """Return an event that is set when this process should end."""
    stop = threading.Event()
    for number in asking_to_end():
        signal.signal(number, lambda *_: stop.set())
    return stop
