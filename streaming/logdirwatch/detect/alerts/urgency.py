"""The urgency of a filling directory: severity and "can wait" follow one number, the time left.

The time left is that of the forecast, which needs hours, or that of a burst: use rose within the last half hour by at
least a third of the free space, in several steps, and keeps rising. The rise of a sawtooth from one deletion to the
next is not a burst, since it starts from below each time. What was believed to be a burst stays one while it goes on,
for it can only come nearer to its end.
"""

import sys

from logdirwatch.config.section import HOUR_MS
from logdirwatch.detect.predicates import BACK_STRETCH, SPACE_SEVERITY
from logdirwatch.detect.settings import Thresholds
from logdirwatch.detect.state.broker_state import LogDirMemory, Rise
from logdirwatch.detect.state.course import BURST_TRUST
from logdirwatch.model.evidence import read_as
from logdirwatch.model.evidence.log_dirs import LogDirSpaceEvidence
from logdirwatch.model.vocabulary import LogDirStatus, Rule, Severity

NIGHT_MS = 12 * HOUR_MS
SPAN_MS = HOUR_MS // 4
STEPS = 3
"""A single copied file makes one or two steps; continued growth makes more."""
STILL_MS = 60_000
"""The time without growth after which a burst is over; file systems flush new data about every half minute."""


def note(log_dir: LogDirMemory, at_ms: int) -> None:
    """Apply the last sample of a directory's own use, after it was remembered."""
    rise, own_bytes = log_dir.rise, log_dir.peaks.last_bytes
    if rise is not None and 0 <= rise.last_ms - at_ms < SPAN_MS:
        return  # from another collector, whose clock is a little behind
    if rise is None or own_bytes < (rise.from_bytes + rise.last_bytes) / 2 or at_ms < rise.last_ms:
        log_dir.rise = _from(own_bytes, at_ms)
        return
    if own_bytes > rise.last_bytes:
        rise.steps, rise.risen_ms = min(rise.steps + 1, STEPS), at_ms
    rise.last_bytes, rise.last_ms = own_bytes, at_ms
    if at_ms - rise.next_ms >= SPAN_MS:
        rise.from_ms, rise.from_bytes = rise.next_ms, rise.next_bytes
        rise.next_ms, rise.next_bytes = at_ms, own_bytes


def _is_burst(rise: Rise, log_dir: LogDirMemory) -> bool:
    """Tell whether a rise is a burst.

    The window begins again at half of its length: that must not end a burst of which somebody was told to get up.
    """
    trust = 2 * BURST_TRUST if _said_no(log_dir) else BURST_TRUST
    grown_bytes = rise.last_bytes - rise.from_bytes
    return rise.steps >= STEPS and _goes_on(rise, log_dir) and (log_dir.usable_bytes or 0) <= trust * grown_bytes


def _said_no(log_dir: LogDirMemory) -> bool:
    """Tell whether the open alert says that it cannot wait."""
    told = log_dir.alerts.get(Rule.LOG_DIR_SPACE)
    return told is not None and read_as(told.evidence, LogDirSpaceEvidence).can_wait is False


def _goes_on(rise: Rise, log_dir: LogDirMemory) -> bool:
    return rise.last_ms - rise.risen_ms <= max(STILL_MS, STEPS * log_dir.interval_ms)


def _from(own_bytes: int, at_ms: int) -> Rise:
    return Rise(
        from_ms=at_ms, from_bytes=own_bytes, next_ms=at_ms, next_bytes=own_bytes, last_ms=at_ms, last_bytes=own_bytes
    )


def time_left_ms(log_dir: LogDirMemory) -> int | None:
    """Return the time until a directory is full, as far as it can be forecast; None if it cannot."""
    found = [left_ms for left_ms in (_by_forecast(log_dir), _by_burst(log_dir)) if left_ms is not None]
    return min(found, default=None)


def outlook(log_dir: LogDirMemory) -> tuple[float | None, int | None]:
    """Return the growth to plan with, and when a directory is full by it; by a burst while one lasts.

    The growth is None while the directory was not watched for long enough, the time if no end is in sight.
    """
    growth, full_at_ms, burst_ms = log_dir.lasting_growth_bytes_per_s, log_dir.full_at_ms, _by_burst(log_dir)
    if burst_ms is None or log_dir.usable_bytes is None or log_dir.sample_at_ms is None:
        return growth, full_at_ms
    growth = max(growth or 0.0, log_dir.usable_bytes * 1000 / max(burst_ms, 1))
    return growth, min(full_at_ms or sys.maxsize, log_dir.sample_at_ms + burst_ms)


def _by_forecast(log_dir: LogDirMemory) -> int | None:
    if log_dir.full_at_ms is None or log_dir.sample_at_ms is None:
        return None
    return max(0, log_dir.full_at_ms - log_dir.sample_at_ms)


def _by_burst(log_dir: LogDirMemory) -> int | None:
    rise, usable_bytes = log_dir.rise, log_dir.usable_bytes
    if rise is None or usable_bytes is None or not _is_burst(rise, log_dir):
        return None
    return round(usable_bytes / _per_ms(rise, log_dir))


def _per_ms(rise: Rise, log_dir: LogDirMemory) -> float:
    """Return the growth of a rise in bytes per millisecond, or that of the moment where it is faster."""
    lasting = (rise.last_bytes - rise.from_bytes) / max(1, rise.last_ms - rise.from_ms)
    return max(lasting, (log_dir.growth_bytes_per_s or 0.0) / 1000)


def severity(thresholds: Thresholds, level: LogDirStatus, left_ms: int | None, told: Severity | None) -> Severity:
    """Return the severity of a level with the time left.

    ``told``, the last one, stays until clearly more time is left.
    """
    asked = _by_time(thresholds, left_ms, 1.0)
    if told is not None and told.rank > asked.rank:
        asked = min(told, _by_time(thresholds, left_ms, BACK_STRETCH), key=lambda severity: severity.rank)
    return max(SPACE_SEVERITY[level], asked, key=lambda severity: severity.rank)


def _by_time(thresholds: Thresholds, left_ms: int | None, stretched: float) -> Severity:
    """Return the severity for the time left: a directory that is full before the morning is more severe."""
    if left_ms is None:
        return Severity.INFO
    if left_ms < thresholds.page_within_ms * stretched:
        return Severity.PAGE
    within_ms = thresholds.critical_within_ms and max(thresholds.critical_within_ms, NIGHT_MS)
    return Severity.CRITICAL if left_ms < within_ms * stretched else Severity.INFO


def waits(log_dir: LogDirMemory, severity: Severity) -> tuple[bool, str]:
    """Return whether a directory can wait until morning, and why. A page cannot, a warning can."""
    left_ms = time_left_ms(log_dir)
    if log_dir.status is LogDirStatus.SATURATED:
        return False, "the next write may take the directory offline"
    if left_ms is not None and left_ms < NIGHT_MS:
        is_loud = severity.rank >= Severity.CRITICAL.rank
        return not is_loud, "it will be full before" if is_loud else "the settings judge it by space alone"
    if severity is Severity.PAGE:
        return False, "it was about to be full just now"
    if left_ms is not None:
        return True, "space is left at its present growth"
    return _waits_unforeseen(log_dir, severity)


def _waits_unforeseen(log_dir: LogDirMemory, severity: Severity) -> tuple[bool, str]:
    """Answer it without an end in sight: a critical directory that was not watched for long must not grow at all."""
    lasting, growth = log_dir.lasting_growth_bytes_per_s, log_dir.growth_bytes_per_s
    if lasting is not None:
        if _said_no(log_dir) and severity is Severity.CRITICAL and _rises_until_morning(log_dir):
            return False, "it may be full before, if it keeps growing as it does"
        if lasting > 0:
            return True, "it is not forecast to be full before"
        return True, "it does not grow" if (growth or 0) <= 0 else "its growth has not lasted"
    if growth is None:
        is_critical = severity is Severity.CRITICAL
        return (
            not is_critical,
            "its growth is not known yet" if is_critical else "space is left, and the severity rises if it grows fast",
        )
    # Between two deletions of retention growth turns around, and the answer does not turn with it. Growth is zero only
    # where nothing has changed since the first poll, when it was not known.
    if severity is Severity.CRITICAL and ((_said_no(log_dir) and growth != 0) or _is_full_by_morning(log_dir, growth)):
        return False, "it may be full before, if it keeps growing as it did"
    return True, "it does not grow" if growth <= 0 else "it is not forecast to be full before"


def _is_full_by_morning(log_dir: LogDirMemory, growth_bytes_per_s: float) -> bool:
    return growth_bytes_per_s > 0 and (log_dir.usable_bytes or 0) / growth_bytes_per_s * 1000 < NIGHT_MS


def _rises_until_morning(log_dir: LogDirMemory) -> bool:
    rise = log_dir.rise
    if rise is None or not _goes_on(rise, log_dir):
        return False
    return _is_full_by_morning(log_dir, _per_ms(rise, log_dir) * 1000)
