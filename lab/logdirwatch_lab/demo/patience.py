"""How long the demo waits on a busy machine, and the line that says so. Pure."""

from logdirwatch.text.units import human_s

LOAD_THAT_FITS = 2.0
"""Runnable processes per processor up to which the deadlines are kept as they are."""
LONGEST = 5.0


def stretch(load: float, processors: int) -> float:
    """Return the factor by which deadlines are extended on a busy machine, from 1 to ``LONGEST``."""
    return min(LONGEST, max(1.0, load / max(1, processors) / LOAD_THAT_FITS))


def too_busy(load: float, processors: int) -> str | None:
    """Return why something may have been missed, and what to do; None if the machine was not busy."""
    if stretch(load, processors) == 1.0:
        return None
    return (
        f"this machine is too busy: {load:.0f} processes want {processors} processors; give it less to do and try again"
    )


def said(load: float, processors: int, deadline_s: float) -> str | None:
    """Return the line about a busy machine; None if it is not busy."""
    by = stretch(load, processors)
    if by == 1.0:
        return None
    return (
        f"This machine is busy: {load:.0f} processes share {processors} processors. Waiting up to "
        f"{human_s(deadline_s * by)} instead of {human_s(deadline_s)} for each step"
    )
