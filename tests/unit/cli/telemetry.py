"""A telemetry cluster that is scripted: topics as lists, and what was sent."""

from types import SimpleNamespace

import msgspec

from logdirwatch.model.records import DecisionRecord
from tests.support.kafka_records import kafka_record

TOPICS = ("logdir.alerts", "logdir.actions", "logdir.decisions")


class Telemetry:
    """Following a topic ends, as with Ctrl-C, when the list does; what is sent can be read.

    ``timestamp_ms`` is what Kafka says of every record; None: the record's own time.
    """

    def __init__(self):
        self.topics = {name: [] for name in TOPICS}
        self.later = []
        self.timestamp_ms = None
        self.sent = []

    def read_all(self, settings, topic):
        return iter([self._read(topic, offset, record) for offset, record in enumerate(self.topics[topic])])

    def follow(self, settings, topic):
        yield from self.read_all(settings, topic)
        known = len(self.topics[topic])
        yield from [self._read(topic, offset, record) for offset, record in enumerate(self.later, known)]
        raise KeyboardInterrupt

    def _read(self, topic, offset, record):
        timestamp_ms = getattr(record, "at_ms", -1) if self.timestamp_ms is None else self.timestamp_ms
        value = record if isinstance(record, bytes) else msgspec.json.encode(record)
        return kafka_record(topic, b"k", value, offset, timestamp_ms)

    def producer(self, settings, **arguments):
        return self

    def send(self, topic, key, value):
        self.sent.append((topic, key, value))
        if topic == "logdir.decisions":
            self.topics[topic].append(msgspec.json.decode(value, type=DecisionRecord))
        return SimpleNamespace(get=lambda timeout: None)

    def close(self, timeout):
        pass

    @property
    def decided(self):
        """The decisions that were sent."""
        return [msgspec.json.decode(value, type=DecisionRecord) for _, _, value in self.sent]
