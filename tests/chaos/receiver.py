"""A receiver of ``notify`` that keeps alerts as Alertmanager does: by their labels, each until it ends."""

import json
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable
from datetime import datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

RESOLVE_TIMEOUT_S = 300.0


class Heard(NamedTuple):
    """One alert as the receiver knows it."""

    alert_id: str
    severity: str


class Picture:
    """What people see: which alerts fire now, and everything that was ever delivered."""

    def __init__(self, now_s: Callable[[], float] = time.time) -> None:
        self._now_s = now_s
        self._lock = threading.Lock()
        self._ends_s: dict[Heard, float] = {}
        self._labels: dict[Heard, dict[str, str]] = {}
        self._fired: Counter[str] = Counter()

    def take(self, alerts: Iterable[dict[str, Any]]) -> None:
        """Take the body of a ``POST /api/v2/alerts``: an alert fires until its ``endsAt``, or for five minutes."""
        with self._lock:
            for alert in alerts:
                labels = alert["labels"]
                heard = Heard(labels.get("alert_id", ""), labels["severity"])
                told = alert.get("endsAt")
                now_s = self._now_s()
                ends_s = now_s + RESOLVE_TIMEOUT_S if told is None else datetime.fromisoformat(told).timestamp()
                self._fired[labels["alertname"]] += self._ends_s.get(heard, 0) <= now_s < ends_s
                self._ends_s[heard], self._labels[heard] = ends_s, labels

    def firing(self, clusters: Iterable[str]) -> set[Heard]:
        """Return the alerts of clusters that fire now."""
        with self._lock:
            now_s = self._now_s()
            return {
                heard
                for heard, ends_s in self._ends_s.items()
                if ends_s > now_s and self._labels[heard]["cluster"] in clusters
            }

    def fired(self, rule: str) -> int:
        """Return how often alerts of a rule began to fire."""
        return self._fired[rule]

    def delivered(self, clusters: Iterable[str]) -> set[str]:
        """Return the identities of all alerts of clusters that were ever delivered."""
        with self._lock:
            return {heard.alert_id for heard, labels in self._labels.items() if labels["cluster"] in clusters}


class Receiver:
    """An HTTP server on a free port of this machine."""

    def __init__(self) -> None:
        self.picture = picture = Picture()

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                picture.take(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
                self.send_response(200)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *arguments: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    @property
    def url(self) -> str:
        """Where ``notify`` finds it."""
        return f"http://127.0.0.1:{self._server.server_port}"

    def start(self) -> "Receiver":
        """Begin to listen."""
        self._thread.start()
        return self

    def stop(self) -> None:
        """Stop listening."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
