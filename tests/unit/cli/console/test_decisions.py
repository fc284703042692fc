"""What the console decides is the record that the command line writes, of what was shown."""

import msgspec
import pytest

from logdirwatch.cli.console.command import ConsoleDecisions
from logdirwatch.cli.context import Context
from logdirwatch.errors import UserError
from logdirwatch.kafka import clients, deadline
from logdirwatch.model.vocabulary import ActionStatus, AlertStatus, Decision, Severity
from logdirwatch.plan.content_hash import content_hash
from tests.unit.report.builders import action, alert

SAID = ("ada", "disk ordered")
OPTIONS = ("--by", "ada", "--reason", "disk ordered")


@pytest.fixture
def decisions(telemetry, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    telemetry.topics["logdir.alerts"] = [alert("x1", revision=3)]
    telemetry.topics["logdir.actions"] = [action("c1", revision=2)]
    return ConsoleDecisions(Context())


def without_times(record):
    return msgspec.structs.replace(record, at_ms=0, until_ms=None)


@pytest.mark.parametrize("what", ["accept", "reject"])
def test_an_action_is_decided_as_by_the_command(run, telemetry, decisions, what):
    decisions.on_action(Decision(what), "c1", content_hash(action("c1", revision=2)), *SAID)
    assert run("actions", what, "c1", *OPTIONS).exit_code == 0
    ours, theirs = telemetry.decided
    assert without_times(ours) == without_times(theirs)
    assert (ours.by, ours.revision, ours.content_hash) == ("ada", 2, content_hash(action("c1")))


@pytest.mark.parametrize(("decision", "command"), [(Decision.ACKNOWLEDGE, "ack"), (Decision.SILENCE, "silence")])
def test_an_alert_is_decided_as_by_the_command_and_taken_back(run, telemetry, decisions, decision, command):
    decisions.on_alert(decision, "x1", "critical", *SAID, "2h")
    assert run("alerts", command, "x1", *OPTIONS, "--for", "2h").exit_code == 0
    ours, theirs = telemetry.decided
    assert without_times(ours) == without_times(theirs)
    assert ours.until_ms - ours.at_ms == theirs.until_ms - theirs.at_ms == 2 * 3_600_000
    seen = decisions.about(alert("x1", revision=3), [(3, Severity.CRITICAL)])
    assert (seen.acknowledged or seen.silenced).by == "ada"
    ended = decisions.withdraw(decision, "x1", *SAID)
    assert ended.until_ms == ended.at_ms > ours.at_ms
    assert decisions.about(alert("x1", revision=3), [(3, Severity.CRITICAL)]) == (None, None)


def test_an_action_that_changed_since_it_was_shown_is_refused(telemetry, decisions):
    seen = content_hash(action("c1", commands=["another"]))
    with pytest.raises(UserError, match="action c1 changed since the page was made: read it again"):
        decisions.on_action(Decision.ACCEPT, "c1", seen, *SAID)
    assert telemetry.sent == []


def test_an_alert_that_became_louder_since_it_was_shown_is_refused(telemetry, decisions):
    with pytest.raises(UserError, match="alert x1 is critical by now"):
        decisions.on_alert(Decision.ACKNOWLEDGE, "x1", "warning", *SAID, "2h")
    assert telemetry.sent == []


def test_what_is_over_is_refused(telemetry, decisions):
    telemetry.topics["logdir.alerts"].append(alert("x1", revision=4, status=AlertStatus.RESOLVED))
    telemetry.topics["logdir.actions"].append(action("c1", revision=3, status=ActionStatus.DONE))
    with pytest.raises(UserError, match="alert x1 is resolved"):
        decisions.on_alert(Decision.SILENCE, "x1", "critical", *SAID, "2h")
    with pytest.raises(UserError, match="action c1 is done: there is nothing to accept"):
        decisions.on_action(Decision.ACCEPT, "c1", content_hash(action("c1")), *SAID)
    with pytest.raises(UserError, match="no active silence of 'x1'"):
        decisions.withdraw(Decision.SILENCE, "x1", *SAID)
    assert telemetry.sent == []


def test_a_decision_that_lasts_too_long_is_refused(telemetry, decisions):
    with pytest.raises(UserError, match="too long"):
        decisions.on_alert(Decision.SILENCE, "x1", "critical", *SAID, "30d")
    assert telemetry.sent == []


def test_every_question_to_kafka_has_the_deadline(decisions, monkeypatch):
    limits = []

    def away(settings, topic):
        limits.append(deadline.at_most_ms(1_000_000))
        raise UserError("Kafka at telemetry:9092 cannot be reached: no answer")

    monkeypatch.setattr(clients, "read_all", away)
    for ask in (
        lambda: decisions.on_alert(Decision.ACKNOWLEDGE, "x1", "critical", *SAID, "2h"),
        lambda: decisions.withdraw(Decision.ACKNOWLEDGE, "x1", *SAID),
        lambda: decisions.on_action(Decision.ACCEPT, "c1", "", *SAID),
        lambda: decisions.about(alert("x1"), []),
    ):
        with pytest.raises(UserError, match="cannot be reached"):
            ask()
    assert all(limit <= deadline.ANSWER_MS for limit in limits)
    assert len(limits) == 4
