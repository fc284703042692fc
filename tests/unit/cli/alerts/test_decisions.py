"""What people say of alerts: what is sent, what is refused, and what the commands show of it."""

import json

import pytest

from logdirwatch.cli import deciding
from logdirwatch.cli.alerts import command, decisions
from logdirwatch.cli.deciding import written_id
from logdirwatch.errors import UserError
from logdirwatch.kafka import clients
from logdirwatch.model.vocabulary import AlertStatus, Decision, Rule, Severity
from logdirwatch.report.healthy import BY_WORD
from tests.unit.report.builders import NOW_MS, alert

HOUR_MS = 3_600_000
BY_ADA = ("--by", "ada", "--reason", "disk ordered")


@pytest.fixture(autouse=True)
def clock(monkeypatch):
    for module in (decisions, command, deciding):
        monkeypatch.setattr(module, "now_ms", lambda: NOW_MS)


@pytest.fixture
def firing(telemetry):
    telemetry.topics["logdir.alerts"] = [alert("x1", revision=3), alert("y1", severity=Severity.PAGE, log_dir="/d9")]
    return telemetry


def shown(run, *arguments):
    return [json.loads(row) for row in run("alerts", *arguments, "--json").out.splitlines()]


def test_an_acknowledgement_goes_to_its_topic_and_is_shown(run, firing):
    ended = run("alerts", "ack", "x", *BY_ADA, "--for", "4h", "--owner", "storage team")
    assert (ended.exit_code, ended.err) == (0, "")
    assert ended.out == (
        "acknowledge: log_dir_offline of prod broker 7 /data/d1, x1, until 2023-11-15 02:13:20Z, by ada: disk ordered\n"
    )
    ((topic, key, _),), (record,) = firing.sent, firing.decided
    assert (topic, key) == ("logdir.decisions", b"x1")
    assert (record.id, record.decision, record.cluster, record.owner) == (
        "x1",
        Decision.ACKNOWLEDGE,
        "prod",
        "storage team",
    )
    assert (record.severity, record.revision) == (Severity.CRITICAL, 3)
    assert record.until_ms - record.at_ms == 4 * HOUR_MS
    page, acknowledged = shown(run)
    assert (page["alert_id"], page["acknowledged"], page["silenced"]) == ("y1", None, None)
    assert acknowledged["status"] == "firing"
    assert acknowledged["acknowledged"] == {
        "by": "ada",
        "owner": "storage team",
        "reason": "disk ordered",
        "at_ms": NOW_MS,
        "until_ms": NOW_MS + 4 * HOUR_MS,
    }
    text = " ".join(run("alerts").out.split())
    assert "[acknowledged by ada, owner storage team, until 2023-11-15 02:13:20Z: disk ordered]" in text


def test_without_a_time_an_acknowledgement_lasts_a_day_and_a_silence_four_hours(run, firing):
    run("alerts", "ack", "x", *BY_ADA)
    run("alerts", "silence", "x", *BY_ADA)
    assert [record.until_ms - record.at_ms for record in firing.decided] == [24 * HOUR_MS, 4 * HOUR_MS]


def test_a_silenced_alert_goes_on_firing_and_stands_behind_the_others(run, firing):
    assert [found["alert_id"] for found in shown(run)] == ["y1", "x1"]
    assert run("alerts", "silence", "y1", *BY_ADA).exit_code == 0
    assert [(found["alert_id"], found["status"]) for found in shown(run)] == [("x1", "firing"), ("y1", "firing")]
    assert shown(run)[1]["silenced"]["by"] == "ada"


def test_a_louder_alert_ends_what_was_said_of_it(run, firing):
    run("alerts", "ack", "x", *BY_ADA)
    run("alerts", "silence", "x", *BY_ADA)
    firing.topics["logdir.alerts"].append(alert("x1", revision=4, severity=Severity.PAGE))
    firing.topics["logdir.alerts"].append(alert("x1", revision=5))
    (found,) = [found for found in shown(run) if found["alert_id"] == "x1"]
    assert (found["revision"], found["acknowledged"], found["silenced"]) == (5, None, None)


def test_what_is_followed_says_what_holds_of_it(run, firing):
    run("alerts", "ack", "x", *BY_ADA)
    firing.later = [alert("x1", revision=4)]
    assert "[acknowledged by ada]" in run("alerts", "--follow").out.splitlines()[-1]


def test_a_silence_by_pattern_is_about_alerts_that_come_later_too(run, firing):
    ended = run("alerts", "silence", *BY_ADA, "--cluster", "prod", "--rule", "log_dir_offline", "--log-dir", "/data/*")
    assert "silence: all log_dir_offline of cluster prod, log directory /data/*, " in ended.out
    (record,) = firing.decided
    assert (record.severity, record.revision) == (None, None)
    assert record.matching.rule is Rule.LOG_DIR_OFFLINE
    firing.topics["logdir.alerts"].append(alert("z1"))
    assert {found["alert_id"] for found in shown(run) if found["silenced"]} == {"x1", "z1"}


def test_the_same_pattern_said_again_replaces_what_was_said(run, firing):
    for hours in ("1h", "2h"):
        run("alerts", "silence", *BY_ADA, "--broker", "7", "--for", hours)
    first, second = firing.decided
    assert first.id == second.id
    assert second.at_ms == first.at_ms + 1, "whosever clock it was, the later word counts"
    assert {found["silenced"]["until_ms"] for found in shown(run)} == {second.until_ms}


@pytest.mark.parametrize(
    ("pattern", "told"),
    [
        (["--log-dir", "/nothing*"], "no open alert matches it now"),
        (["--cluster", "prd"], "no open alert matches it now"),
        (["--broker", "7"], "it silences 2 open alerts now"),
    ],
)
def test_a_silence_by_pattern_says_how_many_alerts_it_is_about(run, firing, pattern, told):
    ended = run("alerts", "silence", *BY_ADA, *pattern)
    assert (ended.exit_code, ended.out.splitlines()[-1]) == (0, told)


def test_a_silence_may_cover_louder_ones(run, firing):
    run("alerts", "silence", "x", *BY_ADA, "--up-to", "page")
    firing.topics["logdir.alerts"].append(alert("x1", revision=4, severity=Severity.PAGE))
    assert {found["alert_id"] for found in shown(run) if found["silenced"]} == {"x1"}


def test_what_was_said_is_listed_and_can_be_taken_back(run, firing):
    run("alerts", "ack", "x", *BY_ADA)
    run("alerts", "silence", *BY_ADA, "--broker", "7")
    listed = [json.loads(row) for row in run("alerts", "decisions", "--json").out.splitlines()]
    assert [(row["decision"], row["by"]) for row in listed] == [("acknowledge", "ada"), ("silence", "ada")]
    text = run("alerts", "decisions").out
    assert "log_dir_offline of prod broker 7 /data/d1" in text
    assert "all alerts of broker 7" in text
    assert run("alerts", "unack", "x1", "--by", "bob").exit_code == 0
    assert run("alerts", "unsilence", listed[1]["id"][:8], "--by", "bob").exit_code == 0
    assert run("alerts", "decisions", "--json").out == ""
    assert "No alert is acknowledged or silenced" in run("alerts", "decisions").out
    assert [found for found in shown(run) if found["acknowledged"] or found["silenced"]] == []
    ended = run("alerts", "unack", "x1", "--by", "bob")
    assert (ended.exit_code, ended.err.startswith("logdirwatch: no active acknowledge of 'x1'")) == (1, True)


@pytest.mark.parametrize(
    "arguments",
    [
        ["ack", "x"],
        ["ack", "x", "--by", "ada"],
        ["ack", "x", "--by", " ", "--reason", "r"],
        ["ack", "x", *BY_ADA, "--for", "soon"],
        ["ack", "x", *BY_ADA, "--for", "0h"],
        ["ack", "x", *BY_ADA, "--for", "8d"],
        ["silence", *BY_ADA],
        ["silence", "x", "--broker", "7", *BY_ADA],
        ["silence", "--rule", "nonsense", *BY_ADA],
        ["silence", "--broker", "-1", *BY_ADA],
    ],
)
def test_wrong_use_ends_with_exit_code_2_and_sends_nothing(run, firing, arguments):
    assert run("alerts", *arguments).exit_code == 2
    assert firing.sent == []


def test_a_duration_that_is_too_long_names_the_bound_and_its_key(run, firing):
    ended = run("alerts", "ack", "x", *BY_ADA, "--for", "8d")
    assert ended.err == "logdirwatch: --for 8d is too long: at most 7 d (decisions.longest_ms)\n"


def test_only_an_alert_that_fires_and_is_known_can_be_spoken_of(run, telemetry):
    telemetry.topics["logdir.alerts"] = [alert("over", status=AlertStatus.RESOLVED), alert("x1"), alert("x2")]
    for named, words in (("over", "is resolved"), ("nobody", "no alert 'nobody'"), ("x", "2 alerts begin with x")):
        ended = run("alerts", "ack", named, *BY_ADA)
        assert ended.exit_code != 0
        assert words in ended.err
    assert "changes nothing" in run("alerts", "silence", "x1", *BY_ADA, "--up-to", "warning").err
    assert telemetry.sent == []


def test_alerts_are_shown_though_nobody_knows_what_was_said_of_them(run, firing, monkeypatch):
    def read_all(settings, topic):
        if topic == "logdir.decisions":
            raise UserError("topic logdir.decisions does not exist")
        return firing.read_all(settings, topic)

    monkeypatch.setattr(clients, "read_all", read_all)
    ended = run("alerts", "--json")
    assert (ended.exit_code, len(ended.out.splitlines())) == (0, 2)
    assert "acknowledgements and silences are unknown: topic logdir.decisions does not exist" in ended.err


def test_the_word_that_a_disk_is_good_names_its_directory(run, firing):
    firing.topics["logdir.alerts"][0] = alert("x1", rule=Rule.LOG_DIR_SUSPECT, evidence={"why": ["medium_error"]})
    ended = run("alerts", "healthy", "x", "--by", "ada", "--reason", "disk replaced")
    assert (ended.exit_code, ended.err) == (0, "")
    assert ended.out == "healthy: prod broker 7 /data/d1, by ada: disk replaced\n"
    ((topic, key, _),), (record,) = firing.sent, firing.decided
    assert (topic, key) == ("logdir.decisions", b"prod/7//data/d1")
    assert (record.decision, record.cluster, record.broker, record.log_dir) == (Decision.HEALTHY, "prod", 7, "/data/d1")
    assert (record.at_ms, record.until_ms) == (NOW_MS, None)
    run("alerts", "healthy", "x", "--by", "ada", "--reason", "and again")
    assert firing.decided[-1].at_ms == NOW_MS + 1, "later than what was said before"
    assert run("alerts", "decisions").out == "No alert is acknowledged or silenced.\n"


@pytest.mark.parametrize(
    ("rule", "evidence", "said"),
    [
        (Rule.LOG_DIR_OFFLINE, {}, "log_dir_offline keeps firing: it ends when its broker, once restarted"),
        (
            Rule.LOG_DIR_SUSPECT,
            {"why": ["medium_error", "slow_probe"]},
            "log_dir_suspect keeps firing for slow_probe",
        ),
        (
            Rule.UNCLEANABLE_PARTITIONS,
            {"why": ["t-0"], "uncleanable_partitions": 3},
            "it ends when the broker's gauge",
        ),
        (Rule.UNCLEANABLE_PARTITIONS, {"why": ["t-0"], "uncleanable_partitions": 1}, None),
        (Rule.PARTITION_FAILED, {"why": ["t-0"]}, None),
    ],
)
def test_what_the_word_does_not_end_is_said(run, firing, rule, evidence, said):
    firing.topics["logdir.alerts"].append(alert("z1", rule=rule, evidence=evidence))
    ended = run("alerts", "healthy", "z1", *BY_ADA)
    assert (ended.exit_code, ended.err, len(firing.sent)) == (0, "", 1)
    lines = ended.out.splitlines()
    assert lines[0] == "healthy: prod broker 7 /data/d1, by ada: disk ordered"
    assert len(lines) == (1 if said is None else 2)
    assert said is None or said in lines[1]


def test_a_directory_that_left_log_dirs_is_given_up_by_word(run, firing):
    firing.topics["logdir.alerts"].append(
        alert("z1", rule=Rule.LOG_DIR_UNKNOWN, evidence={"reason": "no longer in log.dirs"})
    )
    assert run("alerts", "healthy", "z1", *BY_ADA).exit_code == 0


@pytest.mark.parametrize("rule", sorted(set(Rule) - BY_WORD - {Rule.LOG_DIR_OFFLINE, Rule.HEARTBEAT}))
def test_where_the_word_ends_nothing_it_is_not_taken(run, firing, rule):
    firing.topics["logdir.alerts"].append(alert("z1", rule=rule))
    ended = run("alerts", "healthy", "z1", *BY_ADA)
    assert (ended.exit_code, ended.out, firing.sent) == (1, "", [])
    assert f"no word ends {rule}: it ends when " in ended.err


def test_what_is_only_measured_ends_by_no_word(run, firing):
    firing.topics["logdir.alerts"].append(alert("z1", rule=Rule.LOG_DIR_SUSPECT, evidence={"why": ["slow_probe"]}))
    ended = run("alerts", "healthy", "z1", *BY_ADA)
    assert (ended.exit_code, firing.sent) == (1, [])
    assert "no word ends log_dir_suspect for slow_probe" in ended.err


def test_of_an_alert_without_a_broker_there_is_no_disk_to_speak_of(run, firing):
    slow = {"why": ["medium_error"]}
    firing.topics["logdir.alerts"].append(
        alert("z1", rule=Rule.LOG_DIR_SUSPECT, broker=None, log_dir=None, evidence=slow)
    )
    ended = run("alerts", "healthy", "z1", *BY_ADA)
    assert (ended.exit_code, firing.sent) == (1, [])
    assert "names no broker" in ended.err


def test_a_misspelt_rule_is_refused_with_the_one_that_is_meant(run, telemetry):
    ended = run("alerts", "silence", *BY_ADA, "--rule", "log_dir_spce")
    assert ended.exit_code == 2
    assert "there is no rule log_dir_spce; did you mean log_dir_space?" in " ".join(ended.err.replace("│", " ").split())


@pytest.mark.parametrize(
    "copied",
    ["A1B2C3", " a1b2c3\n", "a1b2c3\u2026", "a1b2c3...", "(a1b2c3),", "#a1b2c3", "https://console/alerts/a1b2c3?x=1#y"],
)
def test_an_id_is_understood_however_it_was_copied(copied):
    assert written_id(copied) == "a1b2c3"


@pytest.mark.parametrize("copied", ["prod/7", "a/b"])
def test_what_only_ends_like_an_id_is_none(copied):
    assert written_id(copied) == copied


@pytest.mark.parametrize("copied", ["", " ", "\u2026", "https://console/alerts/"])
def test_an_id_without_a_character_is_refused(copied):
    with pytest.raises(UserError, match="needs at least one character"):
        written_id(copied)
