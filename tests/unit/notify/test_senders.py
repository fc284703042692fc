"""Handing messages over: what arrives, what an error says, and that no secret is ever in it."""

import email
import email.policy
import html
import json
import logging
import re
import threading
from contextlib import nullcontext
from datetime import datetime
from pathlib import Path
from types import SimpleNamespace
from typing import ClassVar

import jsonschema
import pytest
import yaml
from apprise import OverflowMode
from apprise.plugins.discord import NotifyDiscord

from logdirwatch.errors import UserError
from logdirwatch.model.vocabulary import AlertStatus, Rule, Severity
from logdirwatch.notify import senders as senders_module
from logdirwatch.notify.alertmanager import alerts_of
from logdirwatch.notify.groups import Member, Message, Reason
from logdirwatch.notify.routing import GroupKey
from logdirwatch.notify.senders import Alertmanagers, SendError, Service, ping, senders, service, without_secrets
from logdirwatch.notify.sending import Delivery
from logdirwatch.notify.settings import NotifySettings
from logdirwatch.notify.wording import text_of
from logdirwatch.settings import Settings
from tests.support.hostile import NAMES
from tests.support.lying_server import lying
from tests.support.waiting import DEADLINE_S, wait_until
from tests.unit.notify.receivers import receiving
from tests.unit.report.builders import NOW_MS, alert

GROUP = GroupKey("ops", "all", (("cluster", "prod"),))
SECRET = "hunter2secret"
POSTED = {
    "type": "array",
    "items": {
        "type": "object",
        "required": ["labels", "startsAt"],
        "additionalProperties": False,
        "properties": {
            "labels": {"type": "object", "required": ["alertname"], "additionalProperties": {"type": "string"}},
            "annotations": {"type": "object", "additionalProperties": {"type": "string"}},
            "startsAt": {"type": "string", "format": "date-time"},
            "endsAt": {"type": "string", "format": "date-time"},
        },
    },
}
"""postableAlerts of Alertmanager's API v2, as far as it says something of what is sent."""


def message(*firing, ended=(), spoken=None, reason=Reason.FIRST):
    return Message(GROUP, reason, NOW_MS, tuple(map(Member, firing)), tuple(ended), spoken or {})


def over(name="b" * 32, **fields):
    return alert(name, 2, status=AlertStatus.RESOLVED, reason="recovered", **fields)


@pytest.fixture
def receiver():
    with receiving() as running:
        yield running


def test_a_message_arrives_with_title_and_text(receiver):
    Service(f"json://127.0.0.1:{receiver.port}/hook").send(message(alert(severity=Severity.PAGE), ended=[over()]))
    ((path, body),) = receiver.posted
    assert path == "/hook"
    assert body["title"] == "[page] log_dir_offline: prod broker 7 /data/d1 (resolved: 1)"
    assert body["type"] == "failure"
    assert (
        "page log_dir_offline prod broker 7 /data/d1, online > offline, opened 1 min ago, aaaaaaaa" in body["message"]
    )
    assert "resolved (recovered) log_dir_offline prod broker 7 /data/d1" in body["message"]


def test_when_nothing_fires_any_more_it_is_a_success(receiver):
    Service(f"json://127.0.0.1:{receiver.port}").send(message(ended=[over()], reason=Reason.RESOLVED))
    assert receiver.bodies[0]["type"] == "success"
    assert receiver.bodies[0]["title"].startswith("[resolved] log_dir_offline")


def test_many_alerts_are_counted_and_a_few_listed():
    text = text_of(message(*(alert(f"{number:032}", broker=number) for number in range(40))))
    assert text.title == "[critical] 40 alerts: prod: 40 disks offline"
    assert text.body.count("critical log_dir_offline") == 10
    assert "and 30 more; list them with: logdirwatch alerts" in text.body


def test_a_title_says_what_is_wrong_the_loudest_first():
    lost = [alert(f"{n}", log_dir=f"/d{n}", severity=Severity.CRITICAL) for n in (1, 2)]
    full = alert("f", rule=Rule.LOG_DIR_SPACE, log_dir="/d3", severity=Severity.WARNING)
    examples = {"examples": ["clicks-0", "clicks-1", "clicks-2"]}
    risk = {"rule": Rule.PARTITIONS_AT_RISK, "broker": None, "log_dir": None, "affected": examples}
    at_risk = alert("r", severity=Severity.PAGE, from_status=None, to_status="leaderless", **risk)
    left = alert("t", rule=Rule.THROTTLE_LEFT, log_dir=None, severity=Severity.INFO)
    said = text_of(message(left, full, *lost, at_risk)).title
    assert said == (
        "[page] 5 alerts: prod: leaderless: clicks-0, clicks-1 and 1 more; 2 disks offline; 1 disk filling up; "
        "throttle_left"
    )


@pytest.mark.parametrize(
    ("hosts", "risk", "where"),
    [
        (("h1", "h1"), False, "prod host h1"),
        (("h1", "h1"), True, "prod host h1"),
        (("h1", "h2"), False, "prod"),
        (("h1", None), False, "prod"),
        ((None, None), False, "prod"),
        (("h1",), True, "prod"),
    ],
)
def test_a_title_says_that_all_brokers_are_on_one_host(hosts, risk, where):
    lost = [
        alert(f"{number}", broker=number, log_dir=None, evidence={} if host is None else {"host": host})
        for number, host in enumerate(hosts)
    ]
    at_risk = [alert("r", broker=None, log_dir=None)] if risk else []
    assert text_of(message(*lost, *at_risk)).title.split(": ")[1] == where


def test_a_group_can_be_named_in_the_url(receiver):
    Service(f"json://127.0.0.1:{receiver.port}/{{group}}/end").send(message(alert()))
    assert receiver.posted[0][0] == f"/{GROUP.fixed_id}/end"


@pytest.mark.parametrize("status", [403, 500])
def test_a_refusal_is_an_error_without_secrets(receiver, status, capfd, caplog):
    receiver.status = status
    url = f"json://ada:{SECRET}@127.0.0.1:{receiver.port}/{SECRET}?token={SECRET}"
    with pytest.raises(SendError, match=str(status)) as error:
        Service(url).send(message(alert()))
    assert SECRET not in str(error.value)
    out, err = capfd.readouterr()
    assert SECRET not in out + err + caplog.text


def test_nobody_there_is_an_error_without_secrets():
    for sender in (
        Service(f"json://ada:{SECRET}@127.0.0.1:1/{SECRET}"),
        Alertmanagers([f"http://ada:{SECRET}@127.0.0.1:1/{SECRET}"], NotifySettings()),
    ):
        with pytest.raises(SendError) as error:
            sender.send(message(alert()))
        assert SECRET not in str(error.value)


def test_what_a_service_raises_is_an_error_without_secrets(monkeypatch):
    sender = Service(f"json://127.0.0.1:1/{SECRET}")

    def send(self, *_, **__):
        raise RuntimeError(f"no route to {SECRET}")

    monkeypatch.setattr("apprise.plugins.custom_json.NotifyJSON.send", send)
    with pytest.raises(SendError, match=r"RuntimeError: no route to \*+") as error:
        sender.send(message(alert()))
    assert SECRET not in str(error.value)


@pytest.mark.parametrize(
    ("path", "fails", "made"),
    [("", False, 1), ("", True, 2), ("/{group}", False, 2)],
    ids=["kept", "failed", "a group's"],
)
def test_a_service_is_made_anew_for_each_group_and_after_an_error(receiver, monkeypatch, path, fails, made):
    urls, make = [], senders_module.service
    monkeypatch.setattr(senders_module, "service", lambda *arguments: urls.append(arguments) or make(*arguments))
    sender = Service(f"json://127.0.0.1:{receiver.port}{path}")
    with monkeypatch.context() as patched:
        if fails:
            patched.setattr("apprise.plugins.custom_json.NotifyJSON.send", lambda *_, **__: 1 / 0)
        with pytest.raises(SendError) if fails else nullcontext():
            sender.send(message(alert()))
    sender.send(message(alert()))
    assert len(urls) == made


@pytest.mark.parametrize(
    ("query", "mode"), [("", OverflowMode.TRUNCATE), ("?overflow=split", OverflowMode.SPLIT)], ids=["default", "chosen"]
)
def test_a_text_that_is_too_long_is_truncated_unless_the_url_says_otherwise(query, mode):
    assert senders_module.service(f"json://127.0.0.1{query}").overflow_mode is mode


def test_of_what_apprise_logs_each_thread_collects_its_own_and_nothing_stays_behind():
    log, before = logging.getLogger("apprise"), list(logging.getLogger("apprise").handlers)
    with senders_module._apprise_warnings() as said:
        log.warning("a  line\nof this thread")
        log.info("of no interest")
        other = threading.Thread(target=log.warning, args=("of another thread",))
        other.start()
        other.join()
    assert (said, log.handlers) == (["a line of this thread"], before)


def test_a_token_in_the_place_of_a_host_is_a_secret_too():
    assert "T1JJ3T3L2" not in without_secrets("POST to T1JJ3T3L2 failed", "slack://T1JJ3T3L2/A1BRTD4JD/TIiajkdnlazkc")


def test_a_url_that_is_unknown_is_named_by_its_place():
    settings = NotifySettings.model_validate({"receivers": {"ops": {"urls": [f"nonsense://{SECRET}"]}}})
    with pytest.raises(UserError, match=r"notify.receivers.ops: apprise .* does not know URL 1") as error:
        senders(settings)
    assert SECRET not in str(error.value)


def test_two_channels_have_no_name_in_common():
    receivers = {"ops": {"urls": ["json://h:1", "json://h:2"]}, "ops#2": {"urls": ["json://h:3"]}}
    with pytest.raises(UserError, match=r"notify\.receivers\.ops#2: ops#2 is also the name of a URL of another"):
        senders(NotifySettings.model_validate({"receivers": receivers}))


def test_urls_come_from_a_file_too(tmp_path):
    path = tmp_path / "urls"
    path.write_text("# the team's\njson://127.0.0.1:1\n\njson://127.0.0.1:2\n")
    settings = NotifySettings.model_validate(
        {"receivers": {"ops": {"urls_file": str(path)}, "am": {"alertmanager": ["http://127.0.0.1:3"]}}}
    )
    assert {name: list(ways) for name, ways in senders(settings).items()} == {"ops": ["ops#1", "ops#2"], "am": ["am"]}
    missing = NotifySettings.model_validate({"receivers": {"ops": {"urls_file": str(tmp_path / "none")}}})
    with pytest.raises(UserError, match=r"notify.receivers.ops.urls_file .*No such file") as refused:
        senders(missing)
    assert refused.value.exit_code == 2


def test_secrets_are_not_shown_with_the_settings():
    receivers = {"a": {"urls": [f"json://{SECRET}"], "alertmanager": [f"http://x:{SECRET}@h"]}}
    settings = NotifySettings.model_validate({"receivers": receivers, "heartbeat": {"ping_url": f"http://{SECRET}"}})
    assert SECRET not in repr(settings) + json.dumps(settings.model_dump(mode="json"))


def test_alertmanager_gets_what_its_api_takes(receiver):
    sender = Alertmanagers([f"http://127.0.0.1:1/{SECRET}", f"http://127.0.0.1:{receiver.port}/am/"], NotifySettings())
    sender.send(message(alert(broker=None, log_dir=None), ended=[over()], spoken={"b" * 32: Severity.CRITICAL}))
    ((path, body),) = receiver.posted
    assert path == "/am/api/v2/alerts"
    jsonschema.Draft202012Validator(POSTED).validate(body)
    fires, ended = body
    assert fires["labels"] == {
        "alertname": "log_dir_offline",
        "severity": "critical",
        "cluster": "prod",
        "alert_id": "a" * 32,
    }
    assert "endsAt" not in fires
    assert datetime.fromisoformat(ended["endsAt"]).timestamp() * 1000 <= NOW_MS


def test_alertmanager_is_told_that_an_alert_ended_under_the_severity_that_it_knows():
    posted = alerts_of(message(alert(severity=Severity.PAGE), spoken={"a" * 32: Severity.WARNING}))
    assert {found["labels"]["severity"]: "endsAt" in found for found in posted} == {"warning": True, "page": False}


def hostile(name):
    return message(
        alert(cluster=name, log_dir=name, summary=name, cause=None), ended=[over(cluster=name, summary=name)]
    )


@pytest.mark.parametrize("name", NAMES)
def test_a_hostile_name_is_text_in_every_message(receiver, name):
    said = text_of(hostile(name))
    assert said.title.isprintable()
    assert all(line.isprintable() for line in said.body.split("\n"))
    assert said.body.count("\n") == text_of(message(alert(), ended=[over()])).body.count("\n")
    Service(f"json://127.0.0.1:{receiver.port}").send(hostile(name))
    Alertmanagers([f"http://127.0.0.1:{receiver.port}"], NotifySettings()).send(hostile(name))
    sent, posted = receiver.bodies
    assert sent["title"] == said.title
    jsonschema.Draft202012Validator(POSTED).validate(posted)
    assert (posted[0]["labels"]["cluster"], posted[0]["labels"]["log_dir"]) == (name, name)


class Mail:
    """Stands in for a mail server's connection; keeps what is sent."""

    sent: ClassVar[list[str]] = []

    def __init__(self, *_, **__):
        self.esmtp_features = {}

    def sendmail(self, sender, to, body, **_):
        Mail.sent.append(body)
        return {}

    def __getattr__(self, name):
        return lambda *_, **__: (250, b"")


@pytest.mark.parametrize("name", NAMES)
def test_an_e_mail_takes_a_hostile_name_for_text(monkeypatch, name):
    Mail.sent.clear()
    monkeypatch.setattr("smtplib.SMTP", Mail)
    Service("mailto://ada:secret@mail.example.com?smtp=127.0.0.1&mode=insecure").send(hostile(name))
    (mail,) = (email.message_from_string(sent, policy=email.policy.default) for sent in Mail.sent)
    assert mail["Bcc"] is None
    assert [part.get_content_type() for part in mail.walk()] == ["text/plain"], "nothing is HTML"
    assert mail["Subject"].isprintable()
    assert text_of(hostile(name)).body in mail.get_content().replace("\r\n", "\n")


SERVICES = {
    "slack": "slack://T1JJ3T3L2/A1BRTD4JD/TIiajkdnlazkcOXrIdevi7FQ/#ops",
    "telegram": "tgram://123456789:abcdefg_hijklmnopqrstuvwxyz0123456/12315544/",
}


@pytest.mark.parametrize("url", SERVICES.values(), ids=SERVICES)
@pytest.mark.parametrize("name", ["<!channel> <@U123>", "<script>alert(1)</script>", "<b>bold</b>", "a <b"])
def test_a_name_mentions_nobody_and_is_no_markup(monkeypatch, url, name):
    posted = []

    def request(*_, data=None, **__):
        posted.append(data if isinstance(data, str) else data.decode())
        return SimpleNamespace(status_code=200, content=b"ok", text="ok", headers={})

    monkeypatch.setattr("requests.request", request)
    monkeypatch.setattr("requests.post", request)
    Service(url).send(hostile(name))
    assert posted
    assert html.escape(name, quote=False) in "".join(posted)
    assert name not in "".join(posted)


def test_a_ping_that_is_refused_is_an_error_without_secrets(receiver):
    ping(f"http://127.0.0.1:{receiver.port}/{SECRET}", 5_000)
    assert receiver.posted == [(f"/{SECRET}", None)]
    receiver.status = 404
    with pytest.raises(SendError, match="HTTP 404"):
        ping(f"http://127.0.0.1:{receiver.port}/{SECRET}", 5_000)
    with pytest.raises(SendError) as error:
        ping(f"http://127.0.0.1:1/{SECRET}", 5_000)
    assert SECRET not in str(error.value)


def by_service(port, timeout_ms):
    Service(f"json://127.0.0.1:{port}/{SECRET}", timeout_ms).send(message(alert()))


def by_alertmanager(port, timeout_ms):
    settings = NotifySettings(send_timeout_ms=timeout_ms)
    Alertmanagers([f"http://127.0.0.1:{port}/{SECRET}"], settings).send(message(alert()))


def by_ping(port, timeout_ms):
    ping(f"http://127.0.0.1:{port}/{SECRET}", timeout_ms)


OK = b"HTTP/1.1 200 OK\r\n"
WAYS = (by_service, by_alertmanager, by_ping)
LONG_MS = DEADLINE_S * 1000


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("status", [301, 302, 303, 304, 307, 308, 400, 401, 404, 429, 500, 502, 503, 504])
def test_what_a_server_did_not_take_is_not_delivered(receiver, way, status):
    receiver.status = status
    with pytest.raises(SendError, match=str(status)) as error:
        way(receiver.port, LONG_MS)
    assert SECRET not in str(error.value)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@pytest.mark.parametrize(
    "place", ["/login", "//127.0.0.1:{port}/login", "http://localhost:{port}/login", "nonsense://"]
)
def test_a_login_page_behind_a_redirection_took_nothing(way, status, place):
    def answer(client):
        is_login = b" /login" in client.asked
        moved = f"HTTP/1.1 {status} Moved\r\nLocation: {place.format(port=server.port)}\r\nContent-Length: 0\r\n\r\n"
        client.send(OK + b"Content-Length: 5\r\n\r\nlogin" if is_login else moved.encode())

    with lying(answer) as server, pytest.raises(SendError, match=str(status)):
        way(server.port, LONG_MS)
    assert len(server.asked) == 1


SLOW = {
    "silent": lambda client: client.silence(),
    "headers": lambda client: client.drip(OK + b"Content-Length: 1000\r\nX-Slow: " + b"a" * 10_000),
    "body": lambda client: client.drip(OK + b"Content-Length: 10000\r\n\r\n" + b"a" * 10_000),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("answer", SLOW.values(), ids=SLOW)
def test_a_receiver_that_does_not_finish_its_answer_is_given_up_after_the_time_for_all_of_it(way, answer):
    with lying(answer) as server, pytest.raises(SendError, match="no complete answer within 300 ms") as error:
        way(server.port, 300)
    assert SECRET not in str(error.value)


@pytest.mark.parametrize("way", WAYS)
def test_a_receiver_whose_answer_does_not_end_is_an_error(way):
    def answer(client):
        client.send(OK + b"\r\n")
        client.endlessly(b"a" * (1 << 20))

    with lying(answer) as server, pytest.raises(SendError, match="the answer is larger than 1048576 bytes"):
        way(server.port, LONG_MS)


@pytest.mark.parametrize("scheme", ["http", "https", "json", "jsons"])
def test_an_error_names_the_host_of_a_receiver_and_nothing_else_of_its_url(scheme):
    url = f"{scheme}://ada:{SECRET}@alerts-1.example.com:9093/{SECRET}?token={SECRET}"
    said = without_secrets(f"{url} answered", url)
    assert "alerts-1.example.com" in said
    assert SECRET not in said


def test_a_refusal_names_the_alertmanager_by_scheme_host_and_port(receiver):
    receiver.status = 503
    url = f"http://ada:{SECRET}@127.0.0.1:{receiver.port}/{SECRET}"
    with pytest.raises(SendError) as error:
        Alertmanagers([url], NotifySettings()).send(message(alert()))
    assert str(error.value) == f"http://127.0.0.1:{receiver.port} answered HTTP 503"


@pytest.mark.parametrize("way", WAYS)
def test_an_answer_without_content_is_one(receiver, way):
    receiver.status = 204
    way(receiver.port, LONG_MS)
    assert len(receiver.posted) == 1


NOT_TAKEN = [
    b"<!DOCTYPE html><title>Log in</title>",
    b"\xef\xbb\xbf\n<html><body>down for maintenance</body></html>",
    b"OK (not found)",
    b"OK (rate limited)",
    b'{"ok": false, "error": "invalid_auth"}',
    b'{"status":"error","error":"no tenant"}',
    b"Webhook message delivery failed with error: HTTP error 429",
    b"invalid_payload",
    b"channel_is_archived\n",
    b'{"ok":"false"}',
    b'{"error_code": 400, "description": "a \\"quoted\\", text", "ok": false}',
    b'{"message":"took 0.1 s","result":"error"}',
    b'{"status":"invalid event","errors":["no routing key"]}',
    b'{"took": 0.1, "errors": [{"code": 1}]}',
    b'{"success":0}',
]
TAKEN = [
    b"ok",
    b"no news",
    b'{"ok":true,"error":null,"errors":[],"error_code":0}',
    b'{"status":"success","message":"Event processed"}',
    b'{"result":"Request will be processed","took":0.3,"requestId":"1"}',
    b'{"json": {"ok": false}, "data": "{\\"ok\\": false}"}',
    b"[1, 2",
    b"{" + b'"a":"b",' * 100_000,
]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("body", NOT_TAKEN)
def test_an_answer_of_success_with_an_error_in_it_took_nothing(receiver, way, body):
    receiver.answer = body
    with pytest.raises(SendError, match="HTTP 200 with a"):
        way(receiver.port, LONG_MS)


@pytest.mark.parametrize("body", TAKEN, ids=range(len(TAKEN)))
def test_another_answer_of_success_is_one(receiver, body):
    receiver.answer = body
    for way in WAYS:
        way(receiver.port, LONG_MS)


class TestPace:
    """How long a service waits between its requests, which no server decides."""

    def test_a_pause_that_a_server_asks_for_is_a_failed_attempt(self):
        pace = senders_module.service("json://h/").throttle
        for wait in (0.5, 1e9, -1.0):
            with pytest.raises(TimeoutError, match="asks to wait"):
                pace(wait=wait)

    def test_pauses_are_measured_by_the_clock_that_nobody_sets(self, monkeypatch):
        slept, now_s = [], [100.0]
        clock = SimpleNamespace(sleep=slept.append, monotonic=lambda: now_s[0])
        monkeypatch.setattr(senders_module, "time", clock)
        pace = senders_module.service("mailto://me:pw@example.com").throttle
        for at_s in (100.0, 101.0, 200.0):
            now_s[0] = at_s
            pace()
        assert slept == [4.5, 0.0]

    def test_the_limit_of_a_service_that_answers_with_one_for_years_holds_nothing(self, monkeypatch):
        header = b"X-RateLimit-Remaining: 0\r\nX-RateLimit-Reset: 9999999999\r\nContent-Length: 0\r\n\r\n"
        with lying(lambda client: client.send(OK + header)) as server:
            url = f"http://127.0.0.1:{server.port}"
            monkeypatch.setattr(NotifyDiscord, "notify_url", url)
            channel = Service(f"discord://{'1' * 18}/{'a' * 68}", LONG_MS)
            channel.send(message(alert()))
            with pytest.raises(SendError, match="asks to wait"):
                channel.send(message(alert()))
            channel.send(message(alert()))
            assert len(server.asked) == 2


def test_a_web_page_is_no_answer_of_an_alertmanager():
    page = b"Content-Type: text/html; charset=utf-8\r\nContent-Length: 5\r\n\r\nlogin"
    refusal = "answered with a web page, which is no Alertmanager's API"
    with lying(lambda client: client.send(OK + page)) as server, pytest.raises(SendError, match=refusal):
        by_alertmanager(server.port, LONG_MS)


def test_alertmanagers_that_hang_take_no_longer_than_one():
    with lying(lambda client: client.silence()) as first, lying(lambda client: client.silence()) as second:
        urls = [f"http://127.0.0.1:{server.port}" for server in (first, second)]
        with pytest.raises(SendError, match=r"within 300 ms; .*within 300 ms"):
            Alertmanagers(urls, NotifySettings(send_timeout_ms=300)).send(message(alert()))
        assert [len(server.asked) for server in (first, second)] == [1, 1]


def test_a_mail_server_that_drips_is_given_up():
    with lying(lambda client: client.drip(b"220-" + b"a" * 10_000), speaks_first=True) as server:
        url = f"mailto://ada:{SECRET}@mail.example.com:{server.port}?smtp=127.0.0.1&mode=insecure"
        with pytest.raises(SendError, match="no complete answer within 300 ms"):
            Service(url, 300).send(message(alert()))


def test_a_receiver_that_is_away_is_one_line_and_its_return_another(receiver, capsys):
    delivery = Delivery({"ops": Service(f"json://127.0.0.1:{receiver.port}/{SECRET}")}, backoff_max_ms=4_000)
    receiver.status, now_ms, arrived = 500, NOW_MS, []

    def attempt(at_ms):
        delivery.start(message(alert()))
        arrived.extend(wait_until(lambda: list(delivery.finished(at_ms)), 30, "the attempt to end"))

    pauses = []
    for _ in range(5):
        assert delivery.busy(now_ms) == set()
        attempt(now_ms)
        begun_ms = now_ms
        while delivery.busy(now_ms):
            now_ms += 500
        pauses.append(now_ms - begun_ms)
    receiver.status = 200
    attempt(now_ms)
    delivery.stop(5)
    assert pauses == [500, 1_000, 2_000, 4_000, 4_000]
    assert [is_there for _, is_there in arrived] == [False] * 5 + [True]
    out = capsys.readouterr().out
    assert (out.count("notify.receiver.failed"), out.count("notify.receiver.recovered")) == (1, 1)
    assert SECRET not in out


PAGE = (Path(__file__).parents[3] / "docs" / "notifications.md").read_text()
URLS = re.findall(r"^\| [^|]+ \| `(\w+://[^`]+)` \|$", PAGE, re.MULTILINE)


@pytest.mark.parametrize("block", re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL))
def test_its_configurations_are_valid(block):
    notify = Settings(**yaml.safe_load(block)).notify
    for receiver in notify.receivers.values():
        assert all(service(url.get_secret_value()) for url in receiver.urls)


def test_apprise_knows_its_urls():
    assert len(URLS) == 5
    assert [url for url in URLS if service(url) is None] == []
