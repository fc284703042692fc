"""Records as kafka-python returns them, and topics of one partition that the clients of this process read."""

from types import SimpleNamespace

from kafka import TopicPartition

from logdirwatch.kafka import clients


def kafka_record(topic, key, value, offset=0, timestamp=-1, partition=0):
    return SimpleNamespace(topic=topic, partition=partition, offset=offset, timestamp=timestamp, key=key, value=value)


class Topics:
    """Takes the place of ``read_all``, ``follow`` and of a consumer; every topic has one partition."""

    def __init__(self, monkeypatch):
        self._records = {}
        self._positions = {}
        monkeypatch.setattr(clients, "read_all", lambda settings, topic, **_: iter(self.of(topic)))
        monkeypatch.setattr(clients, "follow", lambda settings, topic: iter(self.of(topic)))
        monkeypatch.setattr(clients, "partitions_of", lambda client, topic: [TopicPartition(topic, 0)])

    def clear(self):
        self._records, self._positions = {}, {}

    def of(self, topic):
        return list(self._records.get(topic, ()))

    def write(self, topic, key, value, timestamp=-1):
        records = self._records.setdefault(topic, [])
        records.append(kafka_record(topic, key, value, len(records), timestamp))

    def beginning_offsets(self, partitions):
        return dict.fromkeys(partitions, 0)

    def end_offsets(self, partitions, timeout_ms=None):
        return {part: len(self.of(part.topic)) for part in partitions}

    def assign(self, partitions):
        self._positions = dict.fromkeys(partitions, 0)

    def seek(self, part, offset):
        self._positions[part] = offset

    def seek_to_beginning(self):
        self._positions = dict.fromkeys(self._positions, 0)

    def position(self, part):
        return self._positions[part]

    def poll(self, timeout_ms):
        found = {part: self.of(part.topic)[at:] for part, at in self._positions.items()}
        self._positions = self.end_offsets(self._positions)
        return found
