"""``logdirwatch autopilot pause`` and ``resume``: the decisions that are sent, and what is refused."""

import pytest

from logdirwatch.cli import deciding
from logdirwatch.model.vocabulary import Decision
from logdirwatch.parse.records import Accepted, parse
from tests.unit.report.builders import NOW_MS

DAY_MS = 86_400_000
BY_ADA = ("--by", "ada", "--reason", "load test")


@pytest.fixture(autouse=True)
def clock(monkeypatch):
    monkeypatch.setattr(deciding, "now_ms", lambda: NOW_MS)


def test_a_pause_is_a_decision_about_its_cluster_and_ends(run, telemetry):
    ended = run("autopilot", "pause", "prod", *BY_ADA)
    assert (ended.exit_code, ended.err) == (0, "")
    assert ended.out == "autopilot on prod: paused until 2023-11-15 22:13:20Z, by ada: load test\n"
    ((topic, key, value),) = telemetry.sent
    found = parse(topic, key, value, NOW_MS, "home")
    assert isinstance(found, Accepted)
    assert (found.record.decision, found.record.cluster) == (Decision.PAUSE, "prod")
    assert found.record.until_ms == NOW_MS + DAY_MS


def test_resuming_ends_it_at_once(run, telemetry):
    run("autopilot", "pause", "prod", *BY_ADA, "--for", "2h")
    ended = run("autopilot", "resume", "prod", "--by", "ada")
    assert ended.out == "autopilot on prod: no longer paused, by ada: done\n"
    first, last = (parse(*sent, NOW_MS, "home").record for sent in telemetry.sent)
    assert last.at_ms == last.until_ms == first.at_ms + 1


@pytest.mark.parametrize(("lasting", "said"), [("30d", "is too long"), ("soon", "is not a duration")])
def test_a_pause_of_no_or_too_long_a_duration_is_refused(run, telemetry, lasting, said):
    ended = run("autopilot", "pause", "prod", *BY_ADA, "--for", lasting)
    assert ended.exit_code == 2
    assert said in ended.err
    assert telemetry.sent == []


def test_a_pause_without_its_cluster_is_rejected():
    value = b'{"version":1,"id":"prod","decision":"pause","by":"a","reason":"b","at_ms":1}'
    assert "must name its cluster" in str(parse("logdir.decisions", b"prod", value, NOW_MS, "home"))


def test_without_anything_allowed_it_does_not_start(run):
    ended = run("autopilot")
    assert ended.exit_code == 2
    assert "nothing is allowed: name kinds of actions under autopilot.clusters.NAME.kinds" in ended.err
