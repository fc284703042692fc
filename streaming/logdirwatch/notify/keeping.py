"""Monitors the topic of sent notifications: whether it exists and is still the same one."""

from collections.abc import Callable

import structlog
from kafka import KafkaConsumer, TopicPartition

from logdirwatch.kafka import clients
from logdirwatch.model import topics

log = structlog.get_logger(__name__)

CHECK_MS = 15_000
TOPIC = topics.NOTIFICATIONS


class Keeper:
    """Checks the topic periodically; logs once that it is missing, and has everything written again when it is back.

    A topic that was deleted and created again between two checks has fewer records than before.
    """

    def __init__(self, write_all: Callable[[], int]) -> None:
        """``write_all`` writes the state of every group and returns how many there are."""
        self._write_all = write_all
        self._is_gone = False
        self._end = 0
        self._looked_ms: int | None = None

    def begin(self, client: KafkaConsumer) -> bool:
        """Return whether the topic of sent notifications exists at the start."""
        self._is_gone = not clients.exists(client, TOPIC)
        if self._is_gone:
            _warn("notify.topic.missing", f"earlier notifications are unknown: {_AGAIN}; {_MAKE}")
        return not self._is_gone

    def look(self, client: KafkaConsumer, now_ms: int) -> None:
        """Check the topic if it is time to; raises KafkaError when the cluster does not answer."""
        if self._looked_ms is not None and now_ms - self._looked_ms < CHECK_MS:
            return
        self._looked_ms = now_ms
        if not clients.exists(client, TOPIC):
            if not self._is_gone:
                _warn("notify.topic.gone", f"notifications are not recorded: after a restart {_AGAIN}; {_MAKE}")
            self._is_gone, self._end = True, 0
            return
        end = self._records(client)
        if self._is_gone or end < self._end:
            _warn("notify.topic.recreated", "the notifications sent so far are written to it", groups=self._write_all())
        self._is_gone, self._end = False, end

    def _records(self, client: KafkaConsumer) -> int:
        partitions = [TopicPartition(TOPIC, number) for number in client.partitions_for_topic(TOPIC) or ()]
        return sum(client.end_offsets(partitions).values()) if partitions else 0


def _warn(event: str, meaning: str, **values: int) -> None:
    log.warning(event, topic=TOPIC, meaning=meaning, **values)


_AGAIN = "firing alerts are sent again"
_MAKE = "create the topic with: logdirwatch topics create"
