"""Whether a broker's memory is such that a sample may change nothing but its numbers.

Each group of conditions names the steps of ``brokers.take_sample`` that do nothing because of it. The conditions on
numbers are in ``judgement``; these here stay true as long as only numbers change.
"""

from logdirwatch.config.section import HOUR_MS
from logdirwatch.detect import brokers, upkeep
from logdirwatch.detect.columns.rows import are_exact, place
from logdirwatch.detect.settings import DetectSettings
from logdirwatch.detect.state import clocks, maintenance
from logdirwatch.detect.state.broker_state import BrokerMemory, CollectorView, LogDirMemory
from logdirwatch.model.records import MetricsRecord
from logdirwatch.model.vocabulary import BrokerStatus, LogDirStatus, NotReported, PollStatus


def is_calm(memory: BrokerMemory, partition: int, settings: DetectSettings) -> bool:
    """Tell whether an answer like the last one, in the same partition, may change only numbers."""
    if len(memory.collectors) != 1 or not memory.log_dirs:
        return False
    ((collector, view),) = memory.collectors.items()
    return (
        _is_present(memory)
        and _is_undisturbed(memory)
        and _is_written(memory)
        and memory.collector == collector
        # ``WriterClock.evidence_ms``: its collector's times are followed.
        and collector not in clocks.stalled(memory)
        and place(partition) in memory.positions
        and _is_last_answer(memory, view)
        and all(
            _is_log_dir_calm(log_dir, collector, view, settings) and _has_inodes(memory, path, log_dir, settings)
            for path, log_dir in memory.log_dirs.items()
        )
    )


def _is_present(memory: BrokerMemory) -> bool:
    """Tell whether nothing says that the broker is away, will be, or was.

    For ``_note_registration``, ``_answer``, ``broker_offline.forget_reason_if_over``, ``maintenance.end_if_due``.
    """
    return (
        memory.is_judged
        and memory.status is BrokerStatus.ONLINE
        and memory.reason == brokers.ANSWERS
        and not memory.is_silent
        and not memory.is_gone
        and not memory.unregistered_polls
        and maintenance.running(memory) is None
        and memory.recovery is None
        and memory.away_since_ms is None
        and memory.word is None
    )


def _is_undisturbed(memory: BrokerMemory) -> bool:
    """Tell whether no rule about the broker waits for anything, and none has an alert to revise or to end."""
    return (
        not memory.alerts
        and not memory.pending
        and upkeep.is_quiet(memory)
        # ``host_sizes.completed``: Kafka reports the sizes.
        and NotReported.CAPACITY not in (memory.not_reported or ())
        # ``Shard.keep``: a timer is set, and none earlier is needed.
        and memory.timer_ms is not None
    )


def _is_written(memory: BrokerMemory) -> bool:
    """Tell whether ``state_view.has_news`` depends on the time only, and a record notes nothing but its number."""
    return (
        not memory.emitted_silent
        and memory.emitted_partitions == memory.partitions
        and memory.emitted_maintenance_ms is None
    )


def _is_last_answer(memory: BrokerMemory, view: CollectorView) -> bool:
    """Tell whether the last answer is the newest evidence there is, so that its time is that of everything.

    For ``_note_collector``, which then changes only times.
    """
    is_answered = view.status is PollStatus.OK and not view.failures and view.taken_ms > 0
    return is_answered and view.taken_ms == view.ok_ms == view.said_ms == memory.newest_ms == memory.seen_ms


def _is_log_dir_calm(log_dir: LogDirMemory, collector: str, view: CollectorView, settings: DetectSettings) -> bool:
    return (
        not log_dir.alerts
        # No event is newer, and no other collector said anything.
        and (log_dir.event_ms is None or log_dir.event_ms <= view.taken_ms)
        and log_dir.codes.keys() == {collector}
        and log_dir.codes[collector][0] == 0
        and log_dir.interval_ms == view.interval_ms
        and log_dir.proposals == {collector: [LogDirStatus.ONLINE] * settings.debounce_samples}
        # ``shared_volumes.watch``: it shares its volume with no other directory.
        and (log_dir.is_volume_told or not (log_dir.twin or log_dir.twin_samples or log_dir.volume))
        and _has_numbers(log_dir)
        and _is_followed(log_dir, view.taken_ms)
        and are_exact(log_dir)
    )


def _has_numbers(log_dir: LogDirMemory) -> bool:
    """Tell whether Kafka reports its space, and its replicas are known.

    For ``log_dir_changed.note_capacity``, ``host_sizes.is_measured_again`` and ``_tell_unaccounted``.
    """
    return (
        log_dir.error_code == 0
        and bool(log_dir.total_bytes)
        and log_dir.usable_bytes is not None
        and log_dir.replica_bytes is not None
        and log_dir.capacity_source is None
        and log_dir.host_measured_ms is None
    )


def _is_followed(log_dir: LogDirMemory, at_ms: int) -> bool:
    """Tell whether its use was followed up to ``at_ms``: its growth, the hour's peak, the rise.

    For ``forecast.note`` and ``urgency.note``, which then go on from the last sample.
    """
    peaks, rise = log_dir.peaks, log_dir.rise
    return (
        log_dir.seen_ms == log_dir.sample_at_ms == peaks.last_ms == at_ms
        and log_dir.growth_bytes_per_s is not None
        and log_dir.forecast_at_ms is not None
        and peaks.peak_bytes is not None
        and peaks.hour == at_ms // HOUR_MS
        and not peaks.incoming_bytes
        and rise is not None
        and rise.last_ms == at_ms
        and rise.last_bytes == peaks.last_bytes
    )


def _has_inodes(memory: BrokerMemory, path: str, log_dir: LogDirMemory, settings: DetectSettings) -> bool:
    """Tell whether a directory is online by its inodes, which only the host source reports."""
    used_ratio = log_dir.used_inodes_ratio
    return used_ratio is None or used_ratio < settings.thresholds_for(memory.cluster, path).critical_ratio


def is_noted(memory: BrokerMemory, record: MetricsRecord) -> bool:
    """Tell whether a calm memory already has what a record says, except for the numbers."""
    (view,) = memory.collectors.values()
    configured = brokers.configured_dirs(record)
    return (
        record.collector == memory.collector
        and record.interval_ms == view.interval_ms
        and all(getattr(record, name) in (None, getattr(memory, name)) for name in brokers.FACTS)
        and configured in (None, memory.configured_dirs)
        and {sample.path for sample in record.log_dirs} == memory.log_dirs.keys()
        and all(
            sample.is_cordoned == memory.log_dirs[sample.path].is_cordoned
            and sample.is_metadata_dir in {None, memory.log_dirs[sample.path].is_metadata_dir}
            and (sample.strays or None) == memory.log_dirs[sample.path].strays
            for sample in record.log_dirs
        )
    )
