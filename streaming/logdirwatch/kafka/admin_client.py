"""kafka-python's admin client, extended: it replaces a controller that has died, and guards replication factors."""

from typing import Any

from kafka import KafkaAdminClient, TopicPartition
from kafka.admin import ConfigSourceType
from kafka.errors import KafkaError, UnknownBrokerIdError, for_code
from kafka.protocol.admin import AlterPartitionReassignmentsRequest


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
