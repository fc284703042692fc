"""The forms of who is logged in: what is decided, what is refused, and what the pages show of it."""

import msgspec
import pytest

from logdirwatch.cli.reading.tables.delta_files import DeltaFiles
from logdirwatch.console.pages import application
from logdirwatch.console.reading import Reader
from logdirwatch.console.settings import ConsoleSettings
from logdirwatch.decisions import AlertDecisions
from logdirwatch.model.records import AlertPattern, DecisionRecord
from logdirwatch.model.vocabulary import ActionStatus, AlertStatus, Decision
from logdirwatch.plan.content_hash import content_hash
from logdirwatch.text.words import short_id
from tests.support import hostile
from tests.support.delta import Written as Tables
from tests.support.login import PATIENCE, Browser, Written, console
from tests.unit.report.builders import NOW_MS, action, alert

ALERT, ACTION = f"/alerts/{'a' * 32}", f"/actions/{'c' * 32}"
REASON = "seen by <ada>"


class Desk:
    """A console over an alert and an action, with a browser in which ada is logged in."""

    def __init__(self, folder):
        self.root = folder / "tables"
        self.tables, self.decisions = Tables(self.root), Written(lambda: NOW_MS)
        self.tables.alerts(alert())
        self.tables.actions(action())
        files = DeltaFiles(str(self.root))
        self.app = console(files, folder / "users", self.decisions, lambda: NOW_MS)
        self.browser = Browser(self.app)
        assert self.browser.log_in().status_code == 303


@pytest.fixture
def desk(tmp_path):
    return Desk(tmp_path)


def acknowledged(**fields):
    values = {"decision": Decision.ACKNOWLEDGE, "by": "bob", "reason": REASON, "until_ms": NOW_MS + 1_000}
    return DecisionRecord(version=1, id="a" * 32, at_ms=NOW_MS, **{**values, **fields})


@pytest.mark.parametrize(
    ("what", "decision", "lasting"), [("acknowledge", Decision.ACKNOWLEDGE, "24h"), ("silence", Decision.SILENCE, "4h")]
)
def test_an_alert_is_decided_as_it_was_shown_by_who_is_logged_in(desk, logged, what, decision, lasting):
    answer = desk.browser.send(ALERT, f"{ALERT}/{what}", reason=f" {REASON} ")
    assert (answer.status_code, answer.headers["Location"]) == (303, ALERT)
    assert desk.decisions.made == [(decision, "a" * 32, "ada", REASON, "critical", lasting)]
    page = desk.browser.get(ALERT).text
    assert f"Recorded: {what} of {short_id('a' * 32)}, by ada: seen by &lt;ada&gt;" in page
    assert "Recorded" not in desk.browser.get(ALERT).text
    (line,) = logged
    assert {name: line[name] for name in ("event", "decision", "by", "id", "reason")} == {
        "event": "console.decided",
        "decision": what,
        "by": "ada",
        "id": "a" * 32,
        "reason": REASON,
    }


@pytest.mark.parametrize(("name", "what"), [("acknowledged", "acknowledge"), ("silenced", "silence")])
def test_what_was_decided_is_shown_and_can_be_ended(desk, name, what):
    desk.decisions.handled = AlertDecisions(**{name: acknowledged()})
    page = desk.browser.get(ALERT).text
    assert "by bob until" in page
    assert "seen by &lt;ada&gt;" in page
    assert f"{ALERT}/{what}" not in desk.browser.forms(ALERT)
    desk.browser.send(ALERT, f"{ALERT}/{what}/end", reason="over")
    (made,) = desk.decisions.made
    assert made[1:] == ("a" * 32, "ada", "over", "withdrawn")


def test_a_silence_of_many_alerts_is_not_ended_from_one(desk):
    pattern = acknowledged(decision=Decision.SILENCE, matching=AlertPattern(cluster="prod"))
    desk.decisions.handled = AlertDecisions(silenced=pattern)
    assert "Silenced with other alerts by bob" in desk.browser.get(ALERT).text
    assert not [action for action in desk.browser.forms(ALERT) if "silence" in action]


@pytest.mark.parametrize("what", ["accept", "reject"])
def test_an_action_is_decided_by_the_content_that_was_shown(desk, what):
    answer = desk.browser.send(ACTION, f"{ACTION}/{what}", reason=REASON)
    assert (answer.status_code, answer.headers["Location"]) == (303, ACTION)
    assert desk.decisions.made == [(Decision(what), "c" * 32, "ada", REASON, content_hash(action()))]


@pytest.mark.parametrize(
    ("status", "forms"),
    [
        (ActionStatus.PROPOSED, ["accept", "reject"]),
        (ActionStatus.ACCEPTED, ["reject"]),
        (ActionStatus.DONE, []),
        (ActionStatus.REJECTED, []),
    ],
)
def test_only_what_can_be_decided_has_a_form(desk, status, forms):
    desk.tables.actions(action(revision=2, status=status))
    assert [one.rpartition("/")[2] for one in desk.browser.forms(ACTION)] == ["logout", *forms]


def test_a_resolved_alert_has_no_form(desk):
    desk.tables.alerts(alert(revision=2, status=AlertStatus.RESOLVED))
    assert list(desk.browser.forms(ALERT)) == ["/logout"]


def test_while_kafka_is_away_the_page_is_shown_with_one_line_and_a_decision_is_not_recorded(desk, logged):
    forms = desk.browser.forms(ALERT)
    desk.decisions.refusal = "Kafka at telemetry:9092 cannot be reached: no answer"
    page = desk.browser.get(ALERT).text
    assert "Acknowledgements and silences are unknown: Kafka at telemetry:9092 cannot be reached" in page
    answer = desk.browser.post(f"{ALERT}/acknowledge", {**forms[f"{ALERT}/acknowledge"], "reason": REASON})
    assert answer.status_code == 303
    said = "Not recorded: acknowledge: Kafka at telemetry:9092 cannot be reached: no answer"
    assert f'<p class="warn" role="alert">{said}</p>' in desk.browser.get(ALERT).text
    assert [line["event"] for line in logged] == ["console.not_decided"]


def test_what_kafka_did_not_confirm_is_not_called_lost(desk, logged):
    desk.decisions.refusal = "Kafka at telemetry:9092 did not confirm it (no answer): it may be recorded or not"
    desk.decisions.is_unconfirmed = True
    desk.browser.send(ACTION, f"{ACTION}/accept", reason=REASON)
    page = desk.browser.get(ACTION).text
    assert "Not confirmed: accept: Kafka at telemetry:9092 did not confirm it (no answer)" in page
    assert "Not recorded" not in page
    assert [line["event"] for line in logged] == ["console.not_confirmed"]


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ({"reason": "  "}, "a decision needs a reason"),
        ({"reason": "x" * 1_001}, "a reason has at most 1000 characters"),
        ({"reason": "x", "lasting": "soon"}, "&#39;soon&#39; is not a duration; write 2h, 90m or 1d"),
    ],
)
def test_what_is_missing_or_wrong_is_one_line(desk, typed, said):
    desk.browser.send(ALERT, f"{ALERT}/silence", **typed)
    assert f"Not recorded: silence: {said}</p>" in desk.browser.get(ALERT).text
    assert desk.decisions.made == []


@pytest.mark.parametrize("token", ["", "wrong"])
def test_a_form_of_another_site_decides_nothing(desk, token):
    for page, what in ((ALERT, "acknowledge"), (ALERT, "acknowledge/end"), (ALERT, "silence"), (ACTION, "accept")):
        given = {"csrf": token, "reason": REASON, "lasting": "4h", "severity": "critical"}
        assert desk.browser.post(f"{page}/{what}", given).status_code == 403
    assert desk.decisions.made == []


def test_a_form_of_another_session_decides_nothing(desk):
    other = Browser(desk.app)
    other.log_in()
    given = other.forms(ACTION)[f"{ACTION}/accept"]
    assert desk.browser.post(f"{ACTION}/accept", {**given, "reason": REASON}).status_code == 403
    assert desk.decisions.made == []


def test_who_is_not_logged_in_sees_no_form_and_decides_nothing(desk):
    given = desk.browser.forms(ACTION)[f"{ACTION}/accept"]
    stranger = Browser(desk.app)
    assert (stranger.forms(ACTION), stranger.forms(ALERT)) == ({}, {})
    answer = stranger.post(f"{ACTION}/accept", {**given, "reason": REASON})
    assert answer.status_code == 403
    assert "Log in first" in answer.text or "log in first" in answer.text
    assert desk.decisions.made == []


def test_a_page_with_forms_never_reloads_by_itself_without_a_script(desk):
    assert "<noscript>" not in desk.browser.get(ALERT).text
    assert "<noscript>" in Browser(desk.app).get(ALERT).text


def test_hostile_names_and_reasons_stay_text(desk):
    for name in filter(str.strip, hostile.NAMES):
        desk.decisions.handled = AlertDecisions(acknowledged=acknowledged(by=name, reason=name))
        desk.browser.send(ALERT, f"{ALERT}/silence", reason=name)
        page = desk.browser.get(ALERT).text
        assert "Recorded: silence" in page
        assert "<script>alert" not in page
        assert "<img" not in page
        assert "by 49" not in page
        assert desk.decisions.made[-1][3] == name.strip()


def test_without_a_login_pages_are_as_they_were_and_nothing_can_be_sent(desk):
    files = DeltaFiles(str(desk.root))
    plain = application(Reader(files.select, files.rows), ConsoleSettings(), PATIENCE, lambda: NOW_MS)
    wired = application(
        Reader(files.select, files.rows), ConsoleSettings(), PATIENCE, lambda: NOW_MS, decisions=desk.decisions
    )
    for path in ("/", "/alerts", "/actions", ALERT, ACTION):
        page = Browser(wired).get(path).text
        assert page == Browser(plain).get(path).text
        assert "Log in" not in page
        assert "csrf" not in page
    for path in ("/login", "/logout", f"{ALERT}/acknowledge", f"{ACTION}/accept"):
        assert Browser(wired).post(path, {"reason": REASON}).status_code in (404, 405)


def test_an_action_s_json_has_no_form(desk):
    record = desk.browser.get(f"{ACTION}.json").data
    assert msgspec.json.decode(record)["action_id"] == "c" * 32
