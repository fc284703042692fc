"""The records that a consumer of the alert and action topics received, with their times."""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from logdirwatch.errors import UserError
from logdirwatch.kafka.clients import follow
from logdirwatch.kafka.settings import KafkaSettings
from logdirwatch.model import topics
from logdirwatch.model.records import ActionRecord, AlertRecord, StateRecord
from logdirwatch.parse.reading import RecordReader, logged

R = TypeVar("R", AlertRecord, ActionRecord, StateRecord)


@dataclass(frozen=True)
class Seen(Generic[R]):
    """A record and the time it reached this consumer."""

    record: R
    at_s: float


@dataclass
class Watch:
    """Follows three topics in the background and keeps every record in the order of arrival."""

    telemetry: KafkaSettings
    on_alert: Callable[[Seen[AlertRecord]], None]
    on_action: Callable[[Seen[ActionRecord]], None]
    alerts: list[Seen[AlertRecord]] = field(default_factory=list)
    actions: list[Seen[ActionRecord]] = field(default_factory=list)
    states: list[Seen[StateRecord]] = field(default_factory=list)
    records: RecordReader = field(default_factory=lambda: RecordReader(logged))
    _changed: threading.Condition = field(default_factory=threading.Condition)
    _error: UserError | None = None

    def start(self) -> None:
        """Start following."""
        for topic, kind, kept, tell in (
            (topics.ALERTS, AlertRecord, self.alerts, self.on_alert),
            (topics.ACTIONS, ActionRecord, self.actions, self.on_action),
            (topics.STATE, StateRecord, self.states, None),
        ):
            thread = threading.Thread(target=self._follow, args=(topic, kind, kept, tell), daemon=True, name=topic)
            thread.start()

    def wait_for(self, condition: Callable[[], bool], deadline_s: float, alive: Callable[[], None]) -> bool:
        """Wait until ``condition`` holds; False if ``deadline_s`` passed first. ``alive`` raises to give up."""
        end_s = time.monotonic() + deadline_s
        with self._changed:
            while not condition():
                if self._error is not None:
                    raise self._error
                alive()
                left_s = end_s - time.monotonic()
                if left_s <= 0:
                    return False
                self._changed.wait(timeout=min(0.5, left_s))
            return True

    def _follow(
        self,
        topic: str,
        kind: type[R],
        kept: list[Seen[R]],
        tell: Callable[[Seen[R]], None] | None,
    ) -> None:
        try:
            for message in follow(self.telemetry, topic):
                record = self.records.take(message)
                if not isinstance(record, kind):
                    continue
                seen = Seen(record, time.monotonic())
                with self._changed:
                    kept.append(seen)
                    self._changed.notify_all()
                if tell is not None:
                    tell(seen)
        except UserError as error:
            with self._changed:
                self._error = error
                self._changed.notify_all()
