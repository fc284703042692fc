"""Proof that a consumer reads: without it, one that gets nothing looks like one for which nothing arrives."""

import time
from collections.abc import Callable, Collection

from kafka import KafkaConsumer, TopicPartition
from kafka.errors import KafkaTimeoutError

from logdirwatch.errors import UserError
from logdirwatch.text.units import human_s
from logdirwatch.text.words import counted

CHECK_S = 10.0
STALLED_S = 60.0
"""Records may wait that long without any being read; the consumer is then replaced."""
ANSWER_MS = 1_000
"""How long a check may take: meanwhile nothing is sent, not even that heartbeats are missing."""


class Unread:
    """Compares the consumer's positions with Kafka's end offsets every few seconds; ``clock_s`` is monotonic."""

    def __init__(self, clock_s: Callable[[], float] = time.monotonic) -> None:
        self._clock_s = clock_s
        self._next_s = 0.0
        self._read_s = self._answered_s = clock_s()
        self._positions: dict[TopicPartition, int] = {}

    @property
    def unanswered_s(self) -> float:
        """Seconds since the cluster answered a check last."""
        return self._clock_s() - self._answered_s

    def begin(self) -> None:
        """Record that the consumer starts at the beginning."""
        self._read_s, self._positions = self._clock_s(), {}

    def check(self, client: KafkaConsumer, partitions: Collection[TopicPartition]) -> None:
        """Raise UserError if records wait and none is read.

        While the cluster does not answer in time, nothing is known; the missing heartbeats tell of it. A position
        beyond the end is that of a topic which was deleted and created again: its records wait too.
        """
        now_s = self._clock_s()
        if now_s < self._next_s:
            return
        self._next_s = now_s + CHECK_S
        try:
            ends = client.end_offsets(partitions, timeout_ms=ANSWER_MS)
        except KafkaTimeoutError:
            return
        self._answered_s = self._clock_s()
        before, self._positions = self._positions, {part: client.position(part) for part in partitions}
        waiting = {part: end - self._positions[part] for part, end in ends.items() if end != self._positions[part]}
        is_beyond = any(count < 0 for count in waiting.values())
        if not waiting or (before != self._positions and not is_beyond):
            self._read_s = now_s
        elif now_s - self._read_s > STALLED_S:
            names = sorted({part.topic for part in waiting})
            rows = counted(sum(map(abs, waiting.values())), "record waits", "records wait")
            raise UserError(f"{rows} on {', '.join(names)}, and none was read for {human_s(now_s - self._read_s)}")
