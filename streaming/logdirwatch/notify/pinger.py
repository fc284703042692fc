"""Requests an outside URL while all is well, so that the service there alerts when notify itself is down."""

from concurrent.futures import Future, ThreadPoolExecutor

import structlog

from logdirwatch.notify.senders import SendError, ping
from logdirwatch.notify.settings import SwitchSettings

log = structlog.get_logger(__name__)


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
