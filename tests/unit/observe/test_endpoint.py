"""The endpoint over a real socket: what it answers, what it refuses, and that it is gone afterwards."""

import psutil
import pytest
import requests
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.registry import Collector
from pydantic import TypeAdapter, ValidationError

from logdirwatch.config.servers import Listen, address
from logdirwatch.errors import UserError
from logdirwatch.observe.endpoint import check_free, serving
from logdirwatch_lab.ports import free_ports

TIMEOUT_S = 10


class One(Collector):
    def collect(self):
        yield GaugeMetricFamily("logdirwatch_test", "A test", value=7)


def free():
    (port,) = free_ports(1)
    return f"127.0.0.1:{port}"


@pytest.fixture
def state():
    return {"ill": None, "unready": "not yet"}


@pytest.fixture
def url(state):
    listen = free()
    with serving(listen, [One()], lambda: state["ill"], lambda: state["unready"]):
        yield f"http://{listen}"


def ask(url, method="GET"):
    return requests.request(method, url, timeout=TIMEOUT_S)


def test_metrics_are_what_prometheus_reads(url):
    (family,) = text_string_to_metric_families(ask(f"{url}/metrics").text)
    assert (family.name, family.samples[0].value) == ("logdirwatch_test", 7)


def test_health_and_readiness_are_two_things_and_say_why(url, state):
    assert (ask(f"{url}/health").status_code, ask(f"{url}/ready").status_code) == (200, 503)
    assert ask(f"{url}/ready").text == "not yet\n"
    state.update(ill="stuck", unready=None)
    assert (ask(f"{url}/health").status_code, ask(f"{url}/ready").status_code) == (503, 200)


@pytest.mark.parametrize(
    ("method", "path", "status"), [("GET", "/", 404), ("POST", "/metrics", 405), ("GET", "/../etc/passwd", 404)]
)
def test_there_is_nothing_else(url, method, path, status):
    assert ask(f"{url}{path}", method).status_code == status


OPENMETRICS = "application/openmetrics-text"


@pytest.mark.parametrize(
    ("method", "accept", "kind"),
    [
        ("GET", f"{OPENMETRICS};version=1.0.0", OPENMETRICS),
        ("GET", f"{OPENMETRICS};version=banana", "text/plain"),
        ("GET", f"{OPENMETRICS};version=1.x, text/plain;version=2.b", "text/plain"),
        ("GET", "text/plain;version=;escaping", "text/plain"),
        ("GET", ";" * 10_000, "text/plain"),
        ("HEAD", "*/*", "text/plain"),
    ],
)
def test_whatever_a_client_accepts_it_gets_metrics(url, capsys, method, accept, kind):
    answer = requests.request(method, f"{url}/metrics", headers={"Accept": accept}, timeout=TIMEOUT_S)
    assert (answer.status_code, answer.headers["Content-Type"].partition(";")[0]) == (200, kind)
    assert ("logdirwatch_test" in answer.text) is (method == "GET")
    assert "Traceback" not in capsys.readouterr().err


def test_a_reason_that_is_no_text_and_a_judgement_that_fails_are_answered(url, state, capsys):
    state["unready"] = "/data/\udcff"
    assert ask(f"{url}/ready").text == "/data/\\udcff\n"
    del state["unready"]
    assert ask(f"{url}/ready").status_code == 503
    assert "endpoint.failed" in capsys.readouterr().out


def test_a_port_that_is_taken_is_one_clear_line(url):
    taken = url.removeprefix("http://")
    with (
        pytest.raises(UserError, match=f"cannot listen at {taken}: Address already in use"),
        serving(taken, [], lambda: None, lambda: None),
    ):
        pass
    with pytest.raises(UserError, match=f"cannot listen at {taken}: Address already in use"):
        check_free(taken)


def test_a_port_that_was_looked_at_is_free_afterwards():
    listen = free()
    check_free(listen)
    check_free(None)
    with serving(listen, [One()], lambda: None, lambda: None):
        assert ask(f"http://{listen}/health").status_code == 200


def test_afterwards_nobody_listens():
    listen = free()
    with serving(listen, [One()], lambda: None, lambda: None):
        assert ask(f"http://{listen}/health").status_code == 200
    with pytest.raises(requests.ConnectionError):
        ask(f"http://{listen}/health")


def listening():
    return [one.laddr for one in psutil.Process().net_connections("inet") if one.status == psutil.CONN_LISTEN]


def test_without_an_address_nothing_listens():
    before = listening()
    with serving(None, [One()], lambda: None, lambda: None):
        assert listening() == before
    with serving(free(), [One()], lambda: None, lambda: None):
        assert len(listening()) == len(before) + 1


@pytest.mark.parametrize(("text", "parts"), [("0.0.0.0:9464", ("0.0.0.0", 9464)), ("[::1]:80", ("::1", 80))])
def test_addresses(text, parts):
    assert TypeAdapter(Listen).validate_python(text) == text
    assert address(text) == parts


@pytest.mark.parametrize("text", ["9464", ":9464", "host:", "host:x", "host:65536", ""])
def test_what_is_no_address_is_refused(text):
    with pytest.raises(ValidationError, match="expected host:port"):
        TypeAdapter(Listen).validate_python(text)
