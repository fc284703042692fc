"""Every record that ever lay in the telemetry topics, also those that were deleted with their topic."""

from collections import defaultdict
from collections.abc import Iterable

from kafka import TopicPartition
from kafka.consumer.fetcher import ConsumerRecord

from logdirwatch.kafka.clients import consumer, partitions_of
from logdirwatch.kafka.settings import KafkaSettings

FOREIGN = b"foreign/"
"""How the keys of the records begin that no part of the product wrote, and none can read."""

POLL_MS = 200


def is_foreign(key: bytes | None) -> bool:
    """Tell whether a record is one that nobody can read."""
    return key is not None and key.startswith(FOREIGN)


class Archive:
    """Reads on where it stopped, topic by topic; forgets nothing."""

    def __init__(self, telemetry: KafkaSettings) -> None:
        self._telemetry = telemetry
        self._records: dict[str, list[ConsumerRecord]] = defaultdict(list)
        self._next: dict[TopicPartition, int] = {}
        self.lost: set[int] = set()
        """The identities of the records that nobody could read, since they were deleted before."""

    def records(self, topic: str) -> list[ConsumerRecord]:
        """Return every record that ever lay in a topic, up to its end as of this call."""
        with consumer(self._telemetry, auto_offset_reset="earliest") as client:
            parts = partitions_of(client, topic)
            begins, ends = client.beginning_offsets(parts), client.end_offsets(parts)
            here = {part: max(self._next.get(part, 0), begins[part]) for part in parts}
            client.assign(parts)
            for part, offset in here.items():
                client.seek(part, offset)
            while any(client.position(part) < ends[part] for part in parts):
                for found in client.poll(timeout_ms=POLL_MS).values():
                    self._take(topic, found)
            self._next |= {part: client.position(part) for part in parts}
        return self._records[topic]

    def ours(self, topic: str) -> list[ConsumerRecord]:
        """Return the records of a topic that a part of the product wrote, or the history, and that could be read."""
        return [record for record in self.records(topic) if not is_foreign(record.key) and id(record) not in self.lost]

    def foreign(self, topic: str) -> int:
        """Return how many records that nobody can read lay in a topic long enough to be found."""
        return sum(is_foreign(record.key) and id(record) not in self.lost for record in self.records(topic))

    def begins_again(self, topic: str) -> None:
        """Read a topic from its beginning: it was deleted and made again."""
        self._next = {part: at for part, at in self._next.items() if part.topic != topic}

    def ends(self, topic: str) -> dict[int, int]:
        """Return the next offset of each partition, as far as the topic was read."""
        return {part.partition: at for part, at in self._next.items() if part.topic == topic}

    def _take(self, topic: str, found: Iterable[ConsumerRecord]) -> None:
        # One that a failed attempt read already is not taken twice.
        for record in found:
            part = TopicPartition(record.topic, record.partition)
            if record.offset >= self._next.get(part, 0):
                self._records[topic].append(record)
                self._next[part] = record.offset + 1
