"""The signals that ask a service to end."""

import signal

import pytest

from logdirwatch.observe.signals import asking_to_end


@pytest.mark.parametrize(
    ("of_the_terminal", "is_asked"), [(signal.SIG_DFL, True), (signal.SIG_IGN, False)], ids=["plain", "under nohup"]
)
def test_a_closed_terminal_asks_to_end_too_unless_that_is_to_be_ignored(of_the_terminal, is_asked):
    before = signal.signal(signal.SIGHUP, of_the_terminal)
    try:
        asked = asking_to_end()
    finally:
        signal.signal(signal.SIGHUP, before)
    assert {signal.SIGTERM, signal.SIGINT} <= set(asked)
    assert (signal.SIGHUP in asked) is is_asked
