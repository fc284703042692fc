"""A telemetry cluster that is scripted: topics as lists, and what was sent."""

from types import SimpleNamespace

import msgspec

from logdirwatch.model.records import DecisionRecord

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
        return iter([self._read(record) for record in self.topics[topic]])

    def follow(self, settings, topic, from_beginning):
        assert from_beginning
        yield from self.read_all(settings, topic)
        yield from [self._read(record) for record in self.later]
        raise KeyboardInterrupt

    def _read(self, record):
        timestamp_ms = record.at_ms if self.timestamp_ms is None else self.timestamp_ms
        return SimpleNamespace(key=b"k", value=msgspec.json.encode(record), timestamp=timestamp_ms)

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
