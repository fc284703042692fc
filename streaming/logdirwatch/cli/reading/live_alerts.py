"""The topics of alerts and decisions followed in the background, for a page that stays open."""

import threading
import time
from collections.abc import Callable, Iterable
from typing import Any

import structlog

from logdirwatch.decisions import Severities
from logdirwatch.errors import UserError
from logdirwatch.kafka import clients
from logdirwatch.kafka.settings import KafkaSettings
from logdirwatch.model.records import AlertRecord, DecisionRecord
from logdirwatch.parse.reading import KafkaRecord, RecordReader, logged
from logdirwatch.report.folding import Latest, LatestAlerts, LatestDecisions, message_of
from logdirwatch.report.handling import Handling

log = structlog.get_logger(__name__)
RETRY_S = 5.0
MakeHandling = Callable[[Iterable[DecisionRecord], Callable[[str], Severities]], Handling]


class LiveAlerts:
    """The latest revision of every alert and heartbeat, and how alerts are handled.

    None until their topic was read to its end once. When the telemetry cluster fails later, heartbeats become old.
    """

    def __init__(self, cluster: KafkaSettings, skew_ms: int, make: MakeHandling) -> None:
        """``skew_ms`` is how far the clock of somebody who decides may be ahead, ``make`` bounds the decisions."""
        self._cluster, self._make = cluster, make
        self.records = RecordReader(logged)
        """Counts the records that could not be read."""
        self._alerts, self._decisions = LatestAlerts(self.records), LatestDecisions(skew_ms, self.records)
        self._lock = threading.Lock()
        self._read: set[str] = set()

    def start(self) -> None:
        """Follow the topics for as long as the process lives."""
        for fold in (self._alerts, self._decisions):
            threading.Thread(target=self._run, args=(fold,), name=f"live-{fold.topic}", daemon=True).start()

    def alerts(self) -> list[AlertRecord] | None:
        """Return the latest known revisions."""
        with self._lock:
            return self._alerts.records if self._alerts.topic in self._read else None

    def handling(self) -> Handling | None:
        """Return how alerts are handled."""
        with self._lock:
            if not {self._alerts.topic, self._decisions.topic} <= self._read:
                return None
            return self._make(self._decisions.records, self._alerts.severities)

    def follow(self, fold: Latest[Any]) -> None:
        """Read a topic to its end and follow it; raises UserError when the telemetry cluster does not answer."""
        for record in clients.read_all(self._cluster, fold.topic):
            self._take(fold, record)
        with self._lock:
            self._read.add(fold.topic)
        for record in clients.follow(self._cluster, fold.topic):
            self._take(fold, record)

    def _run(self, fold: Latest[Any]) -> None:
        told: str | None = None
        while True:
            try:
                self.follow(fold)
            except UserError as error:
                if told != str(error):
                    log.warning("console.not_followed", topic=fold.topic, error=str(error))
                told = str(error)
            time.sleep(RETRY_S)

    def _take(self, fold: Latest[Any], record: KafkaRecord) -> None:
        with self._lock:
            fold.take(message_of(record))
