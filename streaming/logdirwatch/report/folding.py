"""Records of a compacted topic reduced to the latest revision of each id."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Generic, TypeVar

from msgspec import Struct

from logdirwatch.decisions import Severities, dated
from logdirwatch.model import topics
from logdirwatch.model.identity import Origin
from logdirwatch.model.records import ActionRecord, AlertRecord, DecisionRecord
from logdirwatch.model.vocabulary import AlertStatus, Rule, Severity
from logdirwatch.parse.reading import KafkaRecord, RecordReader
from logdirwatch.parse.records import Deleted

R = TypeVar("R", bound=Struct)


@dataclass(frozen=True)
class Message:
    """A Kafka record's key and value, its timestamp and its position (-1: none); no value is a tombstone."""

    key: bytes | None
    value: bytes | None
    timestamp_ms: int = -1
    partition: int = -1
    offset: int = -1


def message_of(record: KafkaRecord) -> Message:
    """Return a record of kafka-python as a message."""
    return Message(record.key, record.value, record.timestamp, record.partition, record.offset)


class Latest(Generic[R]):
    """The latest revision of every id; ``reader`` counts the records that cannot be read.

    Revisions decide, not the order of arrival: the fast lane's revision 0 counts until a stateful one is known, and a
    record repeated after a crash is ignored. A tombstone removes its id for good.
    """

    def __init__(
        self, topic: str, kind: type[R], identify: Callable[[R], tuple[str, int]], reader: RecordReader | None
    ) -> None:
        self.topic, self._kind = topic, kind
        self.reader = reader or RecordReader()
        self._identify = identify
        self._latest: dict[str, R] = {}
        self._gone: set[str] = set()

    def take(self, message: Message) -> R | None:
        """Add one record; return it if it is new."""
        origin = Origin(self.topic, message.partition, message.offset, message.timestamp_ms)
        found = self.reader.read(origin, message.key, message.value)
        if isinstance(found, Deleted):
            self._forget(found.key)
        if not isinstance(found, self._kind):
            return None
        record = self._understood(found, message)
        name, _ = self._identify(record)
        known = self._latest.get(name)
        if name in self._gone or (known is not None and not self._is_newer(record, known)):
            return None
        self._keep(name, record)
        return record

    def _is_newer(self, record: R, known: R) -> bool:
        return self._identify(record)[1] > self._identify(known)[1]

    def _keep(self, name: str, record: R) -> None:
        self._latest[name] = record

    def take_all(self, messages: Iterable[Message]) -> Iterator[R]:
        """Add records and yield those that are new."""
        return (record for record in map(self.take, messages) if record is not None)

    @property
    def records(self) -> list[R]:
        """The latest record of each id."""
        return list(self._latest.values())

    def get(self, name: str) -> R | None:
        """Return the latest record of one id."""
        return self._latest.get(name)

    @property
    def unreadable(self) -> int:
        """The number of records that could not be read."""
        return self.reader.unreadable[self.topic]

    @property
    def summary(self) -> str | None:
        """The number of records that could not be read, with the reason, as text; None if there are none."""
        return self.reader.summary(self.topic)

    def _understood(self, record: R, _: Message) -> R:
        return record

    def _forget(self, name: str) -> None:
        self._gone.add(name)
        self._latest.pop(name, None)


class LatestAlerts(Latest[AlertRecord]):
    """The latest revision of every alert, and the severities of the firing ones."""

    def __init__(self, reader: RecordReader | None = None) -> None:
        super().__init__(topics.ALERTS, AlertRecord, lambda alert: (alert.alert_id, alert.revision), reader)
        self._severities: dict[str, list[tuple[int, Severity]]] = {}

    def take(self, message: Message) -> AlertRecord | None:
        """Add one record; return it if it is new."""
        alert = super().take(message)
        if alert is not None and alert.status is AlertStatus.RESOLVED:
            self._severities.pop(alert.alert_id, None)
        elif alert is not None:
            spoken = self._severities.setdefault(alert.alert_id, [])
            if not spoken or spoken[-1][1] is not alert.severity:
                spoken.append((alert.revision, alert.severity))
        return alert

    def severities(self, alert_id: str) -> Severities:
        """Return the severities that an alert has had while firing, each with its first revision."""
        return self._severities.get(alert_id, ())


def latest(alerts: Iterable[AlertRecord]) -> list[AlertRecord]:
    """Return the latest revision of every alert, wherever it was read."""
    found: dict[str, AlertRecord] = {}
    for alert in alerts:
        known = found.setdefault(alert.alert_id, alert)
        if alert.revision > known.revision:
            found[alert.alert_id] = alert
    return list(found.values())


def latest_alerts(reader: RecordReader | None = None) -> LatestAlerts:
    """Return an empty fold of ``logdir.alerts``."""
    return LatestAlerts(reader)


class LatestDecisions(Latest[DecisionRecord]):
    """The latest decision of each kind about each target, in the order of the topic.

    The order decides, since the clocks of those who decide differ; ``skew_ms`` is how far one may be ahead of Kafka's.
    """

    def __init__(self, skew_ms: int, reader: RecordReader | None = None) -> None:
        super().__init__(topics.DECISIONS, DecisionRecord, _decided_when, reader)
        self._skew_ms = skew_ms

    def _is_newer(self, record: DecisionRecord, known: DecisionRecord) -> bool:
        if record == known:
            # Said again, it is no news, and the last word all the same: another one may have come in between.
            self._keep(self._identify(record)[0], record)
        return record != known

    def _keep(self, name: str, record: DecisionRecord) -> None:
        self._latest.pop(name, None)
        super()._keep(name, record)

    def _understood(self, record: DecisionRecord, message: Message) -> DecisionRecord:
        return dated(record, message.timestamp_ms, self._skew_ms)


def _decided_when(decision: DecisionRecord) -> tuple[str, int]:
    return f"{decision.decision}/{decision.id}", decision.at_ms


def latest_actions(reader: RecordReader | None = None) -> Latest[ActionRecord]:
    """Return an empty fold of ``logdir.actions``."""
    return Latest(topics.ACTIONS, ActionRecord, lambda action: (action.action_id, action.revision), reader)


def is_heartbeat(alert: AlertRecord) -> bool:
    """Tell whether a record on the alert topic is a sign of life, not an alert."""
    return alert.rule is Rule.HEARTBEAT
