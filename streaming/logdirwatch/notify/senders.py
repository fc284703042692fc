"""Hands messages over: to services by apprise, to Alertmanagers by HTTP. No error ever shows a URL's secrets."""

import logging
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol
from urllib.parse import quote, unquote, urlsplit, urlunsplit

import apprise
import requests
from apprise import NotifyBase, NotifyFormat, NotifyType
from apprise.conversion import convert_between

from logdirwatch.errors import UserError
from logdirwatch.kafka.clients import one_line
from logdirwatch.model.vocabulary import Severity
from logdirwatch.notify.alertmanager import Alert, alerts_of
from logdirwatch.notify.groups import Message
from logdirwatch.notify.settings import NotifySettings, ReceiverSettings
from logdirwatch.notify.wording import Text, text_of
from logdirwatch.text.masking import MASK, masked

GROUP = "{group}"
SECRET_FROM_CHARACTERS = 5
APPRISE_LOG = logging.getLogger("apprise")
_KINDS = {
    None: NotifyType.SUCCESS,
    Severity.INFO: NotifyType.INFO,
    Severity.WARNING: NotifyType.WARNING,
    Severity.CRITICAL: NotifyType.FAILURE,
    Severity.PAGE: NotifyType.FAILURE,
}


class SendError(Exception):
    """A message did not arrive; one line that shows no secret."""


class Sender(Protocol):
    """One way to one receiver."""

    tells_resolved: bool
    keeps_alive: bool

    def send(self, message: Message) -> None:
        """Hand a message over; raises SendError when it did not arrive."""


def hand_over(sender: Sender, message: Message) -> None:
    """Send a message, unless it tells of an end to somebody who does not want to hear of one; raises SendError."""
    if message.firing or sender.tells_resolved:
        sender.send(message)


def senders(settings: NotifySettings) -> dict[str, dict[str, Sender]]:
    """Return the ways to every receiver: one for each URL, since each may be away on its own, by their names.

    Raises UserError naming a URL that apprise does not know by its place, never by what it is.
    """
    found: dict[str, dict[str, Sender]] = {}
    for name, receiver in settings.receivers.items():
        ways = list(_ways(name, receiver, settings))
        found[name] = {name if len(ways) == 1 else f"{name}#{number}": way for number, way in enumerate(ways, 1)}
    return found


def _ways(name: str, receiver: ReceiverSettings, settings: NotifySettings) -> Iterator[Sender]:
    for number, url in enumerate(receiver.all_urls(name), 1):
        if service(url) is None:
            raise UserError(
                f"notify.receivers.{name}: URL {number} is none that apprise {apprise.__version__} knows; the forms: "
                "https://appriseit.com/services/",
                exit_code=2,
            )
        yield Service(url, settings.send_timeout_ms, tells_resolved=receiver.tells_resolved)
    if receiver.alertmanager:
        yield Alertmanagers([url.get_secret_value() for url in receiver.alertmanager], settings)


def service(url: str, group: str = "0") -> NotifyBase | None:
    """Return apprise's service behind a URL, without connecting; None when it knows none."""
    with _apprise_warnings():
        made = apprise.Apprise.instantiate(url.replace(GROUP, quote(group, safe="")), suppress_exceptions=True)
    if isinstance(made, NotifyBase) and "overflow=" not in url:
        made.overflow_mode = apprise.OverflowMode.TRUNCATE  # what is too long is cut, not refused
    return made if isinstance(made, NotifyBase) else None


class Service:
    """A service that apprise knows; ``{group}`` in its URL becomes the group's own id."""

    keeps_alive = False

    def __init__(self, url: str, timeout_ms: int = 10_000, *, tells_resolved: bool = True) -> None:
        self.tells_resolved = tells_resolved
        self._timeout_s = timeout_ms / 1000
        self._url = url
        self._made: NotifyBase | None = None

    def send(self, message: Message) -> None:
        """Hand a message over; raises SendError."""
        self.say(text_of(message), message.group.fixed_id)

    def say(self, text: Text, group: str) -> None:
        """Hand a text over; raises SendError."""
        if self._made is None or GROUP in self._url:
            self._made = service(self._url, group)
        if self._made is None:
            raise SendError("apprise does not know its URL")
        if "rto=" not in self._url:
            self._made.socket_read_timeout = self._timeout_s
        with _apprise_warnings() as said:
            try:
                arrived = self._made.notify(**_as_text(self._made, text), notify_type=_KINDS[text.severity])
            except Exception as error:  # a service's own code: whatever it is, the message did not arrive
                raise SendError(without_secrets(one_line(error), self._url)) from None
        if not arrived:
            raise SendError(without_secrets("; ".join(said) or "the service refused it", self._url))


def _as_text(service: NotifyBase, text: Text) -> dict[str, Any]:
    """Return a text as a service takes it: what is told is neither HTML nor Markdown, and mentions nobody.

    What ``Apprise.notify`` does for several services; it runs them in threads, where what went wrong is not heard.
    """
    form = service.resolve_format(NotifyFormat.TEXT)
    # A service without titles has it in the body.
    title = text.title if service.title_maxlen > 0 else _converted(text.title, form)
    return {"title": title, "body": _converted(text.body, form), "body_format": form, "body_passthrough": False}


def _converted(text: str, form: NotifyFormat) -> str:
    return str(convert_between(NotifyFormat.TEXT, form, text))  # type: ignore[no-untyped-call]


class Alertmanagers:
    """Alertmanagers that belong together: each gets every alert, and one that took it is enough."""

    tells_resolved = keeps_alive = True

    def __init__(self, urls: list[str], settings: NotifySettings) -> None:
        self._urls = [f"{url.rstrip('/')}/api/v2/alerts" for url in urls]
        self._resend_ms = settings.resend_interval_ms
        self._timeout_s = settings.send_timeout_ms / 1000

    def send(self, message: Message) -> None:
        """Hand a message over; raises SendError when none of them took it."""
        alerts = alerts_of(message, self._resend_ms)
        errors = [error for error in (self._post(url, alerts) for url in self._urls) if error is not None]
        if len(errors) == len(self._urls):
            raise SendError("; ".join(errors))

    def _post(self, url: str, alerts: list[Alert]) -> str | None:
        try:
            answer = requests.post(url, json=alerts, timeout=self._timeout_s, allow_redirects=False)
        except requests.RequestException as error:
            return without_secrets(one_line(error), url)
        # A redirection took nothing either: it is how many a proxy asks for a login.
        is_taken = 200 <= answer.status_code < 300
        return None if is_taken else f"{_shown(url)} answered HTTP {answer.status_code}"


def ping(url: str, timeout_ms: int) -> None:
    """Ask a URL, so that who listens there knows that this runs; raises SendError."""
    try:
        answer = requests.get(url, timeout=timeout_ms / 1000)
    except requests.RequestException as error:
        raise SendError(without_secrets(one_line(error), url)) from None
    if not answer.ok:
        raise SendError(f"HTTP {answer.status_code}")


def without_secrets(text: str, url: str) -> str:
    """Return a text in which nothing of a URL stands but its scheme, host and port."""
    parts = urlsplit(url)
    words = {word for word in re.split(r"[/:@?&=,#]", url) if len(word) >= SECRET_FROM_CHARACTERS}
    words |= {unquote(word) for word in words}
    open_words = {parts.scheme, _hostname(url), "alerts"}
    for word in sorted(words - open_words, key=len, reverse=True):
        text = text.replace(word, MASK)
    return str(masked(text))


def _hostname(url: str) -> str | None:
    """Return what is surely a host: in many of apprise's URLs a token stands in its place."""
    host = urlsplit(url).hostname
    return host if urlsplit(url).scheme in ("http", "https", "json", "jsons") else None


def _shown(url: str) -> str:
    parts = urlsplit(url)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], "", "", ""))


class _Warnings(logging.Handler):
    """Keeps what this thread's apprise says went wrong."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.said: list[str] = []
        self._thread = threading.get_ident()

    def emit(self, record: logging.LogRecord) -> None:
        """Take one line."""
        if record.thread == self._thread:
            self.said.append(" ".join(record.getMessage().split()))


@contextmanager
def _apprise_warnings() -> Iterator[list[str]]:
    """Yield what apprise says meanwhile; its lines go nowhere else, since they may name what is secret."""
    APPRISE_LOG.propagate = False
    handler = _Warnings()
    APPRISE_LOG.addHandler(handler)
    try:
        yield handler.said
    finally:
        APPRISE_LOG.removeHandler(handler)
