"""The sizes that the host source tells, for brokers whose version of Kafka reports none (below 3.3)."""

from msgspec.structs import replace

from logdirwatch.detect.state.broker_state import BrokerMemory, LogDirMemory
from logdirwatch.model.capabilities import CapacitySource
from logdirwatch.model.records import HostLogDir, LogDirSample, MetricsRecord
from logdirwatch.model.vocabulary import NotReported

FRESH_POLLS = 3
"""After so many intervals of the host source without a record its last size is too old."""


def note(memory: BrokerMemory, log_dir: LogDirMemory, seen: HostLogDir) -> None:
    """Remember a size that the broker itself does not report."""
    if _is_wanted(memory):
        log_dir.host_total_bytes, log_dir.host_usable_bytes = seen.total_bytes, seen.usable_bytes


def completed(memory: BrokerMemory, record: MetricsRecord, at_ms: int) -> MetricsRecord:
    """Return a record with the host's sizes, which are measured and so come before configured ones."""
    if not _is_wanted(memory):
        return record
    return replace(record, log_dirs=[_with_size(memory, sample, at_ms) for sample in record.log_dirs])


def is_measured_again(log_dir: LogDirMemory, sample: LogDirSample) -> bool:
    """Return whether a sample is a new measurement, and remember it: several polls use one look of the host source.

    The same number twice says nothing of growth.
    """
    if sample.capacity_source != CapacitySource.HOST:
        return True
    before, log_dir.host_measured_ms = log_dir.host_measured_ms, log_dir.host_ms
    return before != log_dir.host_ms


def _is_wanted(memory: BrokerMemory) -> bool:
    return NotReported.CAPACITY in (memory.not_reported or ())


def _with_size(memory: BrokerMemory, sample: LogDirSample, at_ms: int) -> LogDirSample:
    known = memory.log_dirs.get(sample.path)
    if sample.error_code or known is None or known.host_ms is None or known.host_total_bytes is None:
        return sample
    if at_ms - known.host_ms > FRESH_POLLS * known.host_interval_ms:
        return sample
    return replace(
        sample,
        total_bytes=known.host_total_bytes,
        usable_bytes=known.host_usable_bytes,
        capacity_source=CapacitySource.HOST,
    )
