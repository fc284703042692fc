"""Logging in and out: the pages, the cookie, and the visitor of a page."""

import ipaddress
from collections.abc import Callable
from typing import Any, NamedTuple

import structlog
from flask import Flask, abort, g, make_response, redirect, request, url_for
from werkzeug.wrappers import Response as AnyResponse

from logdirwatch.console.login.sessions import Notice, Session, Sessions, new_identity
from logdirwatch.console.login.tries import Tries, keys_of
from logdirwatch.console.login.users import MOST_CHARACTERS, NAME, Users
from logdirwatch.console.settings import LoginSettings
from logdirwatch.errors import UserError
from logdirwatch.text.units import human_ms

log = structlog.get_logger(__name__)

Show = Callable[..., str]
"""Renders a template by its name."""

PLAIN_COOKIE, SECURE_COOKIE = "logdirwatch", "__Host-logdirwatch"
"""A browser takes a cookie with that prefix only from this host, over TLS, and for all paths."""
PASSED_ON = frozenset({"forwarded", "via", "x-forwarded-for", "x-forwarded-proto", "x-real-ip"})
"""The headers with which proxies mark forwarded requests."""
WRONG = "The name or the password is wrong."
PLAIN = (
    "this connection is not encrypted, so a password would be readable on the way: open the console over TLS "
    "(console.login.behind_tls_proxy), or on its own machine"
)


class Visitor(NamedTuple):
    """The visitor of a page: ``identity`` is the id in the cookie, ``session`` None if not logged in."""

    identity: str | None = None
    session: Session | None = None


class Gate:
    """The login of one console; sessions and waits last by the clock ``monotonic_ms``."""

    def __init__(self, settings: LoginSettings, users: Users, monotonic_ms: Callable[[], int]) -> None:
        self._users, self._now_ms, self._lasting_ms = users, monotonic_ms, settings.session_ms
        self._has_proxy = settings.behind_tls_proxy
        self._sessions, self._tries = Sessions(settings.session_ms), Tries()

    def register(self, app: Flask, show: Show) -> None:
        """Add the routes; ``show`` renders a template."""
        self._show = show
        app.context_processor(self.context)
        app.get("/login", endpoint="login")(self.form)
        app.post("/login", endpoint="log_in")(self.log_in)
        app.post("/logout", endpoint="log_out")(self.log_out)

    def context(self) -> dict[str, Any]:
        """Return the template variables about the visitor."""
        visitor = self.visitor()
        if visitor.session is None:
            return {"has_login": True, "user": None}
        return {
            "has_login": True,
            "user": visitor.session.user,
            "csrf": self._sessions.csrf(visitor.identity or ""),
            "notice": visitor.session.taken_notice(),
        }

    def visitor(self) -> Visitor:
        """Return the visitor of the present page."""
        if "visitor" not in g:
            g.visitor = self._visitor()
        found: Visitor = g.visitor
        return found

    def user(self) -> Session:
        """Return the session of a form's sender.

        Refuses visitors without one, and forms that no page of ours contains.
        """
        visitor = self.visitor()
        if visitor.session is None:
            abort(403, "log in first: nobody is logged in here, or the session ended")
        self._check_form(visitor)
        return visitor.session

    def form(self, text: str | None = None, code: int = 200) -> AnyResponse:
        """Return the login form; logged-in users are redirected."""
        visitor = self.visitor()
        if visitor.session is not None:
            return redirect(_next(), 303)
        identity = visitor.identity or new_identity()
        content = {
            "csrf": self._sessions.csrf(identity),
            "refused": None if self._is_private() else PLAIN,
            "text": text,
            "next": _next(),
        }
        answer = make_response(self._show("login.html", [], **content), code)
        if visitor.identity is None:
            self._set_cookie(answer, identity)
        return answer

    def log_in(self) -> AnyResponse:
        """Check name and password, and open a session with a cookie of its own."""
        if not self._is_private():
            abort(403, PLAIN)
        self._check_form(self.visitor())
        name, password = request.form.get("name", ""), request.form.get("password", "")
        if not NAME.fullmatch(name) or len(password) > MOST_CHARACTERS:
            # Counted and hashed like all others.
            name, password = name[:64] or " ", password[:MOST_CHARACTERS]
        now_ms, address = self._now_ms(), request.remote_addr or ""
        keys = keys_of(name, address)
        if wait_ms := self._tries.begin(keys, now_ms):
            if self._tries.is_news(keys, now_ms):
                log.warning("console.login_delayed", address=address, wait=human_ms(wait_ms))
            return self.form(f"Too many failed tries: try again in {human_ms(max(1_000, wait_ms))}.", 429)
        hashed = self._users.hash_for(name, password)
        if hashed is None:
            log.warning("console.login_failed", user=self._known(name), address=address)
            return self.form(WRONG, 403)
        self._tries.succeeded(*keys)
        log.info("console.login", user=name, address=address)
        answer = redirect(_next(), 303)
        self._set_cookie(answer, self._sessions.begin(name, hashed, now_ms))
        return answer

    def log_out(self) -> AnyResponse:
        """End the session."""
        session, identity = self.user(), self.visitor().identity
        self._sessions.end(identity or "")
        log.info("console.logout", user=session.user, address=request.remote_addr)
        answer = redirect(url_for("fleet"), 303)
        answer.delete_cookie(_cookie_name(), secure=request.is_secure, httponly=True, samesite="Strict")
        return answer

    def _visitor(self) -> Visitor:
        identity = self._sessions.identity(request.cookies.get(_cookie_name(), ""))
        session = None if identity is None else self._sessions.find(identity, self._now_ms())
        if session is None or not self._is_private():
            return Visitor(identity)
        return Visitor(identity, session if self._is_current(session) else None)

    def _is_private(self) -> bool:
        """Tell whether the request cannot be intercepted: it used TLS, or came from this machine.

        A request that another program on this machine forwards does not count as from this machine.
        """
        if self._has_proxy or request.is_secure:
            return request.is_secure
        if PASSED_ON.intersection(name.lower() for name, _ in request.headers):
            return False
        try:
            return ipaddress.ip_address(request.remote_addr or "").is_loopback
        except ValueError:
            return False

    def _is_current(self, session: Session) -> bool:
        """Tell whether the user is still in the file, with the same password."""
        try:
            return self._users.hashes().get(session.user) == session.hashed
        except UserError as error:
            log.warning("console.no_users", error=str(error))
            return False

    def _check_form(self, visitor: Visitor) -> None:
        token = request.form.get("csrf", "")
        if visitor.identity is None or not self._sessions.is_csrf(visitor.identity, token):
            abort(403, "this form does not belong to your session: open the page again")

    def _known(self, name: str) -> str:
        """Return the name for the log; one that is no user's may be a password typed into the wrong field."""
        return name if name in self._users.hashes() else "(unknown)"

    def _set_cookie(self, answer: AnyResponse, identity: str) -> None:
        answer.set_cookie(
            _cookie_name(),
            self._sessions.cookie(identity),
            max_age=self._lasting_ms // 1000,
            path="/",
            secure=request.is_secure,
            httponly=True,
            samesite="Strict",
        )


def said(session: Session, text: str, *, is_error: bool = False) -> None:
    """Show a result on the next page."""
    session.notice = Notice(text, is_error)


def _cookie_name() -> str:
    return SECURE_COOKIE if request.is_secure else PLAIN_COOKIE


def _next() -> str:
    """Return the page to continue with: one of this console, never an external address."""
    path = request.values.get("next", "")
    is_ours = path.startswith("/") and not path.startswith("//") and "\\" not in path and path.isprintable()
    return path if is_ours else url_for("fleet")
