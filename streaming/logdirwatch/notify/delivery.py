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

    def start(self, message: Message) -> None:
        """Send a message; its receiver must not be busy."""
        channel = self._channels[message.group.receiver]
        channel.message = message
        channel.sending = channel.thread.submit(hand_over, channel.sender, message)

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
