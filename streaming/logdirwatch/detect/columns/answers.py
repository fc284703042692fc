"""An answer of a broker, taken apart: what it says besides numbers, and the numbers."""

from hashlib import blake2b
from operator import attrgetter

import msgspec

from logdirwatch.detect.columns.layout import SAMPLE_NUMBERS
from logdirwatch.detect.rules import broker_gauges
from logdirwatch.model.records import MetricsRecord
from logdirwatch.model.vocabulary import PollStatus

_encode = msgspec.json.Encoder().encode
_SIZE = 16


def fingerprint(record: MetricsRecord) -> bytes | None:
    """Return a digest of all that an answer says besides numbers; None if it says something out of the ordinary.

    Two answers with one fingerprint differ in their numbers only.
    """
    is_ordinary = record.status is PollStatus.OK and not record.is_fenced and record.is_registered is not False
    if not is_ordinary or any(sample.error_code or sample.capacity_source for sample in record.log_dirs):
        return None
    said = (
        record.collector,
        record.interval_ms,
        record.host,
        record.rack,
        record.is_fenced,
        record.is_registered,
        record.controller_id,
        record.kafka_version,
        record.metadata_version,
        record.metadata_mode,
        record.not_reported,
        record.partitions,
        record.configs,
        [(sample.path, sample.is_cordoned, sample.is_metadata_dir, sample.strays) for sample in record.log_dirs],
    )
    return blake2b(_encode(said), digest_size=_SIZE).digest()


NUMBERS = ("total_bytes", *SAMPLE_NUMBERS, "is_cordoned", "out_of_sync_count")
"""The numbers of a directory's sample."""
numbers = attrgetter(*NUMBERS)
"""Returns these of a sample."""


def has_new_gauges(record: MetricsRecord) -> bool:
    """Tell whether the broker's gauges were read since the last poll; a scrape in several polls counts once."""
    return bool(record.metrics) and not broker_gauges.are_known(record)
