"""The messages of all receivers: which are due, which are in flight, and who takes none.

Each receiver has a thread of its own, so that one that hangs does not block the others.

A URL outside is requested while all is well, so that the service there alerts when notify itself is down.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field

import structlog

from logdirwatch.collect.publish.backoff import Backoff
from logdirwatch.model.records import AlertRecord, NotificationRecord
from logdirwatch.notify.groups import Message
from logdirwatch.notify.health import Health
from logdirwatch.notify.outbox import MemberOf, Outbox
from logdirwatch.notify.routing import GroupKey, Router
from logdirwatch.notify.senders import Sender, SendError, hand_over, ping
from logdirwatch.notify.settings import NotifySettings, SwitchSettings


def _nothing() -> None:
    """Wait for nothing: no record is kept."""


@dataclass
class _Channel:
    """One channel to a receiver: the message in flight, and when it may be tried again."""

    sender: Sender
    backoff: Backoff
    thread: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(1, thread_name_prefix="notify"))
    message: Message | None = None
    sending: "Future[None] | None" = None
    retry_at_ms: int = 0
    failing_since_ms: int | None = None


class Delivery:
    """At most one message is in flight to each receiver; one log line reports a failure, one the recovery."""

    def __init__(self, senders: Mapping[str, Sender], backoff_max_ms: int) -> None:
        self._channels = {name: _Channel(sender, Backoff(backoff_max_ms)) for name, sender in senders.items()}

    def busy(self, now_ms: int) -> set[str]:
        """Return the receivers that cannot take a message now."""
        return {
            name
            for name, channel in self._channels.items()
            if channel.message is not None or now_ms < channel.retry_at_ms
        }

    def start(self, message: Message, first: Callable[[], None] = _nothing) -> None:
        """Send a message, after ``first``, in its receiver's thread; the receiver must not be busy."""
        channel = self._channels[message.group.receiver]
        channel.message = message
        channel.sending = channel.thread.submit(_send, channel.sender, message, first)

    def finished(self, now_ms: int) -> Iterator[tuple[Message, bool]]:
        """Yield the messages whose sending ended since the last call, each with whether it was delivered."""
        for name, channel in self._channels.items():
            if channel.sending is not None and channel.message is not None and channel.sending.done():
                message, error = channel.message, channel.sending.exception()
                channel.message = channel.sending = None
                _settle(name, channel, error, now_ms)
                yield message, error is None

    def failing(self, now_ms: int) -> dict[str, int]:
        """Return for how long each receiver that did not take the last message has taken none, in milliseconds."""
        return {
            name: now_ms - channel.failing_since_ms
            for name, channel in self._channels.items()
            if channel.failing_since_ms is not None
        }

    def stop(self, timeout_s: float) -> None:
        """Wait for the messages in flight, at most ``timeout_s``."""
        wait([channel.sending for channel in self._channels.values() if channel.sending is not None], timeout=timeout_s)
        for channel in self._channels.values():
            channel.thread.shutdown(wait=False, cancel_futures=True)


def _send(sender: Sender, message: Message, first: Callable[[], None]) -> None:
    first()
    hand_over(sender, message)


def _settle(name: str, channel: _Channel, error: BaseException | None, now_ms: int) -> None:
    if error is None:
        if channel.backoff.is_away:
            log.warning("notify.receiver.recovered", receiver=name, attempts=channel.backoff.failures + 1)
        channel.backoff.worked()
        channel.failing_since_ms = None
        return
    if not channel.backoff.is_away:
        text = str(error) if isinstance(error, SendError) else type(error).__name__
        log.warning(
            "notify.receiver.failed", receiver=name, error=text, meaning="its messages are kept until it recovers"
        )
    channel.failing_since_ms = now_ms if channel.failing_since_ms is None else channel.failing_since_ms
    channel.retry_at_ms = now_ms + channel.backoff.failed()


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
    """Sends what is due about the alerts it is given. ``now_ms`` is steady time: its messages wait by it.

    What is begun is kept, and ``until_kept`` waits for that, before it is sent: a process that is killed in between
    must know at its next start which messages may have arrived.
    """

    def __init__(
        self,
        notify: NotifySettings,
        senders: dict[str, dict[str, Sender]],
        keep: Keep,
        health: Health,
        until_kept: Callable[[], None] = _nothing,
    ) -> None:
        channels = {name: sender for of_receiver in senders.values() for name, sender in of_receiver.items()}
        keeping_alive = {name for name, sender in channels.items() if sender.keeps_alive}
        router = Router(notify, {name: tuple(found) for name, found in senders.items()}, keeping_alive)
        self._channels_of = {name: tuple(found) for name, found in senders.items()}
        self._delivery = Delivery(channels, notify.backoff_max_ms)
        self._pinger = Pinger(notify.heartbeat, notify.send_timeout_ms)
        self._keep, self._until_kept, self._health = keep, until_kept, health
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
            self._start(message)
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

    def _start(self, message: Message) -> None:
        record = self.outbox.begun(message)
        if record is not None:
            self._keep(message.group, record)
        self._delivery.start(message, _nothing if record is None else self._until_kept)

    def _note_finished(self, now_ms: int) -> None:
        for message, arrived in self._delivery.finished(now_ms):
            if arrived:
                _log_told(message)
                self._keep(message.group, self.outbox.delivered(message))


def _log_told(message: Message) -> None:
    log.info(
        "notify.message.sent",
        receiver=message.group.receiver,
        group=str(message.group),
        reason=message.reason.value,
        firing=len(message.firing),
        ended=len(message.ended),
    )
