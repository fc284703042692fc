"""The journal: the progress of executions in a compacted topic, with one writer per cluster at a time."""

import contextlib
import threading
import zlib
from collections import Counter
from collections.abc import Iterator

import msgspec
from kafka.errors import InvalidProducerEpochError, KafkaError, ProducerFencedError

from logdirwatch.clock import monotonic_ms
from logdirwatch.errors import UserError
from logdirwatch.execute import changes
from logdirwatch.executions import BEAT_MS
from logdirwatch.kafka import clients
from logdirwatch.kafka.settings import KafkaSettings
from logdirwatch.model import topics
from logdirwatch.model.records import ExecutionRecord
from logdirwatch.parse.reading import LastByKey, RecordReader, Unreadable, logged
from logdirwatch.text.units import human_bytes

TRANSACTION_TIMEOUT_MS = 10_000
MOST_BYTES = (1 << 20) - 1024
"""How large a record may be, compressed: without the rest of its batch (Kafka's default of ``max.message.bytes``)."""
_MOST_SENT_BYTES = 1 << 23
"""The same before it is compressed."""


def read(telemetry: KafkaSettings, cluster: str, reader: RecordReader | None = None) -> list[ExecutionRecord]:
    """Return the last record of each execution on a cluster, in the order of the topic.

    Raises UserError when the topic is missing or does not answer, or when an execution of another release may run.
    """
    found = LastByKey(ExecutionRecord, reader or RecordReader(logged))
    for record in clients.read_all(telemetry, topics.EXECUTIONS, isolation_level="read_committed"):
        found.take(record)
    for unknown in found.other_releases.values():
        if unknown.cluster == cluster:
            raise UserError(f"nothing is done on cluster {cluster}: {unknown_execution(unknown)}")
    return [one for one in found.records.values() if one.cluster == cluster]


def unknown_execution(record: Unreadable) -> str:
    """Return in words that a record may be an execution of another release."""
    return (
        f"a record of {topics.EXECUTIONS} ({record.where}) may be of an execution that another release of logdirwatch "
        f"began ({record.reason}): end it with that release, or write a tombstone for its key"
    )


def reason_against(record: ExecutionRecord) -> str | None:
    """Return why an execution cannot be journaled to its end; None if it can."""
    size = len(zlib.compress(msgspec.json.encode(changes.longest(record))))
    if size <= MOST_BYTES:
        return None
    return (
        f"the plan is too large for one record of {topics.EXECUTIONS}: {human_bytes(size)}, compressed; Kafka takes "
        f"{human_bytes(MOST_BYTES)}. Nothing was changed; plan less at once: a larger --tolerance, or one directory"
    )


class FencedError(UserError):
    """Another process is executing on the cluster now."""


class Journal:
    """Writes records, each in its own transaction; opening it fences any other writer for the cluster.

    Several threads may write, one after the other.
    """

    def __init__(self, telemetry: KafkaSettings, cluster: str) -> None:
        """Open it; raises UserError when the telemetry cluster does not answer or refuses."""
        self._telemetry, self._opened_ms = telemetry, monotonic_ms()
        self._written_ms: dict[str, int] = {}
        self._lock = threading.Lock()
        self.lost: UserError | None = None
        """Why nothing can be written any more."""
        try:
            self._producer = clients.producer(
                telemetry,
                bootstrap_timeout_ms=clients.CONNECT_TIMEOUT_MS,
                transactional_id=f"logdirwatch-apply-{cluster}",
                transaction_timeout_ms=TRANSACTION_TIMEOUT_MS,
                max_block_ms=clients.SEND_TIMEOUT_S * 1000,
                compression_type="gzip",
                max_request_size=_MOST_SENT_BYTES,
            )
            self._producer.init_transactions()
        except KafkaError as error:
            raise clients.unreachable(telemetry, clients.unwritten(topics.EXECUTIONS, error)) from None

    def write(self, record: ExecutionRecord) -> None:
        """Write a record and return once it is committed.

        Raises UserError when it is not; then no call may follow.
        """
        with self._lock:
            self._written_ms[record.execution_id] = monotonic_ms()
            if self.lost is not None:
                raise type(self.lost)(str(self.lost))
            try:
                self._commit(record)
            except (ProducerFencedError, InvalidProducerEpochError):
                self.lost = FencedError(
                    f"another apply or autopilot took over cluster {record.cluster}; this process changes nothing more"
                )
                raise self.lost from None
            except KafkaError as error:
                failed = UserError(
                    f"the journal cannot be written, so nothing more is changed ({clients.one_line(error)}). "
                    f"What runs goes on; continue with: logdirwatch apply --resume {record.action_id}"
                )
                try:
                    self._producer.abort_transaction()
                except KafkaError:
                    self.lost = failed
                raise failed from None

    def _commit(self, record: ExecutionRecord) -> None:
        self._producer.begin_transaction()
        sent = self._producer.send(
            topics.EXECUTIONS, key=record.execution_id.encode(), value=msgspec.json.encode(record)
        )
        sent.get(timeout=clients.SEND_TIMEOUT_S)
        self._producer.commit_transaction()

    def beat(self, record: ExecutionRecord) -> None:
        """Write a record again if nothing was written for a while: its process lives, and is fenced by nobody.

        Raises FencedError; that it cannot be written stops no copy, and keeps the next call from being made.
        """
        silent_ms = monotonic_ms() - self._written_ms.get(record.execution_id, self._opened_ms)
        if self.lost is None and silent_ms < BEAT_MS:
            return
        try:
            self.write(record)
        except FencedError:
            raise
        except UserError:
            return

    def close(self) -> None:
        """Close the producer."""
        clients.discard(self._producer, 1)


class SharedJournal:
    """The journal of a cluster for all executions of this process: opened for the first, closed after the last.

    What is committed to it was decided on a complete reading: any other writer would have fenced it before.
    """

    def __init__(self, telemetry: KafkaSettings, cluster: str) -> None:
        self._telemetry, self._cluster = telemetry, cluster
        self._lock = threading.Lock()
        self._users = Counter[Journal]()
        self._journal: Journal | None = None

    @contextlib.contextmanager
    def opened(self) -> Iterator[Journal]:
        """Yield the journal, a new one if nothing can be written to the last one; raises like Journal."""
        with self._lock:
            if self._journal is None or self._journal.lost is not None:
                self._journal = Journal(self._telemetry, self._cluster)
            found = self._journal
            self._users[found] += 1
        try:
            yield found
        finally:
            with self._lock:
                self._users[found] -= 1
                if not self._users[found]:
                    del self._users[found]
                    self._journal = None if self._journal is found else self._journal
                    found.close()
