"""The first and the next offset of every partition of some topics of the telemetry cluster."""

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from typing import Any

import structlog
from kafka import TopicPartition
from kafka.errors import KafkaError

from logdirwatch.errors import UserError
from logdirwatch.kafka import clients
from logdirwatch.kafka.clients import one_line
from logdirwatch.kafka.settings import KafkaSettings
from logdirwatch.pipeline.meter import Bounds, Partition

log = structlog.get_logger(__name__)

ANSWER_TIMEOUT_MS = 5_000


class KafkaBounds:
    """Asks over one connection, which is renewed after an error."""

    def __init__(self, settings: KafkaSettings, names: Sequence[str]) -> None:
        self._settings, self._names = settings, names
        self._held = ExitStack()
        self._client: Any = None

    def __call__(self) -> Bounds | None:
        """Return the offsets; None if the cluster does not answer."""
        try:
            return self._asked()
        except (KafkaError, UserError, OSError) as error:
            log.info("pipeline.no_offsets", error=one_line(error))
            self.close()
            return None

    def close(self) -> None:
        """Close the connection."""
        self._client = None
        self._held.close()

    def _asked(self) -> Bounds:
        if self._client is None:
            self._client = self._held.enter_context(clients.consumer(self._settings))
        partitions = [
            TopicPartition(name, number)
            for name in self._names
            for number in self._client.partitions_for_topic(name) or ()
        ]
        ends = self._client.end_offsets(partitions, timeout_ms=ANSWER_TIMEOUT_MS)
        begins = self._client.beginning_offsets(partitions, timeout_ms=ANSWER_TIMEOUT_MS)
        return Bounds(_plain(begins), _plain(ends))


def _plain(offsets: Mapping[Any, int]) -> dict[Partition, int]:
    return {(part.topic, part.partition): offset for part, offset in offsets.items()}
