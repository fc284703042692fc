"""Whose turn it is among processes that could all act: Kafka gives a partition to one member of a consumer group."""

from contextlib import ExitStack

from kafka import KafkaConsumer, TopicPartition
from kafka.coordinator.assignors.cooperative_sticky import CooperativeStickyAssignor
from kafka.errors import GroupAuthorizationFailedError, KafkaError

from logdirwatch.errors import UserError
from logdirwatch.kafka import clients
from logdirwatch.kafka.settings import KafkaSettings

SESSION_MS = 30_000
"""How long a member that is not heard keeps its turn."""
HEARTBEAT_MS = 3_000
POLL_MS = 100


class Turn:
    """One member of a group; the first partition of ``topic`` is the turn, and stays with whoever has it.

    A process that is stopped gives it back, one that is killed loses it after ``SESSION_MS``. It is not a lock: a
    process that slept learns a moment later that it lost its turn.
    """

    def __init__(self, settings: KafkaSettings, group: str, topic: str) -> None:
        self.group = group
        self._settings, self._partition = settings, TopicPartition(topic, 0)
        self._open = ExitStack()
        self._client: KafkaConsumer | None = None

    def is_ours(self) -> bool:
        """Take part, and tell whether this member has the turn.

        Raises UserError when the cluster does not answer or refuses, KafkaError when it fails later.
        """
        try:
            client = self._client = self._client or self._joined()
            # Joins, and shows that the process lives; nothing needs to be read, but a poll without time does not join.
            client.poll(timeout_ms=POLL_MS)
            client.pause(*client.assignment())
        except GroupAuthorizationFailedError:
            self.close()
            raise UserError(f"the user lacks the ACL Read on the group {self.group}: see docs/autopilot.md") from None
        except KafkaError:
            self.close()
            raise
        return self._partition in client.assignment()

    def close(self) -> None:
        """Leave the group: whoever stands by has the turn."""
        self._open.close()
        self._client = None

    def _joined(self) -> KafkaConsumer:
        client = self._open.enter_context(
            clients.consumer(
                self._settings,
                group_id=self.group,
                session_timeout_ms=SESSION_MS,
                heartbeat_interval_ms=HEARTBEAT_MS,
                partition_assignment_strategy=[CooperativeStickyAssignor],
            )
        )
        client.subscribe([self._partition.topic])
        return client
