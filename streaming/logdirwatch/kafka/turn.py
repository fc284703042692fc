"""Whose turn it is among processes that could all act: Kafka gives a partition to one member of a consumer group."""

import threading

from kafka import KafkaConsumer, TopicPartition
from kafka.coordinator.assignors.cooperative_sticky import CooperativeStickyAssignor
from kafka.errors import GroupAuthorizationFailedError, KafkaError

from logdirwatch.clock import monotonic_ms
from logdirwatch.errors import UserError
from logdirwatch.kafka import clients
from logdirwatch.kafka.settings import KafkaSettings

SESSION_MS = 30_000
"""How long a member that is not heard keeps its turn."""
HEARTBEAT_MS = 3_000
POLL_MS = 500
METADATA_MS = 10_000
"""How old metadata may be: kafka-python learns only from its next request that a topic was created (again)."""


class Turn:
    """One member of a group; the first partition of ``topic`` is the turn, and stays with whoever has it.

    A process that is stopped gives it back, one that is killed loses it after ``SESSION_MS``, as does one that asks no
    more. It is not a lock: a process that slept learns a moment later that it lost its turn.

    A thread of its own polls without a pause: kafka-python throws away a join that ends between two polls, and begins
    it again, which on a slow cluster never ends.
    """

    def __init__(self, settings: KafkaSettings, group: str, topic: str) -> None:
        self.group = group
        self._settings, self._partition = settings, TopicPartition(topic, 0)
        self._member: threading.Thread | None = None
        self._left = threading.Event()
        self._is_ours = False
        self._failed: UserError | KafkaError | None = None
        self._asked_ms = 0

    def is_ours(self) -> bool:
        """Take part, and tell whether this member has the turn.

        Raises UserError when the cluster does not answer or refuses, KafkaError when it fails later.
        """
        self._asked_ms = monotonic_ms()
        if self._member is None:
            self._left.clear()
            self._member = threading.Thread(target=self._take_part, name=self.group, daemon=True)
            self._member.start()
        if not self._member.is_alive():
            failed = self._failed
            self.close()
            if failed is not None:
                raise failed
        return self._is_ours

    def close(self) -> None:
        """Leave the group: whoever stands by has the turn."""
        self._left.set()
        if self._member is not None:
            self._member.join()
        self._member = self._failed = None

    def _take_part(self) -> None:
        try:
            with clients.consumer(
                self._settings,
                group_id=self.group,
                session_timeout_ms=SESSION_MS,
                heartbeat_interval_ms=HEARTBEAT_MS,
                metadata_max_age_ms=METADATA_MS,
                partition_assignment_strategy=[CooperativeStickyAssignor],
            ) as client:
                client.subscribe([self._partition.topic])
                while not self._left.is_set() and monotonic_ms() - self._asked_ms < SESSION_MS:
                    self._poll(client)
        except GroupAuthorizationFailedError:
            self._failed = UserError(f"the user lacks the ACL Read on the group {self.group}: see docs/autopilot.md")
        except (KafkaError, UserError) as error:
            self._failed = error
        finally:
            self._is_ours = False

    def _poll(self, client: KafkaConsumer) -> None:
        """Join, and show that the process lives; nothing needs to be read."""
        client.poll(timeout_ms=POLL_MS)
        client.pause(*client.assignment())
        self._is_ours = self._partition in client.assignment()
