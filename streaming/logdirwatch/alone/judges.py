"""The stream's processors, called with the collector's records as they come."""

from collections.abc import Iterable, Iterator
from typing import Any

from logdirwatch.alone.handle import Handle, Key, Stored
from logdirwatch.collect.publish.buffer import Outgoing
from logdirwatch.detect.spark.judge import ShardJudge
from logdirwatch.fleet.judge import ClusterJudge
from logdirwatch.model import topics
from logdirwatch.model.records import AlertRecord
from logdirwatch.parse.records import Accepted, parse
from logdirwatch.settings import Settings

Written = tuple[str, bytes, bytes | None]
"""A record's topic, key and value."""


class Judges:
    """``detect`` and ``fleet`` with their state; offsets are counted here, as there is no topic."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._brokers: dict[Key, Stored] = {}
        self._clusters: dict[Key, Stored] = {}
        self._offset = 0

    def take(self, sent: Iterable[Outgoing], now_ms: int) -> list[Written]:
        """Judge records, and that time has passed; return the states and the revisions of alerts."""
        handle = Handle(self._brokers, now_ms)
        detect = ShardJudge(self._settings.detect, self._settings.default_cluster)
        grouped = self._grouped(((one.topic, one.key, one.value) for one in sent), now_ms, by_broker=True)
        written = [_encoded(*row) for row in handle.run(detect, grouped)]
        self._brokers = handle.states
        handle = Handle(self._clusters, now_ms)
        fleet = ClusterJudge(self._settings.fleet, self._settings.detect)
        grouped = self._grouped((one for one in written if one[0] == topics.STATE), now_ms, by_broker=False)
        written += [_encoded(*row) for row in handle.run(fleet, grouped)]
        self._clusters = handle.states
        return written

    def _grouped(self, records: Iterable[Written], now_ms: int, *, by_broker: bool) -> dict[Key, list[dict[str, Any]]]:
        """Return the rows of the records whose key is ``cluster/broker``, under the processor's key."""
        found: dict[Key, list[dict[str, Any]]] = {}
        for topic, key, value in records:
            cluster, _, broker = key.decode().rpartition("/")
            if not broker.isdecimal() or topic == topics.INVENTORY:
                continue
            self._offset += 1
            row = {"cluster": cluster, "broker": int(broker), "topic": topic, "partition": 0, "offset": self._offset}
            row |= {"timestamp_ms": now_ms, "key": key, "value": value}
            found.setdefault((cluster, int(broker)) if by_broker else (cluster,), []).append(row)
        return found


def _encoded(topic: str, key: str, value: str | None) -> Written:
    return topic, key.encode(), None if value is None else value.encode()


def alerts_of(written: Iterable[Written]) -> Iterator[AlertRecord]:
    """Yield the alerts among records."""
    for topic, key, value in written:
        found = parse(topic, key, value, 0, "") if topic == topics.ALERTS else None
        if isinstance(found, Accepted) and isinstance(found.record, AlertRecord):
            yield found.record
