r"""From an exporter's samples to Kafka's metrics under one name each. Pure.

How a JMX exporter spells an MBean is up to its rules. All of these are ``kafka.log:type=LogManager,
name=OfflineLogDirectoryCount``::

    kafka_log_LogManager_Value{name="OfflineLogDirectoryCount"}     no rules at all
    kafka_log_logmanager_offlinelogdirectorycount                   lower case, Strimzi
    kafka_log_logmanager_offline_log_directory_count_value          other rules

So a sample is recognised by the letters of domain, type, name and attribute in this order, whatever stands between them
and whether or not type and name are labels. A spelling that does not say which attribute it shows is not taken where
that makes a difference: ``..._bytesinpersec`` may be the counter or a rate.

Of the text of an exporter, in the classic format or OpenMetrics 1.0, only a line that cannot be parsed is skipped;
libraries reject the whole answer at the first such line.
"""

import io
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from typing import NamedTuple

_NAME = re.compile(r"\s*([A-Za-z_:][A-Za-z0-9_:]*)")
_LABELS_AND_VALUE = re.compile(r'(?:\s*\{((?:[^"}]|"(?:[^"\\]|\\.)*")*)\}\s*|\s+)(\S+)')
_LABEL = re.compile(r'\s*([A-Za-z_][A-Za-z0-9_]*)\s*=\s*"((?:[^"\\]|\\.)*)"\s*(?:,|$)')
# No line about a broker is this long; parsing one would block everything else for seconds.
MAX_LINE_CHARACTERS = 1 << 16
_ESCAPED = re.compile(r"\\(.)")


class Sample(NamedTuple):
    """One line: a metric, its labels, and its value, which is None for NaN and the infinities."""

    name: str
    labels: Mapping[str, str]
    value: float | None


def samples(body: bytes, is_wanted: Callable[[str], bool]) -> Iterator[Sample]:
    """Yield the samples of ``body`` whose name ``is_wanted``, in its order.

    Raises nothing, whatever the bytes are. Timestamps, exemplars and comments are skipped. Most lines of a broker are
    about single topics, so a line is parsed completely only if its name is wanted.
    """
    for line in io.StringIO(body.decode("utf-8", "replace")):
        name = _NAME.match(line) if len(line) <= MAX_LINE_CHARACTERS else None
        if name is None or not is_wanted(name[1]):
            continue
        rest = _LABELS_AND_VALUE.match(line, name.end())
        if rest is not None:
            yield from _sample(name[1], rest[1] or "", rest[2])


def _sample(name: str, text: str, value: str) -> Iterator[Sample]:
    labels, number = _labels(text), _number(value)
    if labels is not None and number is not None:
        yield Sample(name, labels, number if math.isfinite(number) else None)


def _labels(text: str) -> dict[str, str] | None:
    labels, end = {}, len(text.rstrip())
    at = 0
    while at < end:
        label = _LABEL.match(text, at, end)
        if label is None:
            return None
        labels[label[1]] = _ESCAPED.sub(_unescaped, label[2])
        at = label.end()
    return labels


def _number(text: str) -> float | None:
    try:
        return None if "_" in text else float(text)
    except ValueError:
        return None


def _unescaped(escape: re.Match[str]) -> str:
    return "\n" if escape[1] == "n" else escape[1]


OFFLINE_REPLICA_COUNT = "OfflineReplicaCount"
# From 3.7 to 4.2 the gauge compares the wrong classes and is always 0; it is right before and after.
OFFLINE_REPLICA_COUNT_BROKEN = (3, 7), (4, 2)

# What one broker may add to a record; it has a handful of directories.
MAX_METRICS = 1_000
MAX_PATH_CHARACTERS = 4_096

_GAUGE = ("", "value", "total")
_COUNT = ("count", "total", "counttotal")
_DIRECTORY_LABELS = ("logdirectory", "logdir", "dir", "directory")
_PER_PARTITION_LABELS = frozenset({"topic", "partition"})


class _Metric(NamedTuple):
    """One of our metrics and the attributes of the MBean that hold it, as exporters spell them."""

    key: str
    domain: str
    type: str
    name: str
    attributes: tuple[str, ...] = _GAUGE
    is_per_directory: bool = False


def _percentile(number: int) -> tuple[str, ...]:
    return f"{number}thpercentile", f"p{number}", f"|{number / 100:g}"


_FLUSH = ("kafka.log", "LogFlushStats", "LogFlushRateAndTimeMs")

_METRICS = (
    _Metric("OfflineLogDirectoryCount", "kafka.log", "LogManager", "OfflineLogDirectoryCount"),
    _Metric("CordonedLogDirectoryCount", "kafka.log", "LogManager", "CordonedLogDirectoryCount"),
    _Metric("LogDirectoryOffline", "kafka.log", "LogManager", "LogDirectoryOffline", is_per_directory=True),
    _Metric("LogDirectoryCordoned", "kafka.log", "LogManager", "LogDirectoryCordoned", is_per_directory=True),
    _Metric("remainingLogsToRecover", "kafka.log", "LogManager", "remainingLogsToRecover", is_per_directory=True),
    _Metric("UncleanableBytes", "kafka.log", "LogCleanerManager", "uncleanable-bytes", is_per_directory=True),
    _Metric(
        "UncleanablePartitionsCount",
        "kafka.log",
        "LogCleanerManager",
        "uncleanable-partitions-count",
        is_per_directory=True,
    ),
    _Metric("DeadThreadCount", "kafka.log", "LogCleaner", "DeadThreadCount"),
    _Metric("LogFlushTimeMs:p50", *_FLUSH, _percentile(50)),
    _Metric("LogFlushTimeMs:p99", *_FLUSH, _percentile(99)),
    _Metric("LogFlushTimeMs:mean", *_FLUSH, ("mean",)),
    _Metric("LogFlushTimeMs:max", *_FLUSH, ("max",)),
    _Metric("LogFlushCount", *_FLUSH, _COUNT),
    _Metric(OFFLINE_REPLICA_COUNT, "kafka.server", "ReplicaManager", "OfflineReplicaCount"),
    _Metric("UnderMinIsrPartitionCount", "kafka.server", "ReplicaManager", "UnderMinIsrPartitionCount"),
    _Metric("AtMinIsrPartitionCount", "kafka.server", "ReplicaManager", "AtMinIsrPartitionCount"),
    _Metric("UnderReplicatedPartitions", "kafka.server", "ReplicaManager", "UnderReplicatedPartitions"),
    _Metric("ReassigningPartitions", "kafka.server", "ReplicaManager", "ReassigningPartitions"),
    # Its domain is org.apache.kafka.server, which rules shorten.
    _Metric("QueuedReplicaToDirAssignments", "kafka.server", "AssignmentsManager", "QueuedReplicaToDirAssignments"),
    _Metric("BytesInTotal", "kafka.server", "BrokerTopicMetrics", "BytesInPerSec", _COUNT),
    # Prometheus' own example rules cut PerSec off what is a counter.
    _Metric("BytesInTotal", "kafka.server", "BrokerTopicMetrics", "BytesIn", ("total",)),
    # Of all topics together; that of each is left out as everything about single topics.
    _Metric("RemoteCopyLagBytes", "kafka.server", "BrokerTopicMetrics", "RemoteCopyLagBytes"),
    _Metric("RemoteCopyErrorsTotal", "kafka.server", "BrokerTopicMetrics", "RemoteCopyErrorsPerSec", _COUNT),
    _Metric("RemoteCopyErrorsTotal", "kafka.server", "BrokerTopicMetrics", "RemoteCopyErrors", ("total",)),
    _Metric("linux-disk-write-bytes", "kafka.server", "KafkaServer", "linux-disk-write-bytes"),
)


@lru_cache(maxsize=10_000)
def _letters(name: str) -> str:
    """Return the letters and digits of a name in lower case, without a package in front."""
    return re.sub(r"[^a-z0-9]", "", name.lower()).removeprefix("orgapache")


def _spellings(metric: _Metric) -> Iterator[tuple[str, str]]:
    """Yield every (metric name, labels type and name) that shows ``metric``.

    ``|`` separates a quantile from the name.
    """
    domain, kind, name = map(_letters, metric[1:4])
    for attribute in metric.attributes:
        yield domain + kind + name + attribute, ""
        yield domain + kind + attribute, name
        yield domain + attribute, kind + name


_SPELLED = {spelling: metric for metric in _METRICS for spelling in _spellings(metric)}
_NAMES = frozenset(name.partition("|")[0] for name, _ in _SPELLED)


def metrics(body: bytes) -> dict[str, float | None]:
    """Return the metrics in an exporter's answer by our names, those of a directory as ``name:/path``.

    None is a value that is not finite. Where an answer has a metric twice the first one counts. Empty when there is
    none that we know; raises nothing.
    """
    found: dict[str, float | None] = {}
    for key, value in _recognised(samples(body, _is_known)):
        if len(found) < MAX_METRICS:
            found.setdefault(key, value)
    return found


def trusted(found: Mapping[str, float | None], kafka_version: str | None) -> dict[str, float | None]:
    """Return ``found`` with None for metrics that this broker's version counts wrongly, or may if it is unknown."""
    after = dict(found)
    is_trusted = release(kafka_version) > (0, 0) and not never_counts_offline_replicas(kafka_version)
    if OFFLINE_REPLICA_COUNT in after and not is_trusted:
        after[OFFLINE_REPLICA_COUNT] = None
    return after


def never_counts_offline_replicas(kafka_version: str | None) -> bool:
    """Tell whether ``OfflineReplicaCount`` of this release is always 0."""
    first, last = OFFLINE_REPLICA_COUNT_BROKEN
    return first <= release(kafka_version) <= last


def release(version: str | None) -> tuple[int, int]:
    """Return the major and minor number of a version of Kafka; (0, 0) if unknown."""
    numbers = re.match(r"(\d+)\.(\d+)", version or "")
    return (int(numbers[1]), int(numbers[2])) if numbers else (0, 0)


def _is_known(name: str) -> bool:
    return _letters(name) in _NAMES


def _recognised(found: Iterable[Sample]) -> Iterator[tuple[str, float | None]]:
    for sample in found:
        labels = {_letters(name): text for name, text in sample.labels.items()}
        spelling = _spelling(sample.name, labels)
        # Where type and name are no part of the MBean, they are labels that somebody added.
        metric = _SPELLED.get(spelling) or _SPELLED.get((spelling[0], ""))
        key = metric and _key(metric, labels)
        if key:
            yield key, sample.value


def _spelling(name: str, labels: Mapping[str, str]) -> tuple[str, str]:
    quantile = f"|{labels['quantile'].rstrip('0')}" if "quantile" in labels else ""
    return _letters(name) + quantile, _letters(labels.get("type", "") + labels.get("name", ""))


def _key(metric: _Metric, labels: Mapping[str, str]) -> str | None:
    """Return our name of a sample, None for one that covers only a part of the metric."""
    if labels.keys() & _PER_PARTITION_LABELS:
        return None
    if not metric.is_per_directory:
        return metric.key
    path = next((_unquoted(labels[label]) for label in _DIRECTORY_LABELS if label in labels), "")
    return f"{metric.key}:{path}" if 0 < len(path) <= MAX_PATH_CHARACTERS else None


def _unquoted(text: str) -> str:
    """Undo what Kafka does to a path in an MBean's name (``ObjectName.quote``); many rules pass it on as it is."""
    if len(text) < 2 or not text.startswith('"') or not text.endswith('"'):
        return text
    return re.sub(r"\\(.)", lambda escape: "\n" if escape[1] == "n" else escape[1], text[1:-1])
