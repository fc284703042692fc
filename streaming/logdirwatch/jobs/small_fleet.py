"""Whether a fleet is small, and with what its stream starts: one compiler, a small young generation, few workers.

Java's second compiler makes code fast that runs often. In a small fleet little runs often enough: the compiler takes
more time than its code saves, most of all at the start. Java fills the young generation of its heap before it
collects it, however little is kept. Spark keeps each Python worker that it ever needed at once.
"""

import structlog
from kafka import KafkaConsumer, TopicPartition
from kafka.errors import KafkaError

from logdirwatch.kafka.clients import consumer, partitions_of, unreachable
from logdirwatch.kafka.settings import KafkaSettings
from logdirwatch.model import topics

log = structlog.get_logger(__name__)

WINDOW_MS = 600_000
MANY_RECORDS_PER_S = 30.0
"""150 brokers that are polled every five seconds."""

JAVA_OPTIONS = "-XX:TieredStopAtLevel=1 -XX:NewSize=24m -XX:NewRatio=5"
FEW_WORKERS = {"spark.python.factory.idleWorkerMaxPoolSize": "3"}
"""As many workers as are often busy at once; one more is forked when it is needed. Spark 4.2 knows it."""


def is_small(records_per_s: float) -> bool:
    """Tell whether so few records arrive that the stream should take little.

    >>> is_small(0.0)
    True
    """
    has_many = records_per_s >= MANY_RECORDS_PER_S
    log.info("stream.java", records_per_s=round(records_per_s, 1), compilers=2 if has_many else 1)
    return not has_many


def arriving_per_s(settings: KafkaSettings, now_ms: int) -> float:
    """Return how many records ``logdir.metrics`` got per second in the last ten minutes.

    Raises UserError if the telemetry cluster does not answer.
    """
    with consumer(settings) as client:
        try:
            partitions = partitions_of(client, topics.METRICS)
            return _records_since(client, partitions, now_ms - WINDOW_MS) / (WINDOW_MS / 1000)
        except KafkaError as error:
            raise unreachable(settings, error) from None


def _records_since(client: KafkaConsumer, partitions: list[TopicPartition], since_ms: int) -> int:
    first = client.offsets_for_times(dict.fromkeys(partitions, since_ms))
    ends = client.end_offsets(partitions)
    return sum(ends[part] - found.offset for part, found in first.items() if found is not None)
