"""The messages of all receivers: which are due, which are in flight, and who takes none.

A URL outside is requested while all is well, so that the service there alerts when notify itself is down.
"""

from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor

import structlog

from logdirwatch.model.records import AlertRecord, NotificationRecord
from logdirwatch.notify.delivery import Delivery
from logdirwatch.notify.groups import Message
from logdirwatch.notify.health import Health
from logdirwatch.notify.outbox import MemberOf, Outbox
from logdirwatch.notify.routing import GroupKey, Router
from logdirwatch.notify.senders import Sender, SendError, ping
from logdirwatch.notify.settings import NotifySettings, SwitchSettings


class Pinger:
    """One request per interval, on its own thread; one log line when requests fail, one when they work again."""

    def __init__(self, settings: SwitchSettings, timeout_ms: int) -> None:
        self._url = None if settings.ping_url is None else settings.ping_url.get_secret_value()
        self._interval_ms = settings.ping_interval_ms
        self._timeout_ms = timeout_ms
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="ping")
        self._asking: Future[None] | None = None
        self._next_ms = 0
        self._fails = False

    def tick(self, now_ms: int, *, is_well: bool) -> None:
        """Send a request if it is due, all is well and the last request ended."""
        if self._asking is not None and self._asking.done():
            self._tell(self._asking.exception())
            self._asking = None
        if self._url is not None and is_well and self._asking is None and now_ms >= self._next_ms:
            self._next_ms = now_ms + self._interval_ms
            self._asking = self._thread.submit(ping, self._url, self._timeout_ms)

    def stop(self) -> None:
        """Send no further request."""
        self._thread.shutdown(wait=False, cancel_futures=True)

    def _tell(self, error: BaseException | None) -> None:
        if error is not None and not self._fails:
            text = str(error) if isinstance(error, SendError) else type(error).__name__
            log.warning("notify.ping.failed", error=text)
        elif error is None and self._fails:
            log.warning("notify.ping.recovered")
        self._fails = error is not None


log = structlog.get_logger(__name__)

STOP_S = 10.0
UNHEARD_MS = 300_000
"""A receiver may fail for that long; then somebody outside has to know that its messages arrive nowhere."""

Keep = Callable[[GroupKey, NotificationRecord], None]
"""Keeps what a group was sent for the next start."""


class Sending:
    """Sends what is due about the alerts it is given. ``now_ms`` is steady time: its messages wait by it."""

    def __init__(
        self, notify: NotifySettings, senders: dict[str, dict[str, Sender]], keep: Keep, health: Health
    ) -> None:
        channels = {name: sender for of_receiver in senders.values() for name, sender in of_receiver.items()}
        keeping_alive = {name for name, sender in channels.items() if sender.keeps_alive}
        router = Router(notify, {name: tuple(found) for name, found in senders.items()}, keeping_alive)
        self._channels_of = {name: tuple(found) for name, found in senders.items()}
        self._delivery = Delivery(channels, notify.backoff_max_ms)
        self._pinger = Pinger(notify.heartbeat, notify.send_timeout_ms)
        self._keep, self._health = keep, health
        self.outbox = Outbox(router, channels)

    def tick(
        self,
        alerts: Callable[[int], Iterable[AlertRecord]],
        member_of: MemberOf,
        now_ms: int,
        is_well: Callable[[int], bool],
    ) -> None:
        """Note the messages that ended, start those that are due, and ping the outside while all is well."""
        self._health.went_round()
        self._note_finished(now_ms)
        for message in self.outbox.due(alerts(now_ms), member_of, now_ms, self._delivery.busy(now_ms)):
            self._delivery.start(message)
        self._health.unheard = self._unheard(now_ms)
        self._pinger.tick(now_ms, is_well=not self._health.unheard and is_well(now_ms))

    def stop(self, now_ms: int) -> None:
        """Wait for the messages in flight."""
        self._delivery.stop(STOP_S)
        self._note_finished(now_ms)
        self._pinger.stop()

    def _unheard(self, now_ms: int) -> dict[str, int]:
        """Return the receivers none of whose channels takes messages any more, and for how long, in milliseconds."""
        failing = self._delivery.failing(now_ms)
        lasting = {
            name: min(failing.get(channel, 0) for channel in channels)
            for name, channels in self._channels_of.items()
            if channels
        }
        return {name: for_ms for name, for_ms in lasting.items() if for_ms > UNHEARD_MS}

    def _note_finished(self, now_ms: int) -> None:
        for message, arrived in self._delivery.finished(now_ms):
            record = self.outbox.delivered(message) if arrived else self.outbox.failed(message)
            if arrived:
                _log_told(message)
            if record is not None:
                self._keep(message.group, record)


def _log_told(message: Message) -> None:
    log.info(
        "notify.message.sent",
        receiver=message.group.receiver,
        group=str(message.group),
        reason=message.reason.value,
        firing=len(message.firing),
        ended=len(message.ended),
    )
