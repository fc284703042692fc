"""How long the demo waits on a machine that is short of processor time, and the line that says so. Pure."""

LOAD_THAT_FITS = 2.0
"""Processes that want to run, for each processor: with so many the deadlines hold as they are."""
LONGEST = 5.0


def stretch(load: float, processors: int) -> float:
    """Return by how much everything takes longer than on a machine with time to spare, from 1 to ``LONGEST``."""
    return min(LONGEST, max(1.0, load / max(1, processors) / LOAD_THAT_FITS))


def too_busy(load: float, processors: int) -> str | None:
    """Return why something may have been missed, and what to do; None when the machine has time to spare."""
    if stretch(load, processors) == 1.0:
        return None
    return (
        f"this machine is too busy: {load:.0f} processes want {processors} processors; give it less to do and try again"
    )


def said(load: float, processors: int, deadline_s: float) -> str | None:
    """Return what to tell of a busy machine; None when it has time to spare."""
    by = stretch(load, processors)
    if by == 1.0:
        return None
    return (
        f"This machine is busy: {load:.0f} processes want {processors} processors. All will take longer; waiting up to "
        f"{deadline_s * by:.0f} s instead of {deadline_s:.0f} s for each step"
    )
