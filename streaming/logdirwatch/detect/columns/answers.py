"""An answer of a broker, taken apart: what it says besides numbers, and the numbers."""

from collections.abc import Collection
from hashlib import blake2b
from operator import attrgetter

import msgspec

from logdirwatch.detect.columns.layout import SAMPLE_NUMBERS
from logdirwatch.detect.rules import broker_gauges
from logdirwatch.model.records import LogDirSample, MetricsRecord, ReplicaMoves
from logdirwatch.model.vocabulary import PollStatus

NUMBERS = ("total_bytes", *SAMPLE_NUMBERS, "is_cordoned", "out_of_sync_count")
"""The numbers of a directory's sample."""
numbers = attrgetter(*NUMBERS)
"""Returns these of a sample."""
_NUMBERS_OF_SAMPLE = {*NUMBERS, "error_code", "capacity_source"} - {"is_cordoned"}
"""Those that are compared as numbers, and what is none in an ordinary answer."""
_NUMBERS_OF_MOVES = {
    "at_ms",
    "reassignments",
    "copies",
    "copies_begun",
    "waiting_bytes",
    "throttles",
    "throttled_replicas",
    "copy_threads",
}
_OF_THEIR_OWN = {
    "timestamp_ms",
    "controller_at_ms",
    "log_dirs",
    "metrics",
    "moves",
    "cluster",
    "broker",
    "status",
    "error",
}
"""Parts of an answer that are looked at one by one: times, directories, gauges, counts of a scan, who answers how."""


def words_of(kind: type[msgspec.Struct], numbers: Collection[str]) -> tuple[str, ...]:
    """Return the fields of a record that are not declared to be numbers: a field that is added counts."""
    return tuple(name for name in kind.__struct_fields__ if name not in numbers)


_words_of_record = attrgetter(*words_of(MetricsRecord, _OF_THEIR_OWN))
_words_of_sample = attrgetter(*words_of(LogDirSample, _NUMBERS_OF_SAMPLE))
_WORDS_OF_MOVES = words_of(ReplicaMoves, _NUMBERS_OF_MOVES)
_encode = msgspec.json.Encoder().encode
_SIZE = 16


def fingerprint(record: MetricsRecord) -> bytes | None:
    """Return a digest of what an answer says besides declared numbers; None if it says something out of the ordinary.

    Two answers with one fingerprint differ in these numbers only.
    """
    is_ordinary = record.status is PollStatus.OK and not record.is_fenced and record.is_registered is not False
    if not is_ordinary or any(sample.error_code or sample.capacity_source for sample in record.log_dirs):
        return None
    moves = None if record.moves is None else [getattr(record.moves, name) for name in _WORDS_OF_MOVES]
    said = _words_of_record(record), moves, [_words_of_sample(sample) for sample in record.log_dirs]
    return blake2b(_encode(said), digest_size=_SIZE).digest()


def has_new_gauges(record: MetricsRecord) -> bool:
    """Tell whether the broker's gauges were read since the last poll; a scrape in several polls counts once."""
    return bool(record.metrics) and not broker_gauges.are_known(record)
