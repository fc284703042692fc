"""The alert topic followed in the background, for a page that stays open."""

import threading
import time

import structlog

from logdirwatch.errors import UserError
from logdirwatch.kafka import clients
from logdirwatch.kafka.settings import KafkaSettings
from logdirwatch.model import topics
from logdirwatch.model.records import AlertRecord
from logdirwatch.parse.reading import KafkaRecord, RecordReader, logged
from logdirwatch.report.folding import latest_alerts, message_of

log = structlog.get_logger(__name__)
RETRY_S = 5.0


class LiveAlerts:
    """The latest revision of every alert and heartbeat; None until the topic was read to its end once.

    When the telemetry cluster fails later, heartbeats become old.
    """

    def __init__(self, cluster: KafkaSettings) -> None:
        self._cluster = cluster
        self.records = RecordReader(logged)
        """Counts the records that could not be read."""
        self._fold = latest_alerts(self.records)
        self._lock = threading.Lock()
        self._is_read = self._is_told = False

    def start(self) -> None:
        """Follow the topic for as long as the process lives."""
        threading.Thread(target=self._run, name="live-alerts", daemon=True).start()

    def alerts(self) -> list[AlertRecord] | None:
        """Return the latest known revisions."""
        with self._lock:
            return self._fold.records if self._is_read else None

    def follow(self) -> None:
        """Read the topic to its end and follow it; raises UserError when the telemetry cluster does not answer."""
        for record in clients.read_all(self._cluster, topics.ALERTS):
            self._take(record)
        with self._lock:
            self._is_read = True
        self._is_told = False
        for record in clients.follow(self._cluster, topics.ALERTS, from_beginning=True):
            self._take(record)

    def _run(self) -> None:
        while True:
            try:
                self.follow()
            except UserError as error:
                if not self._is_told:
                    log.warning("console.no_heartbeats", error=str(error))
                self._is_told = True
            time.sleep(RETRY_S)

    def _take(self, record: KafkaRecord) -> None:
        with self._lock:
            self._fold.take(message_of(record))
