"""The console as a process before a real telemetry cluster: who logs in over HTTP decides, and the topic has it."""

import signal
import subprocess
import sys
import time
from contextlib import contextmanager

import msgspec
import pytest
import yaml

from logdirwatch.errors import UnconfirmedError
from logdirwatch.kafka import clients
from logdirwatch.kafka.deadline import Deadline, answers_by
from logdirwatch.model import topics
from logdirwatch.model.records import DecisionRecord
from logdirwatch.model.vocabulary import Decision
from logdirwatch.plan.content_hash import content_hash
from logdirwatch_lab import ports, processes
from logdirwatch_lab.demo.services import Service
from tests.kafka.telemetry import fresh_topics, send_records
from tests.support.delta import Written
from tests.support.login import PASSWORD, Person
from tests.support.waiting import DEADLINE_S, wait_until
from tests.unit.report.builders import action, alert

ALERT, SILENT = "a" * 32, "b" * 32
WANTED, UNWANTED = "c" * 32, "d" * 32
REASON = "seen by <ada>"


class House:
    """A telemetry cluster with alerts and actions, tables that have the same, and the file of users."""

    def __init__(self, watched, folder):
        self.watched, self.folder, self.tables = watched, folder, folder / "tables"
        self.users = folder / "users"
        at_ms = time.time_ns() // 1_000_000
        self.actions = [action(one, at_ms=at_ms, expires_at_ms=at_ms + 3_600_000) for one in (WANTED, UNWANTED)]
        alerts = [alert(one, at_ms=at_ms, opened_at_ms=at_ms) for one in (ALERT, SILENT)]
        fresh_topics(watched)
        send_records(watched, topics.ALERTS, *alerts)
        send_records(watched, topics.ACTIONS, *self.actions)
        written = Written(self.tables)
        written.alerts(*alerts)
        written.actions(*self.actions)

    def config(self, listen, **login):
        path = self.folder / f"{listen.rpartition(':')[2]}.yaml"
        content = {
            "telemetry": self.watched.telemetry.model_dump(),
            "tables": {"path": str(self.tables)},
            "console": {"listen": listen, "login": {"users_file": str(self.users), **login}},
        }
        path.write_text(yaml.safe_dump(content), encoding="utf-8")
        return path

    def add_user(self, config):
        line = [sys.executable, "-m", "logdirwatch", "--config", str(config), "console", "add-user", "ada"]
        done = subprocess.run(
            line, input=f"{PASSWORD}\n", capture_output=True, text=True, timeout=DEADLINE_S, check=True
        )
        assert PASSWORD not in done.stdout + done.stderr

    def decided(self):
        """Return the decisions on the topic, in the order in which they were made."""
        read = (msgspec.json.decode(r.value, type=DecisionRecord) for r in self._read() if r.value is not None)
        return sorted(read, key=lambda record: record.at_ms)

    def _read(self):
        return clients.read_all(self.watched.telemetry, topics.DECISIONS)


@pytest.fixture(scope="module")
def house(watched, tmp_path_factory):
    return House(watched, tmp_path_factory.mktemp("console"))


@contextmanager
def serving(house, **login):
    """Run a console; what it logged holds no password, whatever was typed where."""
    (port,) = ports.free_ports(1)
    config = house.config(f"127.0.0.1:{port}", **login)
    house.add_user(config)
    console = Service("console", ["--config", str(config), "console"], house.folder / f"{port}.log")
    console.start()
    try:
        wait_until(lambda: "console.listening" in console.log_file.read_text(), DEADLINE_S, console.tail)
        yield f"http://127.0.0.1:{port}", console.log_file.read_text
    finally:
        code = console.stop()
    assert code == 0
    said = console.log_file.read_text()
    assert "Traceback" not in said
    assert PASSWORD not in said


@pytest.fixture(scope="module")
def served(house):
    with serving(house) as found:
        yield found


@pytest.fixture(scope="module")
def ada(served):
    address, _ = served
    person = Person(address)
    assert person.log_in().status_code == 303
    return person


def test_a_wrong_password_opens_nothing_and_is_one_line_of_the_log(served):
    address, log = served
    person = Person(address)
    answer = person.log_in(password="wrong horse battery")
    assert answer.status_code == 403
    assert "The name or the password is wrong." in answer.text
    assert [path for path in person.forms(f"/alerts/{ALERT}") if path != "/login"] == []
    assert "console.login_failed" in log()
    assert "wrong horse" not in log()


@pytest.mark.parametrize(
    ("identity", "what", "decision"),
    [(ALERT, "acknowledge", Decision.ACKNOWLEDGE), (SILENT, "silence", Decision.SILENCE)],
)
def test_an_alert_is_decided_and_the_page_shows_it_until_it_is_taken_back(house, ada, identity, what, decision):
    page = f"/alerts/{identity}"
    assert ada.send(page, f"{page}/{what}", reason=REASON, lasting="2h").status_code == 303
    record = house.decided()[-1]
    assert (record.decision, record.id, record.by, record.reason) == (decision, identity, "ada", REASON)
    assert record.until_ms - record.at_ms == 2 * 3_600_000
    assert f"Recorded: {what} of" in ada.get(page).text
    assert f"{page}/{what}/end" in ada.forms(page)
    ada.send(page, f"{page}/{what}/end", reason="over")
    record = house.decided()[-1]
    assert (record.id, record.reason, record.until_ms) == (identity, "over", record.at_ms)
    assert f"{page}/{what}" in ada.forms(page)


@pytest.mark.parametrize(
    ("identity", "what", "decision"), [(WANTED, "accept", Decision.ACCEPT), (UNWANTED, "reject", Decision.REJECT)]
)
def test_an_action_is_decided_with_the_content_that_was_shown(house, ada, identity, what, decision):
    page = f"/actions/{identity}"
    assert ada.send(page, f"{page}/{what}", reason=REASON).status_code == 303
    record = house.decided()[-1]
    (shown,) = [one for one in house.actions if one.action_id == identity]
    assert (record.decision, record.id, record.by, record.reason) == (decision, identity, "ada", REASON)
    assert record.content_hash == content_hash(shown)
    assert f"Recorded: {what} of" in ada.get(page).text


def test_what_a_broker_that_hangs_did_not_confirm_is_not_called_lost_for_it_may_be_there(house, cluster):
    broker, made = cluster.state().telemetry.process, [decision("first"), decision("second")]

    def until_it_hangs():
        yield made[0].id, msgspec.json.encode(made[0])
        processes.send(broker, signal.SIGSTOP)
        yield made[1].id, msgspec.json.encode(made[1])

    try:
        with (
            answers_by(Deadline(time.monotonic())),
            pytest.raises(UnconfirmedError, match=r"did not confirm it .* it may be recorded or not"),
        ):
            clients.write(house.watched.telemetry, topics.DECISIONS, until_it_hangs())
    finally:
        processes.send(broker, signal.SIGCONT)
    wait_until(lambda: house.decided()[-2:] == made, DEADLINE_S, "the decision that was not confirmed")


def decision(identity):
    at_ms = time.time_ns() // 1_000_000
    return DecisionRecord(version=1, id=identity, decision=Decision.REJECT, by="ada", reason=REASON, at_ms=at_ms)


def test_behind_a_proxy_only_what_came_over_tls_takes_a_password(house):
    with serving(house, behind_tls_proxy=True) as (address, log):
        plain = Person(address, **{"X-Forwarded-For": "198.51.100.7", "X-Forwarded-Proto": "http"})
        is_kept_out(plain)
        person = Person(address, **{"X-Forwarded-For": "198.51.100.7", "X-Forwarded-Proto": "https"})
        answer = person.log_in()
        assert answer.status_code == 303
        assert "Secure" in answer.headers["Set-Cookie"]
        page = f"/alerts/{ALERT}"
        person.send(page, f"{page}/acknowledge", reason=REASON)
        assert house.decided()[-1].id == ALERT
        assert "198.51.100.7" in log()
        is_kept_out(Person(address))


def test_without_a_proxy_a_request_that_one_passed_on_is_refused(served):
    address, _ = served
    person = Person(address, **{"X-Forwarded-For": "198.51.100.7", "X-Forwarded-Proto": "https"})
    is_kept_out(person)


def is_kept_out(person):
    """The page has no form for a password, and one that is sent all the same is refused."""
    assert person.forms("/login") == {}
    answer = person.post("/login", {"name": "ada", "password": PASSWORD})
    assert answer.status_code == 403
    assert "Set-Cookie" not in answer.headers
