"""The signals that ask a service to end cleanly."""

import signal


def asking_to_end() -> tuple[signal.Signals, ...]:
    """Return SIGTERM, that of Ctrl-C, and that of a terminal that is closed, unless ``nohup`` makes it ignored."""
    is_ignored = signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    return (signal.SIGTERM, signal.SIGINT) if is_ignored else (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
