"""The telemetry topics as the autopilot reads them: repeatedly to their end."""

import time
from collections.abc import Mapping, Sequence

from kafka import KafkaConsumer
from kafka.consumer.fetcher import ConsumerRecord

from logdirwatch.decisions import holds, maintenances
from logdirwatch.errors import UserError
from logdirwatch.execute.need import Shown, passed_ms
from logdirwatch.kafka import clients
from logdirwatch.model import topics
from logdirwatch.model.records import ActionRecord, DecisionRecord, ExecutionRecord
from logdirwatch.model.vocabulary import Decision
from logdirwatch.parse.reading import LastByKey, RecordReader, Unreadable, logged
from logdirwatch.report.folding import LatestDecisions, latest_actions, latest_alerts, message_of

TOPICS = (topics.ACTIONS, topics.DECISIONS, topics.EXECUTIONS, topics.ALERTS)
POLL_MS = 200
ANSWER_S = 10.0
_OF_ACTIONS = frozenset({Decision.ACCEPT, Decision.REJECT})


class Feed:
    """Actions, decisions on them, pauses, executions and alerts, as of the last :meth:`catch_up`."""

    def __init__(
        self, client: KafkaConsumer, skew_ms: int, reader: RecordReader | None = None, names: Sequence[str] = TOPICS
    ) -> None:
        """Start at the beginning; raises UserError when a topic is missing, KafkaError without an answer."""
        self._client = client
        reader = reader or RecordReader(logged)
        self._actions = latest_actions(reader)
        self._decisions = LatestDecisions(skew_ms, reader)
        self._executions = LastByKey(ExecutionRecord, reader)
        self._alerts = latest_alerts(reader)
        self._passed_ms: dict[str, int] = {}
        self._partitions = [part for topic in names for part in clients.partitions_of(client, topic)]
        client.assign(self._partitions)
        client.seek_to_beginning()

    def catch_up(self) -> None:
        """Read everything written before this call; raises UserError or KafkaError when that fails."""
        ends = self._client.end_offsets(self._partitions)
        until_s = time.monotonic() + ANSWER_S
        while any(self._client.position(part) < end for part, end in ends.items()):
            for records in self._client.poll(timeout_ms=POLL_MS).values():
                until_s = time.monotonic() + ANSWER_S
                for record in records:
                    self._take(record)
            if time.monotonic() > until_s:
                raise UserError("the telemetry topics do not answer")

    @property
    def actions(self) -> list[ActionRecord]:
        """The newest revision of each action."""
        return self._actions.records

    @property
    def executions(self) -> list[ExecutionRecord]:
        """The last record of each execution, in the order of the topic."""
        return list(self._executions.records.values())

    @property
    def unknown_executions(self) -> Mapping[str, Unreadable]:
        """By cluster: a record that may be an execution of another release, which may be running."""
        return {str(one.cluster): one for one in self._executions.other_releases.values()}

    def said(self) -> Mapping[str, DecisionRecord]:
        """Return the last acceptance or rejection of each action."""
        return {one.id: one for one in self._decisions.records if one.decision in _OF_ACTIONS}

    def shown(self) -> Shown:
        """Return the alerts, and when samples last passed the stream."""
        return Shown({one.alert_id: one for one in self._alerts.records}, dict(self._passed_ms))

    def pauses(self, longest_ms: int, now_ms: int) -> Mapping[str, DecisionRecord]:
        """Return the active pause of each cluster."""
        found = (one for one in self._decisions.records if one.decision is Decision.PAUSE)
        return {str(one.cluster): one for one in found if holds(one, longest_ms, now_ms)}

    def maintenance(self, longest_ms: int, now_ms: int) -> list[DecisionRecord]:
        """Return the active maintenance of each broker."""
        return maintenances(self._decisions.records, longest_ms, now_ms)

    def _take(self, record: ConsumerRecord) -> None:
        if record.topic == topics.ACTIONS:
            self._actions.take(message_of(record))
        elif record.topic == topics.DECISIONS:
            self._decisions.take(message_of(record))
        elif record.topic == topics.ALERTS:
            self._take_alert(record)
        else:
            self._executions.take(record)

    def _take_alert(self, record: ConsumerRecord) -> None:
        alert = self._alerts.take(message_of(record))
        if alert is not None and (at_ms := passed_ms(alert, record.timestamp)) is not None:
            self._passed_ms[alert.cluster] = max(at_ms, self._passed_ms.get(alert.cluster, at_ms))
