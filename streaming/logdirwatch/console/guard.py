"""Who may see the console: requests for its own host names, with the password if there is one.

Every response has the headers that keep browsers from doing more with it.
"""

import gzip
import hashlib
import hmac
import secrets
from collections.abc import Callable

import structlog
from flask import Response, abort, g, request
from itsdangerous import BadSignature, Signer
from werkzeug.datastructures import Authorization

from logdirwatch.config.servers import address
from logdirwatch.console.login import workspace
from logdirwatch.console.login.sessions import new_identity
from logdirwatch.console.login.tries import Tries, keys_of
from logdirwatch.console.settings import ConsoleSettings
from logdirwatch.text.units import human_ms

log = structlog.get_logger(__name__)

COOKIE = "logdirwatch-known"
"""Marks a browser that has sent the password before, and gives no access: its own failures alone delay it, so that
somebody who guesses locks nobody else out (OWASP's device cookies)."""
COOKIE_LASTS_S = 30 * 24 * 3600
NO_PASSWORD = {"WWW-Authenticate": 'Basic realm="logdirwatch", charset="UTF-8"'}


class Guard:
    """Checks every request before anything else does; ``monotonic_ms`` is the clock of the waits after failures."""

    def __init__(self, settings: ConsoleSettings, monotonic_ms: Callable[[], int]) -> None:
        self._settings, self._monotonic_ms = settings, monotonic_ms
        self._tries = Tries()
        self._cookies = Signer(secrets.token_bytes(32), salt="logdirwatch known", digest_method=hashlib.sha256)

    def check(self) -> Response | None:
        """Refuse requests for another host name (DNS rebinding), without the password, or after too many failures."""
        if self._settings.databricks_app:
            return None if workspace.user() is not None else abort(403, "open this console as an App of its workspace")
        if self._settings.is_local and not _is_of_this_machine(request.host, self._settings):
            abort(403, "this console answers only at its configured address")
        if self._settings.password is None:
            return None
        if _given() is None:
            return Response("authentication required\n", 401, NO_PASSWORD)
        keys, now_ms = self._keys(), self._monotonic_ms()
        if wait_ms := self._tries.wait_ms(keys, now_ms):
            return self._delayed(keys, wait_ms, now_ms)
        if not self._is_known():
            self._tries.count(keys, now_ms)
            log.warning("console.password_failed", address=request.remote_addr)
            return Response("authentication required\n", 401, NO_PASSWORD)
        self._tries.forgive(keys[0])
        g.is_new_browser = self._browser() is None
        return None

    def mark(self, response: Response) -> Response:
        """Give a browser that has sent the password its cookie."""
        if g.get("is_new_browser"):
            marked = self._cookies.sign(new_identity()).decode()
            response.set_cookie(
                COOKIE, marked, COOKIE_LASTS_S, secure=request.is_secure, httponly=True, samesite="Strict"
            )
        return response

    def _delayed(self, keys: tuple[str, ...], wait_ms: int, now_ms: int) -> Response:
        if self._tries.is_news(keys, now_ms):
            log.warning("console.password_delayed", address=request.remote_addr, wait=human_ms(wait_ms))
        wait_s = -(-wait_ms // 1000)
        return Response(f"too many failed tries: try again in {wait_s} s\n", 429, {"Retry-After": str(wait_s)})

    def _is_known(self) -> bool:
        given, settings = _given(), self._settings
        assert settings.password is not None
        user, password = (given.username or "", given.password or "") if given is not None else ("", "")
        is_user = hmac.compare_digest(user.encode(), settings.user.encode())
        return hmac.compare_digest(password.encode(), settings.password.get_secret_value().encode()) and is_user

    def _keys(self) -> tuple[str, ...]:
        """Return what failures are counted by: the account and the address, or a browser that is known."""
        browser = self._browser()
        if browser is not None:
            return (f"browser {browser}",)
        return keys_of(self._settings.user, request.remote_addr or "")

    def _browser(self) -> str | None:
        try:
            return self._cookies.unsign(request.cookies.get(COOKIE, "")).decode("ascii")
        except (BadSignature, UnicodeError):
            return None


def _given() -> Authorization | None:
    """Return what the request authenticates with; a header that cannot be read is none."""
    try:
        return request.authorization
    except ValueError:  # Werkzeug lets errors of base64 through
        return None


def _is_of_this_machine(host: str, settings: ConsoleSettings) -> bool:
    name = host.rpartition(":")[0] if not host.endswith("]") and ":" in host else host
    return name.strip("[]") in {"localhost", "127.0.0.1", "::1", address(settings.listen)[0]}


HEADERS = {
    # The style sheet has its arrows and magnifying glass as data: URLs, which fetch nothing.
    "Content-Security-Policy": "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
}
LEAST_BYTES = 1_000
"""Below this, compression saves no packet."""
LEVEL = 5


def finished(response: Response) -> Response:
    """Add the headers, and compress a page if the browser supports it."""
    response.headers.update(HEADERS)
    # A browser may cache style and script if it revalidates them each time; pages must not be cached.
    response.headers["Cache-Control"] = "no-cache" if request.endpoint == "static" else "no-store"
    is_static = response.direct_passthrough
    if is_static or not request.accept_encodings["gzip"] or len(response.get_data()) < LEAST_BYTES:
        return response
    response.set_data(gzip.compress(response.get_data(), LEVEL, mtime=0))
    response.headers["Content-Encoding"] = "gzip"
    response.vary.add("Accept-Encoding")
    return response
