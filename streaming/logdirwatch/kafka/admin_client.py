"""kafka-python's admin client, which does not hold on to a controller that has died."""

from typing import Any

from kafka import KafkaAdminClient
from kafka.errors import KafkaError


class AdminClient(KafkaAdminClient):  # type: ignore[misc]
    """Looks for the controller again after an error.

    kafka-python 3.0.12 keeps the controller that it found first until a broker says that it is none. A dead one says
    nothing, and each later request fails with UnknownBrokerIdError. In KRaft mode it may be any broker, since brokers
    name one that lives at random (Kafka's ``KRaftMetadataCache.getRandomAliveBrokerId``).
    """

    async def _send_request_to_controller(self, *args: Any, **kwargs: Any) -> Any:
        try:
            return await super()._send_request_to_controller(*args, **kwargs)
        except (KafkaError, OSError):
            self._controller_id = None
            raise
