"""A console with a login, as a client without a socket sees it, over decisions that are only written down."""

import re
from functools import cache
from html import unescape
from http.cookies import SimpleCookie

import requests
from werkzeug.security import generate_password_hash

from logdirwatch.console.pages import application
from logdirwatch.console.reading import Reader
from logdirwatch.console.settings import ConsoleSettings
from logdirwatch.decisions import AlertDecisions
from logdirwatch.errors import UnconfirmedError, UserError
from logdirwatch.model.records import DecisionRecord
from logdirwatch.report.status.snapshot import Patience
from tests.support.waiting import DEADLINE_S

PASSWORD = "correct horse battery"
PATIENCE = Patience(state_ms=60_000, inventory_ms=300_000, proof_ms=3_600_000, skew_ms=60_000)
LOCAL = {"REMOTE_ADDR": "127.0.0.1"}


class Written:
    """Decisions that are kept in a list; ``refusal`` is raised in place of each, ``handled`` is what an alert has."""

    def __init__(self, now_ms):
        self.now_ms = now_ms
        self.made = []
        self.refusal = None
        self.is_unconfirmed = False
        self.handled = AlertDecisions()

    def on_alert(self, decision, alert_id, severity, by, reason, lasting):
        return self._made(decision, alert_id, by, reason, severity, lasting)

    def withdraw(self, decision, alert_id, by, reason):
        return self._made(decision, alert_id, by, reason, "withdrawn")

    def on_action(self, decision, action_id, content_hash, by, reason):
        return self._made(decision, action_id, by, reason, content_hash)

    def about(self, alert, severities):
        if self.refusal:
            raise UserError(self.refusal)
        return self.handled

    def _made(self, decision, identity, by, reason, *about):
        if self.refusal:
            raise (UnconfirmedError if self.is_unconfirmed else UserError)(self.refusal)
        self.made.append((decision, identity, by, reason, *about))
        return DecisionRecord(version=1, id=identity, decision=decision, by=by, reason=reason, at_ms=self.now_ms())


def console(tables, path, decisions, now_ms, **login):
    """Return the application over a reader's functions, with the user ada."""
    path.write_text(f"ada:{_hashed()}\n")
    path.chmod(0o600)
    settings = ConsoleSettings(login={"users_file": str(path), **login})
    reader = Reader(tables.select, tables.rows)
    return application(reader, settings, PATIENCE, now_ms, decisions=decisions, monotonic_ms=now_ms)


@cache
def _hashed():
    """Hash the password once for all tests."""
    return generate_password_hash(PASSWORD)


class Browser:
    """A client that fills in the forms of the pages it gets."""

    def __init__(self, app, **environ):
        self.client = app.test_client()
        self.environ = {**LOCAL, **environ}
        self.base = f"{environ.get('wsgi.url_scheme', 'http')}://127.0.0.1:8787"

    def get(self, path, **more):
        return self.client.get(path, base_url=self.base, environ_overrides=self.environ, **more)

    def post(self, path, data, **more):
        return self.client.post(path, data=data, base_url=self.base, environ_overrides=self.environ, **more)

    def forms(self, path):
        """Return the fields of the forms of a page that send something, by their address."""
        found = re.findall(r'<form [^>]*method="post" action="([^"]*)">(.*?)</form>', self.get(path).text, re.DOTALL)
        return {unescape(action): fields(text) for action, text in found}

    def log_in(self, name="ada", password=PASSWORD, path="/login", **more):
        given = self.forms(path)["/login"]
        return self.post("/login", {**given, "name": name, "password": password}, **more)

    def send(self, path, action, **typed):
        """Send a form of a page with what is typed into it."""
        return self.post(action, {**self.forms(path)[action], **typed})


class Person(Browser):
    """A browser that speaks HTTP and keeps its cookies, also those that only TLS may carry: its proxy speaks it."""

    def __init__(self, base, **headers):
        self.base, self.headers, self.cookies = base, headers, {}

    def get(self, path):
        return self._asked("GET", path)

    def post(self, path, data):
        return self._asked("POST", path, data=data)

    def _asked(self, method, path, **more):
        cookie = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        headers = {**self.headers, **({"Cookie": cookie} if cookie else {})}
        answer = requests.request(
            method, f"{self.base}{path}", headers=headers, timeout=DEADLINE_S, allow_redirects=False, **more
        )
        for cookie in answer.raw.headers.getlist("Set-Cookie"):
            self.cookies.update({name: one.value for name, one in SimpleCookie(cookie).items()})
        return answer


def fields(text):
    """Return the value of each field of a form."""
    inputs = re.findall(r"<input ([^>]*)>", text)
    named = ((re.search(r'name="([^"]*)"', one), re.search(r'value="([^"]*)"', one)) for one in inputs)
    return {name[1]: unescape(value[1]) if value else "" for name, value in named if name}
