"""kafka-python's admin client, extended to replace a controller that has died."""

from typing import Any

from kafka import KafkaAdminClient
from kafka.errors import KafkaError


class AdminClient(KafkaAdminClient):  # type: ignore[misc]
    """Looks for the controller again after an error.

    kafka-python 3.0.12 keeps the first controller that it found until a broker denies being it. A dead one does not
    answer, and each later request fails with UnknownBrokerIdError. In KRaft mode it may be any broker, since brokers
    name a random live one (Kafka's ``KRaftMetadataCache.getRandomAliveBrokerId``).
    """

    async def _send_request_to_controller(self, *args: Any, **kwargs: Any) -> Any:
        try:
            return await super()._send_request_to_controller(*args, **kwargs)
        except (KafkaError, OSError):
            self._controller_id = None
            raise
