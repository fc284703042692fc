"""The login of a workspace: a console that is a Databricks App believes what the App's proxy says of who asks.

Databricks opens an App only to users that its permissions name, and sends the App their address in a header. A request
past the proxy could carry any address, so the header is believed at the App's own port alone.
"""

import re
from collections.abc import Mapping
from typing import Any

from flask import abort, request

from logdirwatch.console.login.sessions import MOST_SESSIONS, Session, Sessions
from logdirwatch.errors import UserError

HEADER = "X-Forwarded-Email"
PORT = "DATABRICKS_APP_PORT"
_USER = re.compile(r"[^\s\x00-\x1f\x7f]{1,254}")


def app_address(environ: Mapping[str, str]) -> tuple[str, int]:
    """Return where an App has to listen; raises UserError where there is no App."""
    port = environ.get(PORT, "")
    if not port.isdecimal():
        raise UserError(
            f"console.databricks_app: this is no Databricks App ({PORT} is not set); elsewhere anybody could say who "
            "they are, so use console.password and console.login",
            exit_code=2,
        )
    return "0.0.0.0", int(port)  # noqa: S104 - the proxy of the App is another machine


def user() -> str | None:
    """Return who asks, as the proxy says; None if it does not."""
    name = request.headers.get(HEADER, "")
    return name if _USER.fullmatch(name) else None


class Workspace:
    """The users of a workspace, who are logged in already; ``user`` and ``context`` are as those of ``Gate``."""

    def __init__(self) -> None:
        self._forms = Sessions(0)
        self._known: dict[str, Session] = {}

    def context(self) -> dict[str, Any]:
        """Return the template variables about the visitor."""
        session = self._session()
        if session is None:
            return {}
        return {
            "user": session.user,
            "csrf": self._forms.csrf(session.user),
            "notice": session.taken_notice(),
        }

    def user(self) -> Session:
        """Return the session of a form's sender; refuses forms that no page of ours contains."""
        session = self._session()
        if session is None or not self._forms.is_csrf(session.user, request.form.get("csrf", "")):
            abort(403, "this form does not belong to you: open the page again")
        return session

    def _session(self) -> Session | None:
        name = user()
        if name is None:
            return None
        if name not in self._known and len(self._known) >= MOST_SESSIONS:
            del self._known[next(iter(self._known))]
        return self._known.setdefault(name, Session(name, "", 0))
