"""A server that cannot answer is told in one line; a user and a password in its URL are not."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

import pytest

from logdirwatch.cli.reading.prometheus.server import MOST_POINTS, Server, Steps
from logdirwatch.errors import UserError

TIMES = Steps(0, 60_000, 1_000)


@pytest.fixture
def answering():
    """Start a server that gives these answers (status and body), in turn; returns its address and what it was asked."""
    servers = []

    def start(*answers):
        asked, left = [], list(answers)

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                asked.append((self.headers.get("Authorization"), parse_qs(urlsplit(self.path).query)))
                status, body = left.pop(0)
                self.send_response(status)
                self.end_headers()
                self.wfile.write(body if isinstance(body, bytes) else json.dumps(body).encode())

            def log_message(self, *_):
                pass

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        servers.append(server)
        return f"127.0.0.1:{server.server_port}", asked

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


def matrix(*series):
    return {"status": "success", "data": {"resultType": "matrix", "result": list(series)}}


REFUSED = {"status": "error", "errorType": "bad_data", "error": "unexpected\nend of input"}
TOO_MANY = {"status": "error", "error": "query processing would load too many samples"}
NOT_IT = "does not answer as Prometheus does"


@pytest.mark.parametrize(
    ("status", "body", "said"),
    [
        (401, b"Unauthorized", "refuses access (HTTP 401): put user and password into the URL, or a bearer token"),
        (403, b"", "refuses access (HTTP 403)"),
        (400, REFUSED, "refuses up{: unexpected"),
        (422, TOO_MANY, "refuses up{: query processing would load too many samples"),
        (404, b"not found", f"{NOT_IT} (HTTP 404)"),
        (200, b"<html>sign in", f"{NOT_IT} (HTTP 200)"),
        (200, b"[]", NOT_IT),
        (200, {"status": "success"}, NOT_IT),
        (200, {"status": "success", "data": {"result": [{"values": 1}]}}, NOT_IT),
        (200, {"status": "success", "data": []}, NOT_IT),
    ],
)
def test_what_is_no_answer_is_one_line(answering, status, body, said):
    address, _ = answering((status, body))
    with pytest.raises(UserError) as error:
        Server(f"http://reader:sesame@{address}").matrix("up{", TIMES)
    assert said in str(error.value)
    assert f"backtest: http://********@{address}" in str(error.value)
    assert "sesame" not in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("http://127.0.0.1:1", "does not answer: "),
        ("http://reader:sesame@no.such.host.invalid:9090", "does not answer: "),
        ("prometheus:9090", "expected a URL such as http://prometheus:9090"),
        ("", "expected a URL"),
    ],
)
def test_a_wrong_address_is_one_line(url, said):
    with pytest.raises(UserError) as error:
        Server(url).label_sets("up", TIMES)
    assert said in str(error.value)
    assert not {"\n", "sesame", "HTTPConnectionPool"} & {*str(error.value).split(" ")}
    assert "Pool" not in str(error.value)


def test_the_token_is_sent(answering):
    address, asked = answering((200, {"status": "success", "data": []}))
    assert Server(f"http://{address}/", "secret").label_sets("up", TIMES) == []
    assert asked == [("Bearer secret", {"match[]": ["up"], "start": ["0.0"], "end": ["60.0"]})]


def test_a_long_time_is_asked_for_in_parts_that_a_server_answers(answering):
    labels = {"instance": "a"}
    first = {"metric": labels, "values": [[0, "1"], [1, "NaN"], [2, "+Inf"]]}
    second, other = {"metric": labels, "values": [[10_000, "3"]]}, {"metric": {}, "values": [[10_000.5, "4"]]}
    address, asked = answering((200, matrix(first)), (200, matrix(second, other)))
    times = Steps(0, (MOST_POINTS + 5) * 1_000, 1_000)
    found = Server(f"http://{address}").matrix("up", times)
    assert found == [(labels, [(0, 1.0), (10_000_000, 3.0)]), ({}, [(10_000_500, 4.0)])]
    assert [(part["start"], part["end"]) for _, part in asked] == [
        (["0.0"], ["9999.999"]),
        (["10000.0"], ["10004.999"]),
    ]
