"""``alerts show`` and ``alerts report``: one alert in full, and the write-up of its life from records alone."""

import pytest

from logdirwatch.model.records import DecisionRecord
from logdirwatch.model.vocabulary import ActionStatus, AlertStatus, Decision, ExecutionState, Rule, Severity
from tests.support import hostile
from tests.support.delta import Written
from tests.unit.report.builders import NOW_MS, action, alert, execution

ALERT, ACTION = "a" * 32, "c" * 32
SECOND_MS = 1_000


def acknowledged(at_ms=NOW_MS - 40 * SECOND_MS):
    return DecisionRecord(
        version=1, id=ALERT, cluster="prod", decision=Decision.ACKNOWLEDGE, by="ada", reason="on it", at_ms=at_ms
    )


def text_of(ended):
    assert (ended.exit_code, ended.err) == (0, "")
    return ended.out


def test_an_open_alert_is_shown_with_what_to_do_first(run, telemetry):
    telemetry.topics["logdir.alerts"] = [
        alert(affected={"leaderless": 2, "examples": ["orders-3"]}, evidence={"error_code": 56})
    ]
    blocked = action("d" * 32, position=0, vetoes=[{"name": "space", "text": "no room"}])
    telemetry.topics["logdir.actions"] = [blocked, action(position=1), action("e" * 32, alert_id="other")]
    shown = text_of(run("alerts", "show", "aaaa"))
    assert shown.startswith(f"log_dir_offline {ALERT} (revision 1): firing, critical\n")
    assert "  where     prod broker 7 /data/d1\n" in shown
    assert "  affects   Partitions: 2 partitions without a leader\n  affects   Examples: orders-3\n" in shown
    assert shown.index("cccccccc  move_log_dir (frees 3 GiB") < shown.index("dddddddd  not now: move_log_dir: ")
    assert "eeeeeeee" not in shown
    assert "evidence:\n  error_code: 56\n" in shown


def test_without_an_action_the_runbook_says_what_to_do(run, telemetry):
    telemetry.topics["logdir.alerts"] = [alert(rule=Rule.BROKER_UNKNOWN, log_dir=None)]
    assert "find out why the broker does not answer" in text_of(run("alerts", "show", "a"))


def test_an_alert_that_is_over_says_why_and_wants_nothing(run, telemetry):
    telemetry.topics["logdir.alerts"] = [alert(revision=2, status=AlertStatus.RESOLVED, reason="it is online again")]
    shown = text_of(run("alerts", "show", "a"))
    assert "  over      it is online again\n" in shown
    assert "what to do" not in shown


@pytest.mark.parametrize("command", ["show", "report"])
def test_an_alert_that_is_not_known_is_one_line(run, telemetry, command):
    ended = run("alerts", command, "nothing")
    assert (ended.exit_code, ended.out, len(ended.err.splitlines())) == (1, "", 1)
    assert "no alert 'nothing'" in ended.err


def test_the_write_up_tells_the_whole_life_in_its_order(run, telemetry, tmp_path):
    worst = alert(revision=2, severity=Severity.PAGE, at_ms=NOW_MS - 50 * SECOND_MS, summary="Everything is | offline")
    same = alert(revision=3, severity=Severity.PAGE, at_ms=NOW_MS - 45 * SECOND_MS)
    over = alert(revision=4, status=AlertStatus.RESOLVED, reason="it is online again", at_ms=NOW_MS)
    done = action(revision=2, status=ActionStatus.DONE, observed={"frees_bytes": 2 << 30})
    tables = Written(tmp_path / "home" / "tables")
    tables.alerts(alert(), worst, same, over)
    tables.executions(
        execution(started_at_ms=NOW_MS - 30 * SECOND_MS, at_ms=NOW_MS - 30 * SECOND_MS),
        execution(state=ExecutionState.DONE, started_at_ms=NOW_MS - 30 * SECOND_MS, at_ms=NOW_MS - 10 * SECOND_MS),
    )
    change = {"cluster": "prod", "broker": 7, "log_dir": "/data/d1", "from_status": "online", "to_status": "offline"}
    before, at = NOW_MS - 3_600 * SECOND_MS, NOW_MS - 60 * SECOND_MS
    tables.write("transitions", {**change, "at_ms": before}, {**change, "cause": "failed", "at_ms": at})
    telemetry.topics |= {"logdir.alerts": [over], "logdir.actions": [done], "logdir.decisions": [acknowledged()]}
    written = text_of(run("alerts", "report", "aaaa"))
    assert written.startswith("# log_dir_offline: prod broker 7 /data/d1\n")
    assert "at worst page, from 2023-11-14 22:12:20Z to 2023-11-14 22:13:20Z (1 min): it is online again." in written
    times = [line.split(" | ")[1:3] for line in written.splitlines() if line.startswith("| 2023")]
    assert [f"{of} {what.partition(':')[0]}" for of, what in times] == [
        "directory offline",
        "alert critical",
        "alert page",
        "decision acknowledge",
        "execution copying",
        "execution done",
        "alert resolved",
    ]
    assert "page: prod: Everything is \\| offline" in written
    assert "| move_log_dir cccccccc | done" in written
    assert "time: 10 min, was 20 s; freed: 3 GiB, was 2 GiB" in written


def test_without_tables_the_write_up_is_from_the_topics_and_says_so(run, telemetry, tmp_path):
    (tmp_path / "home" / "tables" / "alerts" / "_delta_log").mkdir(parents=True)
    (tmp_path / "home" / "tables" / "alerts" / "_delta_log" / "00000000000000000000.json").write_text("{")
    telemetry.topics["logdir.alerts"] = [alert()]
    ended = run("alerts", "report", "a")
    assert ended.exit_code == 0
    assert ended.err.startswith("logdirwatch: the write-up is from the topics alone: ")
    assert "it still fires" in ended.out


@pytest.mark.parametrize("name", hostile.NAMES)
def test_names_of_others_control_neither_terminal_nor_page(run, telemetry, name):
    telemetry.topics["logdir.alerts"] = [alert(log_dir=name, summary=name, affected={"hurt_topics": [name]})]
    for command in ("show", "report"):
        printed = text_of(run("alerts", command, "a"))
        assert printed.replace("\n", "").isprintable()
        assert command == "show" or "<script" not in printed
