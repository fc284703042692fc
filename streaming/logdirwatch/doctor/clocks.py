"""Clocks: the difference between a cluster's and this machine's. Pure."""

from collections.abc import Iterator
from typing import NamedTuple

from logdirwatch.doctor.findings import Finding
from logdirwatch.text.units import human_ms

MOST_APART_MS = 5_000
"""Synchronized clocks differ by milliseconds; ages of samples and ends of silences depend on clocks."""


class Clock(NamedTuple):
    """A cluster's time (its active controller's) and this machine's before the request and after the answer."""

    where: str
    asked_ms: int
    answered_ms: int
    theirs_ms: int


def judge_clock(clock: Clock) -> Iterator[Finding]:
    """Judge a clock; the time that the answer took is not counted against it."""
    apart_ms = max(clock.asked_ms - clock.theirs_ms, clock.theirs_ms - clock.answered_ms, 0)
    if apart_ms > MOST_APART_MS:
        word = "ahead of" if clock.theirs_ms > clock.answered_ms else "behind"
        yield Finding(
            "clocks",
            clock.where,
            f"its controller's clock is {human_ms(apart_ms)} {word} this machine's",
            "synchronize both clocks (chrony or another NTP client): chronyc tracking, timedatectl",
        )
