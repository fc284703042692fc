"""Clocks: how far a cluster's is from this machine's. Pure."""

from collections.abc import Iterator
from typing import NamedTuple

from logdirwatch.doctor.findings import Finding
from logdirwatch.text.units import human_ms

MOST_APART_MS = 5_000
"""Well-kept clocks are milliseconds apart; ages of samples and ends of silences are told from clocks."""


class Clock(NamedTuple):
    """A cluster's time (its active controller's) and this machine's before it was asked and after it answered."""

    where: str
    asked_ms: int
    answered_ms: int
    theirs_ms: int


def judge_clock(clock: Clock) -> Iterator[Finding]:
    """Judge a clock; how long the answer took counts in its favour."""
    apart_ms = max(clock.asked_ms - clock.theirs_ms, clock.theirs_ms - clock.answered_ms, 0)
    if apart_ms > MOST_APART_MS:
        word = "ahead of" if clock.theirs_ms > clock.answered_ms else "behind"
        yield Finding(
            "clocks",
            clock.where,
            f"its controller's clock is {human_ms(apart_ms)} {word} this machine's",
            "let both machines keep time (chrony or another NTP client): chronyc tracking, timedatectl",
        )
