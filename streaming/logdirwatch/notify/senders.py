"""Senders: services by apprise, Alertmanagers by HTTP. No error ever shows a URL's secrets."""

import logging
import re
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, Protocol
from urllib.parse import unquote, urlsplit, urlunsplit

import apprise
import requests
from apprise import NotifyBase, NotifyFormat, NotifyType
from apprise.conversion import convert_between

from logdirwatch import bounded
from logdirwatch.config.servers import is_web_url
from logdirwatch.errors import UserError
from logdirwatch.kafka.clients import one_line
from logdirwatch.model.vocabulary import Severity
from logdirwatch.notify.alertmanager import Alert, alerts_of
from logdirwatch.notify.groups import Message
from logdirwatch.notify.links import NO_LINKS, Links
from logdirwatch.notify.settings import NotifySettings, ReceiverSettings
from logdirwatch.notify.wording import Text, text_of
from logdirwatch.text.printable import MASK, masked

GROUP = "{group}"
SECRET_FROM_CHARACTERS = 5
APPRISE_LOG = logging.getLogger("apprise")
# apprise's schemes of which the host and port are those of a web server.
_WEB_SERVERS = ("form", "forms", "json", "jsons", "xml", "xmls")
_KINDS = {
    None: NotifyType.SUCCESS,
    Severity.INFO: NotifyType.INFO,
    Severity.WARNING: NotifyType.WARNING,
    Severity.CRITICAL: NotifyType.FAILURE,
    Severity.PAGE: NotifyType.FAILURE,
}


class SendError(Exception):
    """A message was not delivered; one line without secrets."""


class Sender(Protocol):
    """One channel to one receiver."""

    tells_resolved: bool
    keeps_alive: bool

    def send(self, message: Message) -> None:
        """Send a message; raises SendError when it was not delivered."""


def hand_over(sender: Sender, message: Message) -> None:
    """Send a message, unless it is about ended alerts and the receiver wants none of those; raises SendError."""
    if message.firing or sender.tells_resolved:
        sender.send(message)


def senders(settings: NotifySettings) -> dict[str, dict[str, Sender]]:
    """Return the channels of every receiver by name: one for each URL, since each may be down on its own.

    Raises UserError that names a URL unknown to apprise by its position, never by its content.
    """
    found: dict[str, dict[str, Sender]] = {}
    for name, receiver in settings.receivers.items():
        channels = list(_channels(name, receiver, settings))
        found[name] = {
            name if len(channels) == 1 else f"{name}#{number}": channel for number, channel in enumerate(channels, 1)
        }
        if twice := [
            channel for channel in found[name] for other in found if other != name and channel in found[other]
        ]:
            raise UserError(f"notify.receivers.{name}: {twice[0]} is also the name of a URL of another", exit_code=2)
    return found


def _channels(name: str, receiver: ReceiverSettings, settings: NotifySettings) -> Iterator[Sender]:
    urls = receiver.all_urls(name)
    check(name, urls)
    for url in urls:
        yield Service(url, settings.send_timeout_ms, tells_resolved=receiver.tells_resolved, links=settings.links)
    if receiver.alertmanager:
        yield Alertmanagers([url.get_secret_value() for url in receiver.alertmanager], settings)


def check(name: str, urls: Iterable[str]) -> None:
    """Raise UserError for a URL of a receiver that apprise does not know; nothing is connected to."""
    for number, url in enumerate(urls, 1):
        if service(url) is None or not _has_port(url):
            raise UserError(
                f"notify.receivers.{name}: apprise {apprise.__version__} does not know URL {number}; the forms: "
                "https://appriseit.com/services/",
                exit_code=2,
            )


def _has_port(url: str) -> bool:
    """Tell whether the port of a URL is one; apprise takes any number."""
    scheme, _, rest = url.partition("://")
    return scheme.lower() not in _WEB_SERVERS or is_web_url(f"http://{rest}")


def service(url: str, group: str = "0") -> NotifyBase | None:
    """Return apprise's service for a URL, without connecting; None when there is none."""
    with _apprise_warnings():
        made = apprise.Apprise.instantiate(url.replace(GROUP, group), suppress_exceptions=True)
    if isinstance(made, NotifyBase) and "overflow=" not in url:
        made.overflow_mode = apprise.OverflowMode.TRUNCATE  # a text that is too long is truncated, not refused
    if isinstance(made, NotifyBase):
        made.throttle = _Pace(made.request_rate_per_sec)  # type: ignore[method-assign]
    return made if isinstance(made, NotifyBase) else None


class _Pace:
    """The pauses between a service's requests, by the monotonic clock; apprise measures them by the wall clock.

    When a server asks for a pause, apprise sleeps for that long, whatever it is: years, or an hour when a clock was set
    back. Here the attempt has failed, and is made again like any other.
    """

    def __init__(self, pause_s: float) -> None:
        self._pause_s = pause_s
        self._last_s: float | None = None

    def __call__(self, last_io: object = None, wait: float | None = None) -> None:
        """Pause before a request; raises TimeoutError if the server asks for a pause."""
        del last_io
        if wait:
            raise TimeoutError(f"the service asks to wait {wait:.0f} s")
        if self._last_s is not None:
            time.sleep(max(0.0, self._last_s + self._pause_s - time.monotonic()))
        self._last_s = time.monotonic()


class Service:
    """A service that apprise supports; ``{group}`` in its URL becomes the group's id."""

    keeps_alive = False

    def __init__(
        self, url: str, timeout_ms: int = 10_000, *, tells_resolved: bool = True, links: Links = NO_LINKS
    ) -> None:
        self.tells_resolved = tells_resolved
        self._timeout_ms = timeout_ms
        self._url = url
        self._links = links
        self._made: NotifyBase | None = None

    def send(self, message: Message) -> None:
        """Send a message; raises SendError."""
        self.say(text_of(message, self._links), message.group.fixed_id)

    def say(self, text: Text, group: str) -> None:
        """Send a text; raises SendError."""
        if self._made is None or GROUP in self._url:
            self._made = service(self._url, group)
        if self._made is None:
            raise SendError("apprise does not know its URL")
        self._made.socket_connect_timeout = self._made.socket_read_timeout = self._timeout_ms * bounded.READ_S_A_MS
        try:
            refusal = bounded.within(self._timeout_ms, partial(_notified, self._made, text), self._url)
        except Exception as error:  # a service's own code: whatever it raises, the message was not delivered
            self._made = None  # its thread may still use it
            raise SendError(without_secrets(one_line(error), self._url)) from None
        if refusal is not None:
            raise SendError(without_secrets(refusal, self._url))


def _notified(service: NotifyBase, text: Text) -> str | None:
    """Send a text and return None, or what apprise said when the service did not take it."""
    with _apprise_warnings() as said:
        arrived = service.notify(**_as_text(service, text), notify_type=_KINDS[text.severity])
    return None if arrived else "; ".join(said) or "the service refused it"


def _as_text(service: NotifyBase, text: Text) -> dict[str, Any]:
    """Return a text in a service's format: it is neither HTML nor Markdown, and mentions nobody.

    ``Apprise.notify`` does this for several services, but in threads, where errors are lost.
    """
    form = service.resolve_format(NotifyFormat.TEXT)
    # For a service without titles the title goes into the body.
    title = text.title if service.title_maxlen > 0 else _converted(text.title, form)
    return {"title": title, "body": _converted(text.body, form), "body_format": form, "body_passthrough": False}


def _converted(text: str, form: NotifyFormat) -> str:
    return str(convert_between(NotifyFormat.TEXT, form, text))  # type: ignore[no-untyped-call]


class Alertmanagers:
    """A cluster of Alertmanagers: each gets every alert, and one that accepts it is enough."""

    tells_resolved = keeps_alive = True

    def __init__(self, urls: list[str], settings: NotifySettings) -> None:
        self._urls = [f"{url.rstrip('/')}/api/v2/alerts" for url in urls]
        self._timeout_ms = settings.send_timeout_ms
        self._links = settings.links

    def send(self, message: Message) -> None:
        """Send a message to all at once; raises SendError when none of them accepted it."""
        alerts = alerts_of(message, self._links)
        answers = [
            (url, bounded.start(self._timeout_ms, partial(_posted, url, alerts, self._timeout_ms), url))
            for url in self._urls
        ]
        errors = [error for error in (_refusal(url, answer) for url, answer in answers) if error is not None]
        if len(errors) == len(self._urls):
            raise SendError("; ".join(errors))


def _posted(url: str, alerts: list[Alert], timeout_ms: int) -> requests.Response:
    return requests.post(url, json=alerts, timeout=timeout_ms * bounded.READ_S_A_MS, allow_redirects=False)


def _refusal(url: str, answer: Callable[[], requests.Response]) -> str | None:
    """Return why an Alertmanager did not accept the alerts, None if it did."""
    try:
        taken = answer()
    except Exception as error:  # requests lets errors of urllib3 and of host names through
        return without_secrets(one_line(error), url)
    if not _is_taken(taken):
        return f"{_shown(url)} answered HTTP {taken.status_code}"
    # Its API answers without a body or with JSON; many proxies ask for a login with a page.
    is_page = "html" in taken.headers.get("Content-Type", "")
    return f"{_shown(url)} answered with a web page, which is no Alertmanager's API" if is_page else None


def ping(url: str, timeout_ms: int) -> None:
    """Request a URL, so that the service there knows that notify runs; raises SendError."""
    try:
        ask = partial(requests.get, url, timeout=timeout_ms * bounded.READ_S_A_MS, allow_redirects=False)
        answer = bounded.within(timeout_ms, ask, url)
    except Exception as error:  # as above
        raise SendError(without_secrets(one_line(error), url)) from None
    if not _is_taken(answer):
        raise SendError(f"HTTP {answer.status_code}")


def _is_taken(answer: requests.Response) -> bool:
    """Tell whether a receiver took a request: a redirection does not, for many proxies ask for a login that way."""
    return 200 <= answer.status_code < 300


def without_secrets(text: str, url: str) -> str:
    """Return a text with a URL reduced to its scheme, host and port."""
    parts = urlsplit(url)
    words = {word for word in re.split(r"[/:@?&=,#]", url) if len(word) >= SECRET_FROM_CHARACTERS}
    words |= {unquote(word) for word in words}
    open_words = {parts.scheme, _hostname(url), "alerts"}
    for word in sorted(words - open_words, key=len, reverse=True):
        text = text.replace(word, MASK)
    return str(masked(text))


def _hostname(url: str) -> str | None:
    """Return what is certainly a host: many of apprise's URLs have a token in its place."""
    host = urlsplit(url).hostname
    return host if urlsplit(url).scheme in ("http", "https", "json", "jsons") else None


def _shown(url: str) -> str:
    parts = urlsplit(url)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], "", "", ""))


class _Warnings(logging.Handler):
    """Collects the errors that apprise logs on this thread."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.said: list[str] = []
        self._thread = threading.get_ident()

    def emit(self, record: logging.LogRecord) -> None:
        """Collect one line."""
        if record.thread == self._thread:
            self.said.append(" ".join(record.getMessage().split()))


@contextmanager
def _apprise_warnings() -> Iterator[list[str]]:
    """Yield apprise's log lines; they go nowhere else, since they may contain secrets."""
    APPRISE_LOG.propagate = False
    handler = _Warnings()
    APPRISE_LOG.addHandler(handler)
    try:
        yield handler.said
    finally:
        APPRISE_LOG.removeHandler(handler)
