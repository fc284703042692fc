"""Parses the output of ``kafka-log-dirs.sh --describe`` (``org.apache.kafka.tools.LogDirsCommand``) to placements.

Text may come before, after and between the JSON of several runs: the tool's messages, the JVM's options and garbage
collector, lines of log4j. Together the runs must cover all topics: what a directory does not list counts as removed. A
directory with an error is left out, so that its last known placements stay.
"""

import json
import re
from collections.abc import Iterator
from typing import Any, Literal, NamedTuple

import msgspec
from msgspec import UNSET, Struct, field

from logdirwatch.model.records import Placement, ReplicasRecord
from logdirwatch.model.scalars import BrokerId, Long, Name

COLLECTOR = "kafka-log-dirs"
HIGHEST = 2**31 - 1
_DIGITS = 10
MOST_TRIES = 1_000
"""The maximum number of object starts that are tried."""
_BEGINS = re.compile(r"\{\s*\"")
_DECODER = json.JSONDecoder(parse_int=str, parse_float=str)
"""Finds the end of an object; msgspec decodes its content."""


class Arrival(NamedTuple):
    """The fields of a record that come from Kafka and the configuration."""

    key: bytes | None
    kafka_timestamp_ms: int
    default_cluster: str


class Listing(NamedTuple):
    """The placements of every directory without an error."""

    cluster: str
    replicas: tuple[ReplicasRecord, ...]


class _Probe(Struct):
    type: Any = UNSET
    brokers: Any = UNSET


class _Partition(Struct):
    """``partition`` is TOPIC-NUMBER; a size or lag of -1 is unknown."""

    partition: Name
    size: Long
    offset_lag: Long = field(name="offsetLag")
    is_future: bool = field(default=False, name="isFuture")


class _LogDir(Struct):
    log_dir: Name = field(name="logDir")
    error: str | None
    partitions: list[_Partition]


class _Broker(Struct):
    broker: BrokerId
    log_dirs: list[_LogDir] = field(name="logDirs")


class _Printed(Struct):
    version: Literal[1]
    brokers: list[_Broker]


class _Answer(NamedTuple):
    broker: int
    log_dir: str
    replicas: list[Placement]


def is_listing(value: bytes) -> bool:
    """Tell whether ``value`` contains the tool's output, valid or not."""
    return any(True for _ in _documents(value))


def read_listing(value: bytes, arrival: Arrival) -> Listing:
    """Return the tool's output as placements; raises ValueError if it is invalid.

    The cluster is the key's (``CLUSTER`` or ``CLUSTER/BROKER``) or the default, the time is Kafka's.
    """
    cluster = _cluster_of((arrival.key or b"").decode()) or arrival.default_cluster
    answers = [answer for document in _documents(value) for answer in _answers(document)]
    replicas = (
        ReplicasRecord(
            version=1,
            cluster=cluster,
            broker=answer.broker,
            log_dir=answer.log_dir,
            timestamp_ms=arrival.kafka_timestamp_ms,
            replicas=answer.replicas,
            collector=COLLECTOR,
        )
        for answer in _united(answers)
    )
    return Listing(cluster, tuple(replicas))


def _documents(value: bytes) -> Iterator[bytes]:
    """Yield the JSON objects that have the form of a listing; other text and other JSON is skipped."""
    # Text around the JSON may be in any encoding; the JSON itself must be UTF-8.
    text, end = value.decode(errors="surrogateescape"), 0
    for _ in range(MOST_TRIES):
        begins = _BEGINS.search(text, end)
        if begins is None:
            return
        start = begins.start()
        try:
            _, end = _DECODER.raw_decode(text, start)
        except json.JSONDecodeError as error:
            end = max(error.pos, begins.end())  # no text is read twice, so the cost is linear even for garbage
        except RecursionError:
            return
        else:
            document = text[start:end].encode(errors="surrogateescape")
            if _is_document(document):
                document.decode()
                yield document


def _is_document(value: bytes) -> bool:
    try:
        probe = msgspec.json.decode(value, type=_Probe)
    except msgspec.DecodeError:
        return False
    return probe.type is UNSET and _is_list_of_objects(probe.brokers)


def _is_list_of_objects(value: Any) -> bool:
    """Tell a list of the tool from other fields named ``brokers``, such as addresses."""
    return isinstance(value, list) and all(isinstance(item, dict) for item in value)


def _united(answers: list[_Answer]) -> list[_Answer]:
    """Return one answer per directory: runs for one topic list parts of it; the last listing of a replica counts."""
    found: dict[tuple[int, str], dict[tuple[str, int, bool], Placement]] = {}
    for answer in answers:
        known = found.setdefault((answer.broker, answer.log_dir), {})
        known.update({(item.topic, item.partition, item.is_future): item for item in answer.replicas})
    return [_Answer(broker, log_dir, list(known.values())) for (broker, log_dir), known in found.items()]


def _cluster_of(key: str) -> str:
    cluster, slash, broker = key.rpartition("/")
    return cluster if slash and _is_number(broker) else key


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= _DIGITS and int(text) <= HIGHEST


def _answers(value: bytes) -> Iterator[_Answer]:
    for broker in msgspec.json.decode(value, type=_Printed).brokers:
        for log_dir in broker.log_dirs:
            if log_dir.error is None:
                yield _Answer(broker.broker, log_dir.log_dir, [_placement(item) for item in log_dir.partitions])


def _placement(item: _Partition) -> Placement:
    topic, _, number = item.partition.rpartition("-")
    if not topic or not _is_number(number):
        raise ValueError(f"partition {item.partition!r} is not TOPIC-NUMBER - at `$.brokers[...].logDirs[...]`")
    return Placement(
        topic=topic,
        partition=int(number),
        size_bytes=_known(item.size),
        offset_lag=_known(item.offset_lag),
        is_future=item.is_future,
    )


def _known(value: int) -> int | None:
    return None if value < 0 else value
