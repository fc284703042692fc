"""Records of a compacted topic reduced to the latest revision of each id."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Generic, TypeVar

import msgspec
from msgspec import Struct

from logdirwatch.decisions import Severities, dated
from logdirwatch.model.records import ActionRecord, AlertRecord, DecisionRecord
from logdirwatch.model.vocabulary import AlertStatus, Rule, Severity

R = TypeVar("R", bound=Struct)


@dataclass(frozen=True)
class Message:
    """A Kafka record's key and value, and its timestamp (-1: none); no value is a tombstone."""

    key: bytes | None
    value: bytes | None
    timestamp_ms: int = -1


class Latest(Generic[R]):
    """The latest revision of every id, and the number of records that could not be read.

    Revisions decide, not the order of arrival: the fast lane's revision 0 counts until a stateful one is known, and a
    record repeated after a crash is ignored. A tombstone removes its id for good.
    """

    def __init__(self, kind: type[R], identify: Callable[[R], tuple[str, int]]) -> None:
        self._decoder = msgspec.json.Decoder(kind)
        self._identify = identify
        self._latest: dict[str, R] = {}
        self._gone: set[str] = set()
        self.unreadable = 0

    def take(self, message: Message) -> R | None:
        """Add one record; return it if it is new."""
        if message.value is None:
            self._forget((message.key or b"").decode(errors="replace"))
            return None
        try:
            record = self._decoded(message)
        except msgspec.MsgspecError:
            self.unreadable += 1
            return None
        name, revision = self._identify(record)
        known = self._latest.get(name)
        if name in self._gone or (known is not None and self._identify(known)[1] >= revision):
            return None
        self._latest[name] = record
        return record

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

    def _decoded(self, message: Message) -> R:
        return self._decoder.decode(message.value or b"")

    def _forget(self, name: str) -> None:
        self._gone.add(name)
        self._latest.pop(name, None)


class LatestAlerts(Latest[AlertRecord]):
    """The latest revision of every alert, and the severities of the firing ones."""

    def __init__(self) -> None:
        super().__init__(AlertRecord, lambda alert: (alert.alert_id, alert.revision))
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


def latest_alerts() -> LatestAlerts:
    """Return an empty fold of ``logdir.alerts``."""
    return LatestAlerts()


class LatestDecisions(Latest[DecisionRecord]):
    """The latest decision of each kind about each target, by clocks that are at most ``skew_ms`` ahead of Kafka's."""

    def __init__(self, skew_ms: int) -> None:
        super().__init__(DecisionRecord, lambda decision: (f"{decision.decision}/{decision.id}", decision.at_ms))
        self._skew_ms = skew_ms

    def _decoded(self, message: Message) -> DecisionRecord:
        return dated(super()._decoded(message), message.timestamp_ms, self._skew_ms)


def latest_actions() -> Latest[ActionRecord]:
    """Return an empty fold of ``logdir.actions``."""
    return Latest(ActionRecord, lambda action: (action.action_id, action.revision))


def is_heartbeat(alert: AlertRecord) -> bool:
    """Tell whether a record on the alert topic is a sign of life, not an alert."""
    return alert.rule is Rule.HEARTBEAT
