"""The sessions of logged-in users. They are kept in memory: a restart of the console ends all. Time is an argument."""

import hashlib
import secrets
import threading
from dataclasses import dataclass
from typing import NamedTuple

from itsdangerous import BadSignature, Signer

MOST_SESSIONS = 1_000


class Notice(NamedTuple):
    """A result shown once on the next page."""

    text: str
    is_error: bool


@dataclass
class Session:
    """A user who is logged in until ``ends_ms``; ``hashed`` is the hash of the password that was used."""

    user: str
    hashed: str
    ends_ms: int
    notice: Notice | None = None

    def taken_notice(self) -> Notice | None:
        """Return the notice, which is shown once."""
        found, self.notice = self.notice, None
        return found


class Sessions:
    """The open sessions by the id in the cookie, which is signed with a key of this process."""

    def __init__(self, lasting_ms: int, key: bytes | None = None) -> None:
        key = key or secrets.token_bytes(32)
        self._lasting_ms = lasting_ms
        self._cookies = Signer(key, salt="logdirwatch cookie", digest_method=hashlib.sha256)
        self._forms = Signer(key, salt="logdirwatch form", digest_method=hashlib.sha256)
        self._open: dict[str, Session] = {}
        self._lock = threading.Lock()

    def cookie(self, identity: str) -> str:
        """Return the value of the cookie with an id."""
        return self._cookies.sign(identity).decode()

    def identity(self, cookie: str) -> str | None:
        """Return the id in a cookie; None if this process did not sign it."""
        try:
            return self._cookies.unsign(cookie).decode("ascii")
        except (BadSignature, UnicodeError):
            return None

    def csrf(self, identity: str) -> str:
        """Return the CSRF token for the forms of pages with this cookie."""
        return self._forms.get_signature(identity).decode()

    def is_csrf(self, identity: str, token: str) -> bool:
        """Tell in constant time whether a form's token belongs to the cookie."""
        return self._forms.verify_signature(identity, token.encode())

    def begin(self, user: str, hashed: str, now_ms: int) -> str:
        """Open a session and return its new id; if there are too many, the oldest ends."""
        identity = new_identity()
        with self._lock:
            self._open = {one: session for one, session in self._open.items() if now_ms < session.ends_ms}
            while len(self._open) >= MOST_SESSIONS:
                del self._open[next(iter(self._open))]
            self._open[identity] = Session(user, hashed, now_ms + self._lasting_ms)
        return identity

    def find(self, identity: str, now_ms: int) -> Session | None:
        """Return the session of an id, if it is open."""
        with self._lock:
            session = self._open.get(identity)
        return session if session is not None and now_ms < session.ends_ms else None

    def end(self, identity: str) -> None:
        """End a session, for every browser that has its cookie."""
        with self._lock:
            self._open.pop(identity, None)


def new_identity() -> str:
    """Return an unguessable id."""
    return secrets.token_urlsafe(32)
