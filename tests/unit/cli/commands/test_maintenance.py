"""``logdirwatch maintenance``: what is sent, what is refused and what is listed."""

import json

import pytest

from logdirwatch.cli import deciding
from logdirwatch.cli.commands import maintenance
from logdirwatch.errors import UserError
from logdirwatch.model.records import DecisionRecord
from logdirwatch.model.vocabulary import Decision
from logdirwatch.parse.records import Accepted, parse
from tests.unit.report.builders import NOW_MS

HOUR_MS = 3_600_000
BY_ADA = ("--by", "ada", "--reason", "new disk")
START = ("maintenance", "start", "--cluster", "prod")


class Clock:
    now_ms = NOW_MS


@pytest.fixture(autouse=True)
def clock(monkeypatch):
    clock = Clock()
    for module in (maintenance, deciding):
        monkeypatch.setattr(module, "now_ms", lambda: clock.now_ms)
    return clock


def listed(run, *arguments):
    return [json.loads(row) for row in run("maintenance", "list", *arguments, "--json").out.splitlines()]


def test_it_is_a_record_for_every_broker_that_detect_reads(run, telemetry):
    ended = run(*START, "--broker", "8", "--broker", "7", "--broker", "7", "--for", "2h", *BY_ADA)
    assert (ended.exit_code, ended.err) == (0, "")
    assert ended.out == (
        "maintenance of broker 7 of prod: until 2023-11-15 00:13:20Z, by ada: new disk\n"
        "maintenance of broker 8 of prod: until 2023-11-15 00:13:20Z, by ada: new disk\n"
    )
    assert [(topic, key) for topic, key, _ in telemetry.sent] == [
        ("logdir.decisions", b"prod/7"),
        ("logdir.decisions", b"prod/8"),
    ]
    for (topic, key, value), broker in zip(telemetry.sent, (7, 8), strict=True):
        result = parse(topic, key, value, NOW_MS, "home")
        assert isinstance(result, Accepted)
        assert (result.record.cluster, result.record.broker) == ("prod", broker)
        assert result.record.decision is Decision.MAINTENANCE
        assert (result.record.at_ms, result.record.until_ms) == (NOW_MS, NOW_MS + 2 * HOUR_MS)


@pytest.mark.parametrize(
    ("known", "told"),
    [
        ([("prod", 7), ("prod", 8)], ""),
        ([("prod", 7), ("test", 8)], "logdirwatch: the tables do not know broker 8 of prod: check the id\n"),
        ([("test", 7)], ""),
        (None, ""),
    ],
)
def test_a_broker_that_the_tables_do_not_know_is_named(known, told, run, telemetry, monkeypatch):
    class Reader:
        def select_columns(self, *_):
            if known is None:
                raise UserError("the tables cannot be read")
            return ({"cluster": cluster, "broker": broker} for cluster, broker in known)

    monkeypatch.setattr(maintenance, "table_reader", lambda settings: Reader())
    ended = run(*START, "--broker", "8", "--broker", "7", "--for", "2h", *BY_ADA)
    assert (ended.exit_code, ended.err, len(telemetry.sent)) == (0, told, 2)


def test_what_runs_is_listed_with_who_and_why(run, telemetry, clock):
    run(*START, "--broker", "7", "--for", "2h", *BY_ADA)
    run("maintenance", "start", "--cluster", "test", "--broker", "1", "--for", "1h", *BY_ADA)
    assert listed(run, "--cluster", "prod") == [
        {
            "cluster": "prod",
            "broker": 7,
            "by": "ada",
            "reason": "new disk",
            "at_ms": NOW_MS,
            "until_ms": NOW_MS + 2 * HOUR_MS,
            "is_running": True,
        }
    ]
    text = run("maintenance", "list").out
    assert "broker 7" in text
    assert "2 h more" in text
    clock.now_ms += HOUR_MS
    assert [(row["cluster"], row["is_running"]) for row in listed(run, "--all")] == [("prod", True), ("test", False)]
    clock.now_ms += HOUR_MS
    assert listed(run) == []
    assert "No maintenance is active" in run("maintenance", "list").out
    assert "over" in run("maintenance", "list", "--all").out


def test_its_end_is_the_last_word_even_of_a_slower_clock(run, telemetry, clock):
    run(*START, "--broker", "7", "--for", "2h", *BY_ADA)
    clock.now_ms -= 60_000
    ended = run("maintenance", "end", "--cluster", "prod", "--broker", "7", "--by", "bob")
    assert (ended.exit_code, ended.out) == (0, "maintenance of broker 7 of prod: ended, by bob: done\n")
    first, second = telemetry.decided
    assert second.at_ms == second.until_ms == first.at_ms + 1
    assert listed(run) == []


def test_what_does_not_run_cannot_end(run, telemetry):
    run(*START, "--broker", "7", "--for", "2h", *BY_ADA)
    ended = run("maintenance", "end", "--cluster", "prod", "--broker", "7", "--broker", "9", "--by", "bob")
    assert (ended.exit_code, len(telemetry.sent)) == (1, 1)
    assert "no maintenance of broker 9 of prod is active" in ended.err


@pytest.mark.parametrize(
    "arguments",
    [
        ["--broker", "7", "--for", "2h"],
        ["--broker", "7", "--for", "2h", "--by", "ada", "--reason", " "],
        ["--broker", "7", *BY_ADA],
        ["--broker", "7", "--for", "8d", *BY_ADA],
        ["--broker", "7", "--for", "a while", *BY_ADA],
        ["--for", "2h", *BY_ADA],
        ["--broker", "-7", "--for", "2h", *BY_ADA],
    ],
)
def test_wrong_use_ends_with_exit_code_2_and_sends_nothing(run, telemetry, arguments):
    assert run(*START, *arguments).exit_code == 2
    assert telemetry.sent == []


def test_a_cluster_that_the_configuration_does_not_know_is_refused(run, telemetry, monkeypatch):
    monkeypatch.setenv("LOGDIRWATCH_CLUSTERS__PRD__BOOTSTRAP_SERVERS", "kafka:9092")
    ended = run(*START, "--broker", "7", "--for", "2h", *BY_ADA)
    assert (ended.exit_code, telemetry.sent) == (2, [])
    assert "no cluster prod in the configuration; configured: prd" in ended.err


@pytest.mark.parametrize("at_ms", [NOW_MS + 30 * 24 * HOUR_MS, NOW_MS * 1000])
def test_one_of_a_clock_that_is_ahead_holds_as_long_as_it_says_from_when_kafka_got_it(run, telemetry, clock, at_ms):
    said = {"version": 1, "id": "prod/7", "decision": Decision.MAINTENANCE, "by": "bot", "reason": "disk"}
    times = {"at_ms": at_ms, "until_ms": at_ms + 4 * HOUR_MS}
    telemetry.topics["logdir.decisions"] = [DecisionRecord(**said, **times, cluster="prod", broker=7)]
    telemetry.timestamp_ms = NOW_MS
    (planned,) = listed(run)
    assert (planned["at_ms"], planned["until_ms"]) == (NOW_MS, NOW_MS + 4 * HOUR_MS)
    assert "4 h more" in run("maintenance", "list").out
    clock.now_ms += 4 * HOUR_MS
    assert listed(run) == []
