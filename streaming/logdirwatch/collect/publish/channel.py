"""The producer for the telemetry cluster: sends one batch at a time and reports the result of every record."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from kafka import KafkaProducer
from kafka.errors import (
    KafkaError,
    KafkaTimeoutError,
    MessageSizeTooLargeError,
    RecordListTooLargeError,
    TopicAuthorizationFailedError,
)

from logdirwatch.collect.publish.buffer import Outgoing
from logdirwatch.kafka import clients
from logdirwatch.kafka.settings import KafkaSettings

CONNECT_TIMEOUT_MS = 5_000
REQUEST_TIMEOUT_MS = 5_000
DELIVERY_TIMEOUT_MS = 8_000
METADATA_TIMEOUT_MS = 3_000
ANSWER_GRACE_S = 2.0
CLOSE_TIMEOUT_S = 1.0
NO_PARTITIONS = "no partitions of topic"
REFUSED = (MessageSizeTooLargeError, RecordListTooLargeError)


@dataclass
class Delivery:
    """The result of one batch: records ``failed`` may be sent again, those ``refused`` will never be accepted.

    Nothing can be sent to topics that are ``shut``, and nothing at all if it is not ``connected``.
    """

    delivered: list[Outgoing] = field(default_factory=list)
    failed: list[Outgoing] = field(default_factory=list)
    refused: list[Outgoing] = field(default_factory=list)
    shut: set[str] = field(default_factory=set)
    error: str | None = None
    connected: bool = True


class Channel:
    """One connection to the telemetry cluster; after an error it is closed and replaced.

    Raises KafkaError or OSError when the cluster does not answer.
    """

    def __init__(self, settings: KafkaSettings) -> None:
        self._producer: KafkaProducer = clients.producer(
            settings,
            bootstrap_timeout_ms=CONNECT_TIMEOUT_MS,
            request_timeout_ms=REQUEST_TIMEOUT_MS,
            delivery_timeout_ms=DELIVERY_TIMEOUT_MS,
            max_block_ms=METADATA_TIMEOUT_MS,
            # An idempotent producer that was refused one topic then fails for all others. One request at a time
            # keeps the order; what is sent twice changes nothing.
            enable_idempotence=False,
            max_in_flight_requests_per_connection=1,
        )

    def send(self, batch: Sequence[Outgoing]) -> Delivery:
        """Send ``batch`` and wait until every record is acknowledged or has failed."""
        delivery = Delivery()
        attempts = self._start(batch, delivery.shut)
        deadline = time.monotonic() + DELIVERY_TIMEOUT_MS / 1000 + ANSWER_GRACE_S
        for record, attempt in attempts:
            error = attempt if isinstance(attempt, Exception) else _outcome(attempt, deadline)
            _note(delivery, record, error)
        return delivery

    def _start(self, batch: Sequence[Outgoing], shut: set[str]) -> list[tuple[Outgoing, Any]]:
        """Pass the records to the producer; a topic that accepts none is waited for once, not for each record."""
        attempts: list[tuple[Outgoing, Any]] = []
        blocked: dict[str, Exception] = {}
        for record in batch:
            attempt = blocked.get(record.topic) or self._handed_over(record)
            if isinstance(attempt, Exception) and not isinstance(attempt, REFUSED):
                blocked[record.topic] = attempt
            attempts.append((record, attempt))
        shut.update(blocked)
        return attempts

    def _handed_over(self, record: Outgoing) -> Any:
        """Return the future of the result, or an error that is known already."""
        try:
            attempt = self._producer.send(record.topic, key=record.key, value=record.value)
        except (KafkaError, OSError) as error:
            return error
        return attempt.exception if attempt.failed() else attempt

    def close(self) -> None:
        """Close the producer within a second, sent or not."""
        clients.discard(self._producer, CLOSE_TIMEOUT_S)


def _outcome(future: Any, deadline: float) -> Exception | None:
    try:
        future.get(timeout=max(0.0, deadline - time.monotonic()))
    except (KafkaError, OSError) as error:
        return error
    return None


def _note(delivery: Delivery, record: Outgoing, error: Exception | None) -> None:
    if error is None:
        delivery.delivered.append(record)
    elif isinstance(error, REFUSED):
        delivery.refused.append(record)
    else:
        delivery.failed.append(record)
        if isinstance(error, TopicAuthorizationFailedError):
            delivery.shut.add(record.topic)
        delivery.error = delivery.error or _reason(record, error)


def _reason(record: Outgoing, error: Exception) -> str:
    text = clients.one_line(clients.unwritten(record.topic, error))
    if isinstance(error, KafkaTimeoutError) and "metadata" in text:
        return f"{NO_PARTITIONS} {record.topic} (logdirwatch topics create makes it): {text}"
    return text
