"""A shortcut for samples that change only a directory's numbers, as nearly all do.

For these ``take_sample`` concludes nothing else: the directory is online by its space and stays so, and
``take_good_sample`` of ``rules.log_dir_space`` would judge nothing. The memory is left exactly as that would leave it.
If that is not certain, it returns False and has changed nothing. Each condition names the step that it makes
unnecessary.
"""

from logdirwatch.config.section import HOUR_MS
from logdirwatch.detect import predicates
from logdirwatch.detect.alerts import urgency
from logdirwatch.detect.alerts.context import BrokerContext
from logdirwatch.detect.rules import log_dir_space
from logdirwatch.detect.settings import Thresholds
from logdirwatch.detect.state import forecast
from logdirwatch.detect.state.broker_state import LogDirMemory
from logdirwatch.detect.state.forecast import Grown, Peaks
from logdirwatch.model.capabilities import CapacitySource
from logdirwatch.model.records import LogDirSample
from logdirwatch.model.vocabulary import LogDirStatus


def take_sample(
    context: BrokerContext, sample: LogDirSample, log_dir: LogDirMemory, collector: str, at_ms: int
) -> bool:
    """Record a sample of a directory whose status does not change; return False if the full judgement is needed."""
    total_bytes, usable_bytes = sample.total_bytes or 0, sample.usable_bytes or 0
    if not _is_at_rest(context, sample, log_dir, total_bytes, usable_bytes, at_ms):
        return False
    _grow(log_dir, total_bytes - usable_bytes, at_ms)
    log_dir_space.remember_numbers(log_dir, sample, at_ms, starts_again=False)
    urgency.note(log_dir, at_ms)
    proposals = log_dir.proposals.setdefault(collector, [])
    proposals.append(LogDirStatus.ONLINE)
    del proposals[: -context.settings.debounce_samples]
    log_dir.unaccounted_since_ms = None
    return True


def _is_at_rest(
    context: BrokerContext, sample: LogDirSample, log_dir: LogDirMemory, total_bytes: int, usable_bytes: int, at_ms: int
) -> bool:
    return (
        # ``set_level`` returns at once if the level is still online.
        log_dir.status is LogDirStatus.ONLINE
        and log_dir.reason == log_dir_space.BY_SPACE
        and not log_dir.alerts
        # The size is that of before, newly measured, and no other change waits for its end.
        and total_bytes == log_dir.total_bytes
        and sample.capacity_source != CapacitySource.HOST
        and log_dir.change is None
        # The debounce goes on, and the level that this sample proposes is online.
        and not predicates.is_gap(log_dir, at_ms, log_dir.interval_ms)
        and _is_level_online(context.thresholds(sample.path), log_dir, usable_bytes / total_bytes, at_ms)
        # Its use goes on within the hour, and no forecast is due.
        and _is_within_hour(log_dir.peaks, sample, at_ms)
        and not forecast.is_due(sample.path, log_dir.forecast_at_ms, at_ms, context.seed)
        # Its own replicas account for its bytes, so that no other directory matters.
        and sample.replica_bytes is not None
        and total_bytes - usable_bytes - sample.replica_bytes < context.settings.unaccounted_ratio * total_bytes
    )


def _is_level_online(thresholds: Thresholds, log_dir: LogDirMemory, usable_ratio: float, at_ms: int) -> bool:
    """Tell whether space, inodes and forecast each say online, as ``predicates.judged_level`` does without moves.

    Of the levels by space filling is the lowest, whatever the directory's size.
    """
    if 1.0 - usable_ratio >= thresholds.filling_ratio:
        return False
    if log_dir.used_inodes_ratio is not None and log_dir.used_inodes_ratio >= thresholds.critical_ratio:
        return False
    if log_dir.full_at_ms is None:
        return True
    full_in_ms = max(0, log_dir.full_at_ms - at_ms)
    return full_in_ms >= thresholds.filling_within_ms and full_in_ms >= thresholds.critical_within_ms


def _is_within_hour(peaks: Peaks, sample: LogDirSample, at_ms: int) -> bool:
    """Tell whether ``forecast.note`` would change only the last sample and the current hour's peak.

    No hour ends, and moves add nothing.
    """
    return (
        peaks.peak_bytes is not None
        and at_ms // HOUR_MS == peaks.hour
        and 0 < peaks.last_ms < at_ms
        and not peaks.incoming_bytes
        and not sample.incoming_bytes
        and (sample.future_bytes is None or sample.future_bytes == peaks.future_bytes)
    )


def _grow(log_dir: LogDirMemory, used_bytes: int, at_ms: int) -> None:
    """Do what ``forecast.note`` does within an hour and without moves."""
    peaks = log_dir.peaks
    own_bytes = used_bytes - peaks.brought_bytes
    grown = Grown(own_bytes - peaks.last_bytes, at_ms - peaks.last_ms)
    log_dir.growth_bytes_per_s = predicates.growth(log_dir.growth_bytes_per_s, grown, log_dir.interval_ms)
    peaks.last_bytes, peaks.last_ms = own_bytes, at_ms
    if peaks.peak_bytes is None or own_bytes > peaks.peak_bytes:
        peaks.peak_bytes = own_bytes
