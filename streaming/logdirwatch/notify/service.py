"""The loop of ``logdirwatch notify``: reads alerts, sends the messages that are due, and records what was sent."""

import threading
import time
from collections.abc import Callable, Iterable

import msgspec
import structlog
from kafka import KafkaConsumer
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
from logdirwatch.notify.delivery import Delivery
from logdirwatch.notify.groups import Member, Message
from logdirwatch.notify.health import Health
from logdirwatch.notify.heartbeats import Switch
from logdirwatch.notify.keeping import Keeper
from logdirwatch.notify.outbox import Outbox
from logdirwatch.notify.pinger import Pinger
from logdirwatch.notify.reader import Reader, told_before
from logdirwatch.notify.routing import GroupKey, Router
from logdirwatch.notify.senders import Sender
from logdirwatch.notify.settings import NotifySettings

log = structlog.get_logger(__name__)

TICK_S = 0.5
STOP_S = 10.0
READ_AGAIN_MS = 30_000
"""The longest pause between attempts to read the telemetry cluster; ``backoff_max_ms`` is about receivers."""
UNHEARD_MS = 300_000
"""A receiver may fail for that long; then somebody outside has to know that its messages arrive nowhere."""


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
        channels = {name: sender for of_receiver in senders.values() for name, sender in of_receiver.items()}
        keeping_alive = {name for name, sender in channels.items() if sender.keeps_alive}
        router = Router(notify, {name: tuple(found) for name, found in senders.items()}, keeping_alive)
        self._channels_of = {name: tuple(found) for name, found in senders.items()}
        self._telemetry = telemetry
        self._now_ms, self._waiting_ms = now_ms, waiting_ms
        self._publisher = publisher
        self._outbox = Outbox(router, channels)
        self._switch = switch
        self._reader = reader
        self._delivery = Delivery(channels, notify.backoff_max_ms)
        self._pinger = Pinger(notify.heartbeat, notify.send_timeout_ms)
        self._backoff = Backoff(READ_AGAIN_MS)
        self._is_ready = False
        self._keeper = Keeper(self._keep_all)
        self.health = Health()

    def run(self, stop: threading.Event) -> None:
        """Run until ``stop`` is set, then wait for the messages in flight."""
        while not stop.is_set():
            self._read(stop)
        self._delivery.stop(STOP_S)
        self._note_finished()
        self._pinger.stop()

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
        self.health.went_round()
        self._note_finished()
        now_ms = self._waiting_ms()
        for message in self._outbox.due(self._alerts(now_ms), self._member_of, now_ms, self._delivery.busy(now_ms)):
            self._delivery.start(message)
        self.health.unheard = self._unheard(now_ms)
        is_well = self._is_ready and not self.health.unheard and self._switch.all_is_well(now_ms)
        self._pinger.tick(now_ms, is_well=is_well)

    def _unheard(self, now_ms: int) -> dict[str, int]:
        """Return the receivers none of whose channels takes messages any more, and for how long, in milliseconds."""
        failing = self._delivery.failing(now_ms)
        lasting = {
            name: min(failing.get(channel, 0) for channel in channels)
            for name, channels in self._channels_of.items()
            if channels
        }
        return {name: for_ms for name, for_ms in lasting.items() if for_ms > UNHEARD_MS}

    def _alerts(self, now_ms: int) -> Iterable[AlertRecord]:
        read = self._reader.alerts(self._outbox.known()) if self._is_ready else []
        return [*read, *self._switch.alerts(now_ms)]

    def _member_of(self, alert: AlertRecord) -> Member:
        return self._reader.member_of(alert, self._now_ms())

    def _note_finished(self) -> None:
        for message, arrived in self._delivery.finished(self._waiting_ms()):
            record = self._outbox.delivered(message) if arrived else self._outbox.failed(message)
            if arrived:
                _log_told(message)
            if record is not None:
                self._publisher.put([_outgoing(message.group, record)])

    def _keep_all(self) -> int:
        records = [_outgoing(key, record) for key, record in self._outbox.records()]
        self._publisher.put(records)
        return len(records)


def _log_told(message: Message) -> None:
    log.info(
        "notify.message.sent",
        receiver=message.group.receiver,
        group=str(message.group),
        reason=message.reason.value,
        firing=len(message.firing),
        ended=len(message.ended),
    )


def _outgoing(key: GroupKey, record: NotificationRecord) -> Outgoing:
    return Outgoing(topics.NOTIFICATIONS, str(key).encode(), msgspec.json.encode(record))
