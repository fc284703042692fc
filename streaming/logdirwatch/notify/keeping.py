"""Watches the topic that keeps what was told: whether it is there, and still the same one."""

from collections.abc import Callable

import structlog
from kafka import KafkaConsumer, TopicPartition

from logdirwatch.kafka import clients
from logdirwatch.model import topics

log = structlog.get_logger(__name__)

CHECK_MS = 15_000
TOPIC = topics.NOTIFICATIONS


class Keeper:
    """Looks at the topic now and then; says once that it is gone, and has all written anew when it is back.

    A topic that was deleted and made again between two looks has fewer records than before.
    """

    def __init__(self, write_all: Callable[[], int]) -> None:
        """``write_all`` writes what is known of every group and returns how many there are."""
        self._write_all = write_all
        self._is_gone = False
        self._end = 0
        self._looked_ms: int | None = None

    def begin(self, client: KafkaConsumer) -> bool:
        """Tell at the start whether there is anything to read what was told from."""
        self._is_gone = not clients.exists(client, TOPIC)
        if self._is_gone:
            log.warning(f"topic {TOPIC} does not exist: nobody knows what was told before, so {_AGAIN}; {_MAKE}")
        return not self._is_gone

    def look(self, client: KafkaConsumer, now_ms: int) -> None:
        """Look at the topic if it is time to; raises KafkaError when nobody answers."""
        if self._looked_ms is not None and 0 <= now_ms - self._looked_ms < CHECK_MS:
            return
        self._looked_ms = now_ms
        if not clients.exists(client, TOPIC):
            if not self._is_gone:
                log.warning(f"topic {TOPIC} is gone: what was told is not kept, and after a restart {_AGAIN}; {_MAKE}")
            self._is_gone, self._end = True, 0
            return
        end = self._records(client)
        if self._is_gone or end < self._end:
            log.warning(f"topic {TOPIC} is new: what was told is written to it", groups=self._write_all())
        self._is_gone, self._end = False, end

    def _records(self, client: KafkaConsumer) -> int:
        partitions = [TopicPartition(TOPIC, number) for number in client.partitions_for_topic(TOPIC) or ()]
        return sum(client.end_offsets(partitions).values()) if partitions else 0


_AGAIN = "what still fires is told again"
_MAKE = "make the topic with: logdirwatch topics create"
