"""The commands over a telemetry cluster that is scripted: what they print, send and answer."""

import json

import msgspec
import pytest

from logdirwatch.cli.alerts import command
from logdirwatch.errors import UserError
from logdirwatch.kafka import clients
from logdirwatch.model.records import DecisionRecord
from logdirwatch.model.vocabulary import ActionStatus, AlertStatus, Decision, Rule
from logdirwatch.plan.content_hash import content_hash
from tests.unit.report.builders import NOW_MS, action, alert, heartbeat


def printed(out: str) -> list[tuple[str, int]]:
    rows = [json.loads(row) for row in out.splitlines()]
    return [(row.get("action_id") or row["alert_id"], row["revision"]) for row in rows]


def test_open_alerts_are_printed_one_record_a_line(run, telemetry):
    telemetry.topics["logdir.alerts"] = [alert("x", 0), alert("x", 1), alert("y", 1, status=AlertStatus.RESOLVED)]
    ended = run("alerts", "--json")
    assert ended.exit_code == 0
    assert printed(ended.out) == [("x", 1)]
    assert json.loads(ended.out)["from"] == "online"


@pytest.mark.parametrize(
    "affected",
    [
        {"replica_count": "x", "leaderless": [1], "examples": 5, "replica_bytes": {}},
        {"examples": [1, None], "hurt_topics": "x", "hurt_groups": 5, "brokers": 1e300},
    ],
)
def test_what_is_affected_is_shown_without_the_fields_that_do_not_fit(run, telemetry, affected):
    record = msgspec.to_builtins(alert("a")) | {"affected": {**affected, "under_min_isr": 3, "later": 1}}
    telemetry.topics["logdir.alerts"] = [msgspec.json.encode(record)]
    ended = run("alerts", "show", "a")
    assert ended.exit_code == 0
    assert "  affects   Partitions: 3 partitions under min ISR" in ended.out
    assert json.loads(run("alerts", "--json").out)["affected"] == {"under_min_isr": 3, "later": 1}


def test_all_alerts_include_the_resolved_ones(run, telemetry):
    telemetry.topics["logdir.alerts"] = [alert("y", 1, status=AlertStatus.RESOLVED), alert("x", 1)]
    assert printed(run("alerts", "--json", "--all").out) == [("x", 1), ("y", 1)]


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        (["--cluster", "dev"], ["dev"]),
        (["--broker", "8"], ["eight"]),
        (["--rule", "broker_unknown"], ["unknown"]),
        (["--log-dir", "/data/*", "--cluster", "prod"], ["eight", "one"]),
        (["--log-dir", "/nowhere"], []),
    ],
    ids=str,
)
def test_only_the_wanted_alerts_are_printed(run, telemetry, wanted, expected):
    telemetry.topics["logdir.alerts"] = [
        alert("one", log_dir="/data/d1"),
        alert("eight", broker=8, log_dir="/data/d1"),
        alert("dev", cluster="dev", log_dir=None),
        alert("unknown", rule=Rule.BROKER_UNKNOWN, log_dir=None),
    ]
    assert sorted(name for name, _ in printed(run("alerts", "--json", *wanted).out)) == expected


def test_where_nothing_matches_it_is_not_said_that_nothing_fires(run, telemetry):
    telemetry.topics["logdir.alerts"] = [alert()]
    assert run("alerts", "--rule", "log_dir_space").out == "No alert matches. All open ones: logdirwatch alerts\n"


def test_a_rule_that_does_not_exist_is_wrong_use_and_its_like_is_named(run, telemetry):
    ended = run("alerts", "--rule", "log_dir_ofline")
    assert ended.exit_code == 2
    assert "log_dir_offline" in ended.err


def test_following_prints_every_revision_once_and_ends_with_ctrl_c(run, telemetry):
    telemetry.topics["logdir.alerts"] = [alert("x", 0), alert("x", 1), alert("old", 4, status=AlertStatus.RESOLVED)]
    telemetry.later = [alert("x", 1), alert("y", 0), alert("y", 0), alert("y", 1), alert("x", 2)]
    ended = run("alerts", "--follow", "--json")
    assert ended.exit_code == 0
    assert printed(ended.out) == [("x", 1), ("y", 0), ("y", 1), ("x", 2)]


def test_what_is_followed_is_one_line_at_100_columns(run, telemetry):
    telemetry.later = [alert("x" * 32, 1, summary="word " * 99)]
    *_, last = run("alerts", "--follow").out.splitlines()
    assert last.startswith("2023-11-14 22:12:20Z critical log_dir_offline xxxxxxxx.1 prod: word word")
    assert (len(last), last[-1]) == (100, "…")


def test_no_alert_says_where_to_look_next(run, telemetry):
    ended = run("alerts")
    assert ended.exit_code == 0
    assert "logdirwatch status" in ended.out


def test_no_alert_is_no_output_for_programs(run, telemetry):
    assert run("alerts", "--json").out == ""


def test_a_telemetry_cluster_that_is_away_is_one_line_and_a_failure(run, monkeypatch):
    def away(settings, topic):
        raise UserError("Kafka at localhost:9092 cannot be reached")

    monkeypatch.setattr(clients, "read_all", away)
    for typed in (["alerts"], ["actions"], ["actions", "show", "c1"]):
        ended = run(*typed)
        assert ended.exit_code == 1
        assert ended.err == "logdirwatch: Kafka at localhost:9092 cannot be reached\n"


def test_actions_are_a_table_for_people_and_records_for_programs(run, telemetry):
    telemetry.topics["logdir.actions"] = [action("c1", 1), action("c1", 2)]
    assert "logdirwatch actions show ID" in run("actions").out
    assert printed(run("actions", "--json").out) == [("c1", 2)]


def test_an_action_is_shown_with_its_commands(run, telemetry):
    telemetry.topics["logdir.actions"] = [action("c1", commands=["tool 'a b' [c]"])]
    ended = run("actions", "show", "c")
    assert ended.exit_code == 0
    assert "\ntool 'a b' [c]\n" in ended.out


@pytest.mark.parametrize(("verb", "decision"), [("accept", Decision.ACCEPT), ("reject", Decision.REJECT)])
def test_a_decision_goes_to_its_topic(run, telemetry, verb, decision):
    telemetry.topics["logdir.actions"] = [action("c1", 1), shown := action("c1", 2, commands=["tool"])]
    ended = run("actions", verb, "c1", "--by", "ada", "--reason", "agreed with the owner")
    assert ended.exit_code == 0
    ((topic, key, value),) = telemetry.sent
    record = msgspec.json.decode(value, type=DecisionRecord)
    assert (topic, key) == ("logdir.decisions", b"c1")
    assert (record.id, record.cluster, record.decision, record.by) == ("c1", "prod", decision, "ada")
    assert record.reason == "agreed with the owner"
    assert (record.revision, record.content_hash) == (2, content_hash(shown))


@pytest.mark.parametrize(
    ("verb", "status"),
    [("accept", ActionStatus.DONE), ("accept", ActionStatus.ACCEPTED), ("reject", ActionStatus.RUNNING)],
)
def test_a_decision_that_would_change_nothing_is_refused(run, telemetry, verb, status):
    telemetry.topics["logdir.actions"] = [action("c1", status=status)]
    ended = run("actions", verb, "c1", "--by", "ada", "--reason", "r")
    assert ended.exit_code == 1
    assert f"there is nothing to {verb}" in ended.err
    assert telemetry.sent == []


@pytest.mark.parametrize("arguments", [["--by", "ada"], ["--reason", "r"], ["--by", " ", "--reason", "r"]])
def test_a_decision_without_name_or_reason_is_wrong_use(run, telemetry, arguments):
    telemetry.topics["logdir.actions"] = [action("c1")]
    assert run("actions", "accept", "c1", *arguments).exit_code == 2
    assert telemetry.sent == []


@pytest.mark.parametrize("arguments", [["alerts", "--nonsense"], ["actions", "shw"], ["schema"], ["nonsense"]])
def test_wrong_use_ends_with_exit_code_2(run, arguments):
    assert run(*arguments).exit_code == 2


@pytest.mark.parametrize(
    ("beats", "said"),
    [
        ([], "logdirwatch: prod: NO HEARTBEAT YET: are logdirwatch collect and stream running?\n"),
        ([heartbeat(age_ms=7_200_000)], "logdirwatch: prod: THE HEARTBEAT STOPPED: 2 h ago (c1)."),
        ([heartbeat()], ""),
    ],
    ids=["never heard", "two hours ago", "heard"],
)
def test_that_no_alert_is_open_proves_nothing_of_a_cluster_that_is_not_heard_of(
    run, telemetry, monkeypatch, beats, said
):
    monkeypatch.setattr(command, "now_ms", lambda: NOW_MS)
    monkeypatch.setenv("LOGDIRWATCH_CLUSTERS__PROD__BOOTSTRAP_SERVERS", "a:1")
    telemetry.topics["logdir.alerts"] = beats
    ended = run("alerts")
    assert ended.out.startswith("No open alerts.")
    assert ended.err.startswith(said)
    assert bool(ended.err) is bool(said)


def test_a_cluster_that_nothing_names_is_wrong_use(run, telemetry):
    telemetry.topics["logdir.alerts"] = [alert()]
    ended = run("alerts", "--cluster", "PROD")
    assert (ended.exit_code, ended.out) == (2, "")
    assert ended.err == "logdirwatch: no cluster PROD; did you mean prod?; known: prod\n"
