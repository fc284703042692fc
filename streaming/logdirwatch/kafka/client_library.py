"""What kafka-python lacks.

Its admin client is extended: it replaces a controller that has died, and guards replication factors. Its consumers get
records with headers whose names are not text, which brokers and Java's clients take: kafka-python refuses such a
record, so that no consumer ever gets past it. Headers mean nothing here and are left out.
"""

from typing import Any

from kafka import KafkaAdminClient, TopicPartition
from kafka.admin import ConfigSourceType
from kafka.errors import KafkaError, UnknownBrokerIdError, for_code
from kafka.protocol.admin import AlterPartitionReassignmentsRequest
from kafka.record.default_records import DefaultRecord, DefaultRecordBatch
from kafka.record.util import decode_varint


class AdminClient(KafkaAdminClient):  # type: ignore[misc]
    """Looks for the controller again after an error, and for brokers that it does not know.

    kafka-python 3.0.12 forgets a broker that is away, and asks for the brokers again only after five minutes or when a
    connection ends: until then a request to one that came back fails with UnknownBrokerIdError.

    kafka-python 3.0.12 keeps the first controller that it found until a broker denies being it. A dead one does not
    answer, and each later request fails with UnknownBrokerIdError. In KRaft mode it may be any broker, since brokers
    name a random live one (Kafka's ``KRaftMetadataCache.getRandomAliveBrokerId``).
    """

    def __init__(self, **configs: Any) -> None:
        super().__init__(**configs)
        send = self._manager.send

        def sent(*args: Any, **kwargs: Any) -> Any:
            try:
                return send(*args, **kwargs)
            except UnknownBrokerIdError:
                self._manager.cluster.request_update()
                raise

        self._manager.send = sent

    async def _send_request_to_controller(self, *args: Any, **kwargs: Any) -> Any:
        try:
            return await super()._send_request_to_controller(*args, **kwargs)
        except (KafkaError, OSError):
            self._controller_id = None
            raise

    @staticmethod
    def _get_config_source(config: Any, resource_type: Any) -> Any:
        """Return the source of a value in an answer: unknown, not an error, where a service names none (-1)."""
        try:
            return KafkaAdminClient._get_config_source(config, resource_type)  # noqa: SLF001
        except ValueError:
            return ConfigSourceType.UNKNOWN

    @property
    def broker_release(self) -> tuple[int, ...]:
        """The release of Kafka that the broker of the first connection runs."""
        return tuple(self._manager.broker_version)

    def alter_partition_reassignments(
        self, reassignments: Any, timeout_ms: int | None = None, *, allow_replication_factor_change: bool = True
    ) -> dict[TopicPartition, type[KafkaError] | None]:
        """Alter or cancel reassignments like kafka-python, whose request lacks KIP-860's guard.

        A broker before Kafka 4.1 has only version 0 of the request, which ends without the guard.
        """
        request = AlterPartitionReassignmentsRequest(
            timeout_ms=self._validate_timeout(timeout_ms),
            allow_replication_factor_change=allow_replication_factor_change,
            topics=self._process_alter_partition_reassignments_input(reassignments),
        )
        answer = self._manager.run(
            self._send_request_to_controller, request, lambda found: [for_code(found.error_code)]
        )
        return {
            TopicPartition(topic.name, one.partition_index): for_code(one.error_code) if one.error_code else None
            for topic in answer.responses
            for one in topic.partitions
        }


_read = DefaultRecordBatch._read_msg  # noqa: SLF001 - it has no other seam


def _read_any(batch: Any) -> Any:
    try:
        return _read(batch)
    except UnicodeDecodeError:
        return _without_headers(batch)


def _without_headers(batch: Any) -> DefaultRecord:
    """Read a record of message format 2 (KIP-98) up to its headers."""
    length, begin = decode_varint(batch._buffer, batch._pos)  # noqa: SLF001
    _, at = decode_varint(batch._buffer, begin)  # noqa: SLF001 - attributes, which have no meaning yet
    since_first_ms, at = decode_varint(batch._buffer, at)  # noqa: SLF001
    after_base, at = decode_varint(batch._buffer, at)  # noqa: SLF001
    key, at = _bytes(batch._buffer, at)  # noqa: SLF001
    value, _ = _bytes(batch._buffer, at)  # noqa: SLF001
    batch._pos = begin + length  # noqa: SLF001
    is_appended = batch.timestamp_type == batch.LOG_APPEND_TIME
    timestamp_ms = batch.max_timestamp if is_appended else batch.first_timestamp + since_first_ms
    return DefaultRecord(length, batch.base_offset + after_base, timestamp_ms, batch.timestamp_type, key, value, [])


def _bytes(buffer: Any, at: int) -> tuple[bytes | None, int]:
    size, at = decode_varint(buffer, at)
    return (None, at) if size < 0 else (bytes(buffer[at : at + size]), at + size)


def accept() -> None:
    """Let every consumer of this process read such records."""
    DefaultRecordBatch._read_msg = _read_any  # noqa: SLF001
