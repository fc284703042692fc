"""The loop of ``logdirwatch notify``: reads alerts, sends the messages that are due, and records what was sent.

It checks whether the topic of these records exists and is still the same one.
"""

import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping

import msgspec
import structlog
from kafka import KafkaConsumer, TopicPartition
from kafka.errors import KafkaError

from logdirwatch.clock import steady_ms
from logdirwatch.collect.publish.backoff import Backoff
from logdirwatch.collect.publish.buffer import Outgoing
from logdirwatch.collect.publish.publisher import Publisher
from logdirwatch.errors import UserError
from logdirwatch.kafka import clients
from logdirwatch.kafka.clients import one_line
from logdirwatch.kafka.settings import KafkaSettings
from logdirwatch.model import topics
from logdirwatch.model.records import AlertRecord, NotificationRecord
from logdirwatch.notify.groups import Member
from logdirwatch.notify.health import Health
from logdirwatch.notify.heartbeats import Switch
from logdirwatch.notify.reader import Reader, told_before
from logdirwatch.notify.routing import GroupKey
from logdirwatch.notify.senders import Sender
from logdirwatch.notify.sending import Sending
from logdirwatch.notify.settings import NotifySettings
from logdirwatch.parse.reading import KafkaRecord

CHECK_MS = 15_000
TELL_MS = 3_600_000
MOST_REMEMBERED = 10_000
TOPIC = topics.NOTIFICATIONS


class Keeper:
    """Checks the topic periodically; logs once that it is missing, and has everything written again when it is back.

    A topic that was deleted and created again between two checks has fewer records than before. One with more records
    than this process wrote is written by another one, which sends every message too.
    """

    def __init__(self, write_all: Callable[[], int], read: Callable[[], Iterable[KafkaRecord]]) -> None:
        """``write_all`` writes the state of every group and returns how many there are; ``read`` reads the topic."""
        self._write_all, self._read = write_all, read
        self._is_gone = False
        self._ends: dict[TopicPartition, int] | None = None
        self._unseen = 0
        self._written: deque[bytes] = deque(maxlen=MOST_REMEMBERED)
        self._looked_ms: int | None = None
        self._told_ms: int | None = None

    def begin(self, client: KafkaConsumer) -> bool:
        """Return whether the topic of sent notifications exists at the start."""
        self._is_gone = not clients.exists(client, TOPIC)
        if self._is_gone:
            _warn("notify.topic.missing", f"earlier notifications are unknown: {_AGAIN}; {_MAKE}")
        return not self._is_gone

    def wrote(self, value: bytes) -> None:
        """Remember a record that this process writes."""
        self._unseen += 1
        self._written.append(value)

    def look(self, client: KafkaConsumer, now_ms: int) -> None:
        """Check the topic if it is time to; raises KafkaError when the cluster does not answer."""
        if self._looked_ms is not None and now_ms - self._looked_ms < CHECK_MS:
            return
        self._looked_ms = now_ms
        if not clients.exists(client, TOPIC):
            if not self._is_gone:
                _warn("notify.topic.gone", f"notifications are not recorded: after a restart {_AGAIN}; {_MAKE}")
            self._is_gone, self._ends = True, None
            return
        before, ends = self._ends or {}, self._ends_now(client)
        new = sum(ends.values()) - sum(before.values())
        if self._is_gone or new < 0:
            _warn("notify.topic.recreated", "the notifications sent so far are written to it", groups=self._write_all())
        elif self._ends is not None and new > self._unseen and self._is_foreign(before):
            self._tell_of_another(now_ms)
        self._is_gone, self._ends, self._unseen = False, ends, max(0, self._unseen - max(0, new))

    def _ends_now(self, client: KafkaConsumer) -> dict[TopicPartition, int]:
        partitions = [TopicPartition(TOPIC, number) for number in client.partitions_for_topic(TOPIC) or ()]
        return client.end_offsets(partitions) if partitions else {}

    def _is_foreign(self, before: Mapping[TopicPartition, int]) -> bool:
        """Tell whether this process did not write a record since then; what it sent again is there twice."""
        new = (r for r in self._read() if r.offset >= before.get(TopicPartition(TOPIC, r.partition), 0))
        return any(record.value not in self._written for record in new)

    def _tell_of_another(self, now_ms: int) -> None:
        if self._told_ms is None or now_ms - self._told_ms >= TELL_MS:
            self._told_ms = now_ms
            _warn(
                "notify.another", "another notify of this telemetry cluster sends every message too: stop one of them"
            )


def _warn(event: str, meaning: str, **values: int) -> None:
    log.warning(event, topic=TOPIC, meaning=meaning, **values)


_AGAIN = "firing alerts are sent again"
_MAKE = "create the topic with: logdirwatch topics create"


log = structlog.get_logger(__name__)

TICK_S = 0.5
KEEP_S = 2.0
"""How long a message waits for the record that it is begun: people must hear even if the telemetry cluster is away."""
READ_AGAIN_MS = 30_000
"""The longest pause between attempts to read the telemetry cluster; ``backoff_max_ms`` is about receivers."""


class Notifier:
    """Notifies receivers until it is stopped; while the telemetry cluster is down, about that."""

    def __init__(
        self,
        notify: NotifySettings,
        telemetry: KafkaSettings,
        switch: Switch,
        reader: Reader,
        senders: dict[str, dict[str, Sender]],
        publisher: Publisher,
        now_ms: Callable[[], int],
        waiting_ms: Callable[[], int] = steady_ms,
    ) -> None:
        """``now_ms`` is the wall clock, by which silences end; ``waiting_ms`` is steady, for all that waits."""
        self._telemetry = telemetry
        self._now_ms, self._waiting_ms = now_ms, waiting_ms
        self._publisher = publisher
        self._switch = switch
        self._reader = reader
        self._backoff = Backoff(READ_AGAIN_MS)
        self._is_ready = False
        self._keeper = Keeper(self._keep_all, lambda: clients.read_all(telemetry, TOPIC))
        self.health = Health()
        self.sending = Sending(notify, senders, self._keep, self.health, lambda: publisher.flush(KEEP_S))
        self._outbox = self.sending.outbox

    def run(self, stop: threading.Event) -> None:
        """Run until ``stop`` is set, then wait for the messages in flight."""
        while not stop.is_set():
            self._read(stop)
        self.sending.stop(self._waiting_ms())

    def _read(self, stop: threading.Event) -> None:
        """Read until ``stop`` is set or the telemetry cluster cannot be read."""
        try:
            with clients.consumer(self._telemetry, auto_offset_reset="earliest") as client:
                self._follow(client, stop)
        except (UserError, KafkaError) as error:
            self._away(error, stop)

    def _follow(self, client: KafkaConsumer, stop: threading.Event) -> None:
        self._reader.read_steps(is_there=clients.exists(client, topics.ACTIONS))
        self._reader.start(client)
        while not stop.is_set():
            if self._reader.poll(client, self._waiting_ms()) and not self._is_ready:
                self._begin(client)
            self._can_read()
            self._keeper.look(client, self._waiting_ms())
            self._tick()

    def _can_read(self) -> None:
        self.health.is_reading(is_reading=self._is_ready)
        if self._backoff.is_away:
            log.warning("notify.telemetry.recovered")
        self._backoff.worked()

    def _begin(self, client: KafkaConsumer) -> None:
        """Start sending, once everything is read.

        From now on a firing alert that was not sent is news, whenever it began.
        """
        if self._keeper.begin(client):
            known = told_before(self._telemetry, self._reader.records)
            self._outbox.remember(known)
        else:
            known = []
        if not known:
            self._outbox.has_no_memory(self._waiting_ms())
        self._switch.remember(self._outbox.known())
        self._is_ready = True
        log.info("notify.ready", firing=len(self._reader.alerts(())), known=len(self._outbox.known()))

    def _away(self, error: BaseException, stop: threading.Event) -> None:
        self.health.is_reading(is_reading=False)
        if not self._backoff.is_away:
            log.warning("notify.telemetry.failed", error=one_line(error), meaning="the dead man's switch keeps running")
        again_s = time.monotonic() + self._backoff.failed() / 1000
        while time.monotonic() < again_s and not stop.wait(TICK_S):
            self._tick()

    def _tick(self) -> None:
        self.sending.tick(self._alerts, self._member_of, self._waiting_ms(), self._is_well)

    def _is_well(self, now_ms: int) -> bool:
        return self._is_ready and self._switch.all_is_well(now_ms)

    def _alerts(self, now_ms: int) -> Iterable[AlertRecord]:
        read = self._reader.alerts(self._outbox.known()) if self._is_ready else []
        return [*read, *self._switch.alerts(now_ms)]

    def _member_of(self, alert: AlertRecord) -> Member:
        return self._reader.member_of(alert, self._now_ms())

    def _keep(self, group: GroupKey, record: NotificationRecord) -> None:
        self._write([(group, record)])

    def _keep_all(self) -> int:
        return self._write(self._outbox.records())

    def _write(self, records: Iterable[tuple[GroupKey, NotificationRecord]]) -> int:
        written = [_outgoing(key, record) for key, record in records]
        for record in written:
            self._keeper.wrote(record.value)
        self._publisher.put(written)
        return len(written)


def _outgoing(key: GroupKey, record: NotificationRecord) -> Outgoing:
    return Outgoing(topics.NOTIFICATIONS, str(key).encode(), msgspec.json.encode(record))
