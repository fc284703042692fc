"""The web application: every page is rendered on the server from the tables; nothing can be changed."""

import hmac
import json
from collections.abc import Callable
from typing import Any, TypeVar

import msgspec
from flask import Flask, Response, abort, render_template, request
from markupsafe import Markup, escape
from werkzeug.exceptions import HTTPException

from logdirwatch.config.listen import address
from logdirwatch.config.section import DAY_MS, HOUR_MS
from logdirwatch.console.chart import chart
from logdirwatch.console.reading import Reader
from logdirwatch.console.settings import ConsoleSettings
from logdirwatch.errors import UserError
from logdirwatch.report import alerts as alert_words
from logdirwatch.report.actions import listing as action_words
from logdirwatch.report.status import ages, counts
from logdirwatch.report.status.cluster import ClusterStatus, LogDir
from logdirwatch.report.status.snapshot import Patience, statuses
from logdirwatch.report.words import place
from logdirwatch.store.schema.definitions import BROKER_STATE, LOG_DIR_STATE
from logdirwatch.text.units import human_bytes, human_count, human_ms, human_rate, human_ratio
from logdirwatch.text.words import utc

Part = TypeVar("Part")

SPANS_MS = {"6h": 6 * HOUR_MS, "24h": DAY_MS, "7d": 7 * DAY_MS}
SIGNS = {"filling": "▲", "critical": "▲▲", "saturated": "■", "offline": "✖", "unknown": "?", "degraded": "▲"}
HEADERS = {
    "Content-Security-Policy": "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}


def application(reader: Reader, settings: ConsoleSettings, patience: Patience, now_ms: Callable[[], int]) -> Flask:
    """Return the application; ``reader`` is queried for every page."""
    app = Flask(__name__)
    app.jinja_env.filters.update(
        bytes=_size,
        rate=human_rate,
        ratio=human_ratio,
        count=human_count,
        ms=human_ms,
        utc=utc,
        exact=_exact,
        sign=lambda status: SIGNS.get(status, ""),
    )
    app.jinja_env.globals.update(
        place=place, meaning=alert_words.meaning, refresh_s=settings.refresh_s, spans=list(SPANS_MS)
    )
    app.before_request(lambda: _guarded(settings))
    app.after_request(_with_headers)
    pages = Pages(reader, patience, now_ms)
    app.register_error_handler(UserError, lambda error: pages.refused("Cannot be read", _sentence(str(error)), 503))
    app.register_error_handler(
        HTTPException, lambda error: pages.refused(error.name, error.description or error.name, error.code or 500)
    )
    for path, name in PATHS.items():
        app.get(path, endpoint=name)(getattr(pages, name))
    # Browsers request it on their own, for the JSON too.
    app.get("/favicon.ico")(lambda: app.send_static_file("icon.svg"))
    return app


PATHS = {
    "/": "fleet",
    "/directory": "directory",
    "/alerts/<alert_id>": "alert",
    "/actions": "actions",
    "/actions/<action_id>": "action",
    "/actions/<action_id>.json": "action_json",
}


class Pages:
    """The pages by name, rendered from the reader's present data."""

    def __init__(self, reader: Reader, patience: Patience, now_ms: Callable[[], int]) -> None:
        self._reader, self._patience, self._now_ms = reader, patience, now_ms

    def fleet(self) -> str:
        """Return the open alerts and every directory."""
        snapshot, unreadable = self._reader.snapshot()
        alerts = None if snapshot.alerts is None else alert_words.listed(snapshot.alerts, everything=False)
        found, unread = statuses(snapshot, self._now_ms(), self._patience), [_sentence(text) for text in unreadable]
        return self._shown("fleet.html", found, clusters=found, alerts=alerts, unread=unread, counted=counts.one_liners)

    def directory(self) -> str:
        """Return one directory's use, history and replicas."""
        cluster, broker, log_dir = _asked("cluster"), _number("broker"), _asked("log_dir")
        row = self._reader.directory(cluster, broker, log_dir)
        if row is None:
            abort(404, f"{place(cluster, broker, log_dir)} is not in the tables")
        now, span = self._now_ms(), request.args.get("span", "24h")
        from_ms = now - SPANS_MS.get(span, DAY_MS)
        snapshot, _ = self._reader.snapshot([BROKER_STATE.name, LOG_DIR_STATE.name])
        found = statuses(snapshot, now, self._patience)
        status, parts = next((one for one in found if one.cluster == cluster), None), Parts()
        points = parts.read(lambda: self._reader.history(cluster, broker, log_dir, from_ms, now))
        content = {
            "chart": chart(points, from_ms, now, row["full_at_ms"], now + (now - from_ms) // 3),
            "transitions": parts.read(lambda: self._reader.transitions(cluster, broker, log_dir)),
            "replicas": parts.read(lambda: self._reader.replicas(cluster, broker, log_dir)),
            "status": status,
            "now": _now_of(status, broker, log_dir),
        }
        return self._shown("directory.html", found, row=row, span=span, unread=parts.unread, **content)

    def alert(self, alert_id: str) -> str:
        """Return one alert with its revisions and actions."""
        life = self._reader.alert(alert_id)
        if not life:
            abort(404, f"no alert {alert_id} in the tables")
        evidence = json.dumps(msgspec.to_builtins(life[0].evidence), indent=2, sort_keys=True)
        parts = Parts()
        actions = action_words.listed(parts.read(lambda: self._reader.actions_of(alert_id)), everything=True)
        content: dict[str, Any] = {"alert": life[0], "life": life, "evidence": evidence, "actions": actions}
        return self._shown("alert.html", unread=parts.unread, **content)

    def actions(self) -> str:
        """Return the open actions."""
        stored = self._reader.open_actions()
        listed = None if stored is None else action_words.listed(stored, everything=False)
        return self._shown("actions.html", actions=listed)

    def action(self, action_id: str) -> str:
        """Return one action with its commands."""
        found = _found(self._reader, action_id)
        return self._shown("action.html", action=found, details=action_words.details(found, self._now_ms()))

    def action_json(self, action_id: str) -> Response:
        """Return one action as its record."""
        return Response(msgspec.json.encode(_found(self._reader, action_id)), mimetype="application/json")

    def refused(self, title: str, what: str, code: int) -> tuple[str, int]:
        """Return a page that says why another cannot be shown."""
        return self._shown("error.html", [], title=title, what=what), code

    def _shown(self, name: str, found: list[ClusterStatus] | None = None, **content: Any) -> str:
        """Return a page with the warnings about clusters, such as that they are not monitored, on top."""
        now = self._now_ms()
        of_all = statuses(self._reader.heads(), now, self._patience) if found is None else found
        loud = [(one.cluster, text) for one in of_all for text in ages.loud(one, now)]
        return render_template(name, now_ms=now, loud=loud, **content)


def _found(reader: Reader, action_id: str) -> Any:
    found = reader.action(action_id)
    if found is None:
        abort(404, f"no action {action_id} in the tables")
    return found


class Parts:
    """The parts of a page: one whose table cannot be read is listed in ``unread`` and hides no other."""

    def __init__(self) -> None:
        self.unread: list[str] = []

    def read(self, ask: Callable[[], list[Part]]) -> list[Part]:
        """Return the result, empty if it cannot be read."""
        try:
            return ask()
        except UserError as error:
            self.unread.append(_sentence(str(error)))
            return []


def _now_of(status: ClusterStatus | None, broker: int, log_dir: str) -> LogDir | None:
    """Return a directory from the status of its cluster."""
    brokers = [] if status is None else status.brokers or []
    log_dirs = [one for found in brokers if found.broker == broker for one in found.log_dirs or ()]
    return next((one for one in log_dirs if one.log_dir == log_dir), None)


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


def _size(size_bytes: float | None) -> str:
    return "unknown" if size_bytes is None else human_bytes(size_bytes)


def _exact(text: str) -> Markup:
    """Escape a text so that carriage returns survive, which a browser would turn into line ends."""
    return escape(text).replace("\r", Markup("&#13;"))


def _asked(name: str) -> str:
    value = request.args.get(name, "")
    if not value:
        abort(400, f"{name} is missing from the address")
    return value


def _number(name: str) -> int:
    value = _asked(name)
    if not (value.isascii() and value.isdecimal() and len(value) < 11):
        abort(400, f"{name} must be a number")
    return int(value)


def _guarded(settings: ConsoleSettings) -> Response | None:
    """Refuse requests by another host name (DNS rebinding) or without the password."""
    if settings.is_local and not _is_of_this_machine(request.host, settings):
        abort(403, "this console answers only at its configured address")
    if settings.password is None:
        return None
    given = request.authorization
    user, password = (given.username or "", given.password or "") if given is not None else ("", "")
    is_user = hmac.compare_digest(user.encode(), settings.user.encode())
    is_known = hmac.compare_digest(password.encode(), settings.password.get_secret_value().encode())
    if is_user and is_known:
        return None
    return Response(
        "authentication required\n", 401, {"WWW-Authenticate": 'Basic realm="logdirwatch", charset="UTF-8"'}
    )


def _is_of_this_machine(host: str, settings: ConsoleSettings) -> bool:
    name = host.rpartition(":")[0] if not host.endswith("]") and ":" in host else host
    return name.strip("[]") in {"localhost", "127.0.0.1", "::1", address(settings.listen)[0]}


def _with_headers(response: Response) -> Response:
    response.headers.update(HEADERS)
    return response
