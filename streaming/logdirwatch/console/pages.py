"""The web application: every page is made on the server, from the tables, and changes nothing."""

import hmac
import json
from collections.abc import Callable
from typing import Any

import msgspec
from flask import Flask, Response, abort, render_template, request
from markupsafe import Markup, escape
from werkzeug.exceptions import HTTPException

from logdirwatch.console.chart import chart
from logdirwatch.console.reading import Reader
from logdirwatch.console.settings import ConsoleSettings
from logdirwatch.detect.settings import DAY_MS, HOUR_MS
from logdirwatch.errors import UserError
from logdirwatch.observe.settings import address
from logdirwatch.report import actions as action_words
from logdirwatch.report import alerts as alert_words
from logdirwatch.report.snapshot import Patience, age, is_stale, statuses
from logdirwatch.report.units import human_bytes, human_ms
from logdirwatch.report.words import place, utc

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
    """Return the application; ``reader`` is asked anew for every page."""
    app = Flask(__name__)
    app.jinja_env.filters.update(
        bytes=_size, ms=human_ms, utc=utc, exact=_exact, sign=lambda status: SIGNS.get(status, "")
    )
    app.jinja_env.globals.update(
        place=place, meaning=alert_words.meaning, refresh_s=settings.refresh_s, spans=list(SPANS_MS)
    )
    app.before_request(lambda: _guarded(settings))
    app.after_request(_with_headers)
    app.register_error_handler(UserError, lambda error: (_page("error.html", now_ms(), what=str(error)), 503))
    app.register_error_handler(HTTPException, lambda error: _failed(error, now_ms()))

    @app.get("/")
    def fleet() -> str:
        snapshot = reader.snapshot()
        alerts = None if snapshot.alerts is None else alert_words.listed(snapshot.alerts, everything=False)
        return _page("fleet.html", now_ms(), clusters=statuses(snapshot, now_ms(), patience), alerts=alerts)

    @app.get("/directory")
    def directory() -> str:
        cluster, broker, log_dir = _asked("cluster"), _number("broker"), _asked("log_dir")
        row = reader.directory(cluster, broker, log_dir)
        if row is None:
            abort(404, f"{place(cluster, broker, log_dir)} is not in the tables")
        now, span = now_ms(), request.args.get("span", "24h")
        from_ms = now - SPANS_MS.get(span, DAY_MS)
        points = reader.history(cluster, broker, log_dir, from_ms, now)
        drawn = chart(points, from_ms, now, row["full_at_ms"], now + (now - from_ms) // 3)
        newest_ms = reader.newest_ms(cluster)
        parts = {
            "age_ms": age(newest_ms, now),
            "is_stale": is_stale(newest_ms, now, patience.state_ms),
            "transitions": reader.transitions(cluster, broker, log_dir),
            "replicas": reader.replicas(cluster, broker, log_dir),
        }
        return _page("directory.html", now, row=row, chart=drawn, span=span, **parts)

    @app.get("/alerts/<alert_id>")
    def alert(alert_id: str) -> str:
        life = reader.alert(alert_id)
        if not life:
            abort(404, f"no alert {alert_id} in the tables")
        evidence = json.dumps(msgspec.to_builtins(life[0].evidence), indent=2, sort_keys=True)
        actions = action_words.listed(reader.actions_of(alert_id), everything=True)
        return _page("alert.html", now_ms(), alert=life[0], life=life, evidence=evidence, actions=actions)

    @app.get("/actions")
    def actions() -> str:
        stored = reader.open_actions()
        listed = None if stored is None else action_words.listed(stored, everything=False)
        return _page("actions.html", now_ms(), actions=listed)

    @app.get("/actions/<action_id>")
    def action(action_id: str) -> str:
        found = _found(reader, action_id)
        return _page("action.html", now_ms(), action=found, details=action_words.details(found, now_ms()))

    @app.get("/actions/<action_id>.json")
    def action_json(action_id: str) -> Response:
        return Response(msgspec.json.encode(_found(reader, action_id)), mimetype="application/json")

    @app.get("/favicon.ico")
    def icon() -> Response:
        # Browsers ask for it on their own, for the JSON too.
        return app.send_static_file("icon.svg")

    return app


def _found(reader: Reader, action_id: str) -> Any:
    found = reader.action(action_id)
    if found is None:
        abort(404, f"no action {action_id} in the tables")
    return found


def _page(name: str, now: int, **content: Any) -> str:
    return render_template(name, now_ms=now, **content)


def _size(size_bytes: float | None) -> str:
    return "not known" if size_bytes is None else human_bytes(size_bytes)


def _exact(text: str) -> Markup:
    """Escape a text such that its carriage returns survive, which a browser takes for ends of lines otherwise."""
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
    """Refuse a page that pretends to be this machine (DNS rebinding), and whoever does not know the password."""
    if settings.is_local and not _is_of_this_machine(request.host, settings):
        abort(403, "this console answers to the address it was given only")
    if settings.password is None:
        return None
    given = request.authorization
    user, password = (given.username or "", given.password or "") if given is not None else ("", "")
    is_user = hmac.compare_digest(user.encode(), settings.user.encode())
    is_known = hmac.compare_digest(password.encode(), settings.password.get_secret_value().encode())
    if is_user and is_known:
        return None
    return Response("who are you?\n", 401, {"WWW-Authenticate": 'Basic realm="logdirwatch", charset="UTF-8"'})


def _is_of_this_machine(host: str, settings: ConsoleSettings) -> bool:
    name = host.rpartition(":")[0] if not host.endswith("]") and ":" in host else host
    return name.strip("[]") in {"localhost", "127.0.0.1", "::1", address(settings.listen)[0]}


def _with_headers(response: Response) -> Response:
    response.headers.update(HEADERS)
    return response


def _failed(error: HTTPException, now: int) -> tuple[str, int]:
    return _page("error.html", now, what=error.description or error.name), error.code or 500
