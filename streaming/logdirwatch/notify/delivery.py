"""Delivers messages to receivers, each on its own thread, so that one that hangs does not block the others."""

from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field

import structlog

from logdirwatch.collect.publish.backoff import Backoff
from logdirwatch.notify.groups import Message
from logdirwatch.notify.senders import Sender, SendError, hand_over

log = structlog.get_logger(__name__)


@dataclass
class _Way:
    """One channel to a receiver: the message in flight, and when it may be tried again."""

    sender: Sender
    backoff: Backoff
    thread: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(1, thread_name_prefix="notify"))
    message: Message | None = None
    sending: "Future[None] | None" = None
    retry_at_ms: int = 0


class Delivery:
    """At most one message is in flight to each receiver; one log line reports a failure, one the recovery."""

    def __init__(self, senders: Mapping[str, Sender], backoff_max_ms: int) -> None:
        self._backoff_max_ms = backoff_max_ms
        self._ways = {name: _Way(sender, Backoff(backoff_max_ms)) for name, sender in senders.items()}

    def busy(self, now_ms: int) -> set[str]:
        """Return the receivers that cannot take a message now."""
        return {name for name, way in self._ways.items() if way.message is not None or self._waits(way, now_ms)}

    def _waits(self, way: _Way, now_ms: int) -> bool:
        """Tell whether it is too early to try again; no pause exceeds the maximum, even if the clock was set back."""
        return 0 < way.retry_at_ms - now_ms <= self._backoff_max_ms

    def start(self, message: Message) -> None:
        """Send a message; its receiver must not be busy."""
        way = self._ways[message.group.receiver]
        way.message = message
        way.sending = way.thread.submit(hand_over, way.sender, message)

    def finished(self, now_ms: int) -> Iterator[tuple[Message, bool]]:
        """Yield the messages whose sending ended since the last call, each with whether it was delivered."""
        for name, way in self._ways.items():
            if way.sending is not None and way.message is not None and way.sending.done():
                message, error = way.message, way.sending.exception()
                way.message = way.sending = None
                _settle(name, way, error, now_ms)
                yield message, error is None

    def stop(self, timeout_s: float) -> None:
        """Wait for the messages in flight, at most ``timeout_s``."""
        wait([way.sending for way in self._ways.values() if way.sending is not None], timeout=timeout_s)
        for way in self._ways.values():
            way.thread.shutdown(wait=False, cancel_futures=True)


def _settle(name: str, way: _Way, error: BaseException | None, now_ms: int) -> None:
    if error is None:
        if way.backoff.is_away:
            log.warning("notify.receiver.recovered", receiver=name, attempts=way.backoff.failures + 1)
        way.backoff.worked()
        return
    if not way.backoff.is_away:
        text = str(error) if isinstance(error, SendError) else type(error).__name__
        log.warning(
            "notify.receiver.failed", receiver=name, error=text, meaning="its messages are kept until it recovers"
        )
    way.retry_at_ms = now_ms + way.backoff.failed()
