"""Reads alerts, decisions and, if it may, actions: everything once, then new records; the next step for each alert."""

from collections.abc import Iterable

from kafka import KafkaConsumer, TopicPartition
from kafka.consumer.fetcher import ConsumerRecord
from kafka.errors import TopicAuthorizationFailedError

from logdirwatch.decisions import DecisionIndex
from logdirwatch.kafka import clients
from logdirwatch.kafka.settings import KafkaSettings
from logdirwatch.kafka.unread import Unread
from logdirwatch.model import topics
from logdirwatch.model.records import ActionRecord, AlertRecord, NotificationRecord
from logdirwatch.model.vocabulary import OPEN, AlertStatus
from logdirwatch.notify.groups import Member
from logdirwatch.notify.heartbeats import Switch
from logdirwatch.parse.reading import LastByKey, RecordReader, logged
from logdirwatch.report.folding import LatestDecisions, Message, is_heartbeat, latest_actions, latest_alerts, message_of


class NextSteps:
    """The open actions of each alert, in their latest revision."""

    def __init__(self, reader: RecordReader | None = None) -> None:
        self._latest = latest_actions(reader)
        self._of_alert: dict[str, dict[str, ActionRecord]] = {}

    def take(self, message: Message) -> None:
        """Add one record of the action topic; a closed action is no longer a step."""
        action = self._latest.take(message)
        if action is None:
            return
        steps = self._of_alert.setdefault(action.alert_id, {})
        if action.status in OPEN:
            steps[action.action_id] = action
        else:
            steps.pop(action.action_id, None)
        if not steps:
            del self._of_alert[action.alert_id]

    def of(self, alert_id: str, now_ms: int) -> ActionRecord | None:
        """Return the first action of an alert that has no veto and has not expired."""
        possible = [
            action
            for action in self._of_alert.get(alert_id, {}).values()
            if not action.vetoes and action.expires_at_ms >= now_ms
        ]
        return min(possible, key=lambda action: (action.position or 0, action.at_ms, action.action_id), default=None)


TOPICS = (topics.ALERTS, topics.DECISIONS)
OPTIONAL = topics.ACTIONS
"""While this topic is missing or may not be read, the next step in a message is the first look of the runbook."""
POLL_MS = 500


class Reader:
    """The latest alerts, decisions and actions; heartbeats and canaries go to the switch. Not thread-safe."""

    def __init__(self, switch: Switch, longest_ms: int, skew_ms: int) -> None:
        self._switch = switch
        self._longest_ms = longest_ms
        self.records = RecordReader(logged)
        """Counts the records that could not be read."""
        self._alerts = latest_alerts(self.records)
        self._decisions = LatestDecisions(skew_ms, self.records)
        self._latest = DecisionIndex((), longest_ms)
        self._firing: dict[str, AlertRecord] = {}
        self._assigned: set[TopicPartition] = set()
        self._ends: dict[TopicPartition, int] | None = None
        self._steps = NextSteps(self.records)
        self._reads_steps = self._has_decided = False
        self._unread = Unread()

    def read_steps(self, *, is_there: bool) -> None:
        """Read the actions too from the next start on, if their topic is visible."""
        self._reads_steps = is_there

    def start(self, client: KafkaConsumer) -> None:
        """Start at the beginning of the topics; raises UserError when one does not exist, KafkaError otherwise."""
        partitions = self._partitions(client)
        begins, ends = client.beginning_offsets(partitions), client.end_offsets(partitions)
        client.assign(partitions)
        self._assigned = set(partitions)
        for part, offset in begins.items():
            client.seek(part, offset)
        self._ends = {part: end for part, end in ends.items() if end > begins[part]}
        self._unread.begin()

    def poll(self, client: KafkaConsumer, now_ms: int) -> bool:
        """Read records for half a second; return whether everything that was there at the start is read.

        Raises UserError when records wait and none is read.
        """
        if self._assigned != set(self._partitions(client)):
            self.start(client)  # a topic got more partitions
        try:
            polled = client.poll(timeout_ms=POLL_MS)
        except TopicAuthorizationFailedError:
            if not self._reads_steps:
                raise
            self._reads_steps = False
            self.start(client)
            return False
        for records in polled.values():
            for record in records:
                self._take(record, now_ms)
        if self._ends:
            self._ends = {part: end for part, end in self._ends.items() if client.position(part) < end}
        self._unread.check(client, self._assigned)
        if self._ends == {} and self._has_decided:
            # Not before: a topic that is read again begins with what was decided long ago.
            self._latest, self._has_decided = DecisionIndex(self._decisions.records, self._longest_ms), False
        return self._ends == {}

    def _partitions(self, client: KafkaConsumer) -> list[TopicPartition]:
        chosen = (*TOPICS, OPTIONAL) if self._reads_steps else TOPICS
        return [part for topic in chosen for part in clients.partitions_of(client, topic)]

    def alerts(self, known: Iterable[str]) -> list[AlertRecord]:
        """Return every firing alert, and those of ``known`` as they are now."""
        ended = (self._alerts.get(name) for name in known if name not in self._firing)
        return [*self._firing.values(), *(alert for alert in ended if alert is not None)]

    def member_of(self, alert: AlertRecord, now_ms: int) -> Member:
        """Return an alert with how it is handled now, and its next step."""
        decided = self._latest.about(alert, self._alerts.severities(alert.alert_id), now_ms)
        return Member(alert, decided, self._steps.of(alert.alert_id, now_ms))

    def _take(self, record: ConsumerRecord, now_ms: int) -> None:
        message = message_of(record)
        if record.topic == topics.DECISIONS:
            self._has_decided |= self._decisions.take(message) is not None
            return
        if record.topic == OPTIONAL:
            self._steps.take(message)
            return
        alert = self._alerts.take(message)
        if alert is None:
            if message.value is None:
                self._firing.pop((message.key or b"").decode(errors="replace"), None)
        elif is_heartbeat(alert):
            self._sign_of_life(alert, record, now_ms)
        elif alert.status is AlertStatus.FIRING:
            self._firing[alert.alert_id] = alert
        else:
            self._firing.pop(alert.alert_id, None)

    def _sign_of_life(self, sign: AlertRecord, record: ConsumerRecord, now_ms: int) -> None:
        was_there = (self._ends or {}).get(TopicPartition(record.topic, record.partition), 0)
        if record.offset < was_there:
            self._switch.history(sign)
        else:
            self._switch.hear(sign, now_ms)


def told_before(settings: KafkaSettings, reader: RecordReader | None = None) -> list[NotificationRecord]:
    """Return the last readable record of each group; raises UserError when the topic cannot be read.

    The alerts of a group whose records cannot be read are sent again.
    """
    told = LastByKey(NotificationRecord, reader or RecordReader(logged))
    for record in clients.read_all(settings, topics.NOTIFICATIONS):
        told.take(record)
    return list(told.records.values())
