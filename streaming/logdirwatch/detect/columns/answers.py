"""Answers of brokers, taken apart: what each says besides numbers, and the numbers of a batch as columns."""

from collections.abc import Collection, Sequence
from hashlib import blake2b
from itertools import chain
from operator import attrgetter
from typing import NamedTuple

import msgspec
import numpy as np

from logdirwatch.detect.columns.rows import EXACT, NONE, SAMPLE_NUMBERS, Real, Truth, Whole
from logdirwatch.detect.observations import Sample
from logdirwatch.detect.rules import broker_gauges
from logdirwatch.detect.settings import DetectSettings, Thresholds
from logdirwatch.model.records import LogDirSample, MetricsRecord, ReplicaMoves
from logdirwatch.model.vocabulary import PollStatus

NUMBERS = ("total_bytes", *SAMPLE_NUMBERS, "is_cordoned", "out_of_sync_count")
"""The numbers of a directory's sample."""
_numbers = attrgetter(*NUMBERS)
_by_path = attrgetter("path")
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


class Polls(NamedTuple):
    """One answer of each broker; directories in the order of their paths, ``NONE`` for what is missing.

    ``has_gauges`` is 1 if it repeats gauges that were judged before; no answer here has new ones. Numbers are below
    ``EXACT``.
    """

    at_ms: Whole
    kafka_ms: Whole
    partition: Whole
    offset: Whole
    moves_at_ms: Whole
    has_throttles: Whole
    has_gauges: Whole
    total_bytes: Whole
    usable_bytes: Whole
    replica_count: Whole
    replica_bytes: Whole
    future_bytes: Whole
    incoming_bytes: Whole
    outgoing_bytes: Whole
    is_cordoned: Whole
    out_of_sync_count: Whole


class Reach(NamedTuple):
    """Up to where each directory is online: by its use, and by the time until it is full."""

    filling_ratio: Real
    within_ms: Whole


def polls_of(samples: Sequence[Sample]) -> tuple[Polls, Truth]:
    """Return the answers of brokers with equally many directories, and which of them have no number too large."""
    log_dirs = [sorted(sample.record.log_dirs, key=_by_path) for sample in samples]
    flat = list(chain.from_iterable(map(_numbers, chain.from_iterable(log_dirs))))
    # As floats, since numpy reads None only so.
    values = np.array(flat, np.float64).reshape(len(samples), -1, len(NUMBERS))
    values[np.isnan(values)] = NONE
    is_exact = np.asarray((values < EXACT).all(axis=(1, 2)))
    values[~is_exact] = NONE
    of_brokers = np.array([_of_broker(sample) for sample in samples], np.int64)
    return Polls(*of_brokers.T, *np.moveaxis(values.astype(np.int64), 2, 0)), is_exact


def _of_broker(sample: Sample) -> tuple[int, ...]:
    record, origin = sample
    moves = record.moves
    return (
        record.timestamp_ms,
        origin.kafka_timestamp_ms,
        origin.partition,
        origin.offset,
        NONE if moves is None else moves.at_ms,
        moves is not None and bool(moves.throttles or moves.throttled_replicas),
        bool(record.metrics),
    )


class Limits:
    """The thresholds of directories."""

    def __init__(self, settings: DetectSettings) -> None:
        self._settings = settings
        self._known: dict[tuple[str, str], tuple[float, int]] = {}

    def of(self, samples: Sequence[Sample]) -> Reach:
        """Return the thresholds of the directories of some answers, in the order of their paths."""
        if not self._settings.rules:
            ratio, within_ms = _reach(self._settings.thresholds)
            return Reach(np.array([[ratio]]), np.array([[within_ms]]))
        found = [
            [self._of(sample.record.cluster, seen.path) for seen in sorted(sample.record.log_dirs, key=_by_path)]
            for sample in samples
        ]
        return Reach(*(np.array([[reach[at] for reach in row] for row in found]) for at in (0, 1)))

    def _of(self, cluster: str, path: str) -> tuple[float, int]:
        reach = self._known.get((cluster, path))
        if reach is None:
            reach = self._known[cluster, path] = _reach(self._settings.thresholds_for(cluster, path))
        return reach


def _reach(thresholds: Thresholds) -> tuple[float, int]:
    return thresholds.filling_ratio, max(thresholds.filling_within_ms, thresholds.critical_within_ms)
