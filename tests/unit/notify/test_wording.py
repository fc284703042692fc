"""What an operator reads first: the title's word, count and place, and which alerts the body lists."""

import pytest

from logdirwatch.decisions import AlertDecisions
from logdirwatch.model.records import DecisionRecord
from logdirwatch.model.vocabulary import AlertStatus, Decision, Rule, Severity
from logdirwatch.notify.groups import Member, Message, Reason
from logdirwatch.notify.links import Links
from logdirwatch.notify.routing import GroupKey
from logdirwatch.notify.wording import LISTED, SUMMARY_CHARACTERS, headlines, text_of
from logdirwatch.plan.rule_responses import first_look
from tests.unit.report.builders import NOW_MS, action, alert


def text(*firing, ended=(), left_out=(), reason=Reason.FIRST):
    members = tuple(found if isinstance(found, Member) else Member(found) for found in firing)
    group = GroupKey("ops", "all", (("cluster", "prod"),))
    return text_of(Message(group, reason, NOW_MS, members, tuple(ended), {}, tuple(left_out)))


def over(name="b" * 32, **fields):
    return alert(name, 2, **{"status": AlertStatus.RESOLVED, "reason": "recovered", **fields})


def many(count, **fields):
    return [alert(f"{number:032}", log_dir=f"/d{number}", **fields) for number in range(count)]


PAGE, WARNING = Severity.PAGE, Severity.WARNING
LOOK = f"  next: {first_look(alert())}"


@pytest.mark.parametrize(
    ("firing", "ended", "left_out", "word", "severity"),
    [
        ([alert(severity=WARNING)], [], [], "[warning] ", WARNING),
        ([alert(severity=WARNING)], [over(severity=PAGE)], [], "[warning] ", WARNING),
        ([alert(severity=WARNING)], [], [alert("s", severity=PAGE)], "[warning] ", WARNING),
        ([], [over(severity=PAGE)], [], "[resolved] ", None),
        ([], [over(severity=PAGE)], [alert("s", severity=WARNING)], "[partly resolved] ", WARNING),
    ],
)
def test_the_title_begins_with_the_severity_of_what_fires(firing, ended, left_out, word, severity):
    found = text(*firing, ended=ended, left_out=left_out)
    assert found.title.startswith(f"{word}log_dir_offline: prod broker 7 /data/d1")
    assert found.severity is severity


def test_the_most_severe_alert_decides_wherever_it_stands():
    assert text(alert("a", severity=WARNING), alert("b", severity=PAGE)).title.startswith("[page] 2 alerts")


@pytest.mark.parametrize(("reason", "is_again"), [(reason, reason is Reason.REPEAT) for reason in Reason])
def test_only_a_repeat_says_still(reason, is_again):
    assert text(alert(), reason=reason).title.startswith("[critical] (still) " if is_again else "[critical] log_dir")


@pytest.mark.parametrize(
    ("places", "where"),
    [
        ([("prod", 7, "/a"), ("dev", 7, "/a")], "2 clusters"),
        ([("prod", 7, "/a"), ("prod", 8, "/a")], "prod"),
        ([("prod", 7, "/a"), ("prod", 7, "/b")], "prod broker 7"),
        ([("prod", 7, "/a"), ("prod", 7, None)], "prod broker 7"),
        ([("prod", 7, "/a"), ("prod", None, None)], "prod"),
        ([("prod", 7, "/a"), ("prod", 7, "/a")], "prod broker 7 /a"),
        ([("prod", 7, None), ("prod", 7, None)], "prod broker 7"),
        ([("prod", None, None), ("prod", None, None)], "prod"),
        ([("prod", 0, "/a"), ("prod", 0, "/b")], "prod broker 0"),
    ],
)
def test_the_title_names_the_place_that_all_share(places, where):
    alerts = [alert(f"{n}", cluster=c, broker=b, log_dir=d) for n, (c, b, d) in enumerate(places)]
    assert text(*alerts).title.split(": ")[1] == where


@pytest.mark.parametrize(
    ("alerts", "said"),
    [
        (many(1), ["1 disk offline"]),
        (many(2), ["2 disks offline"]),
        (many(1, rule=Rule.THROTTLE_LEFT), ["throttle_left"]),
        (many(3, rule=Rule.THROTTLE_LEFT), ["3 throttle_left"]),
        # By severity, and what serves nobody first among equals.
        (
            [
                *many(1, rule=Rule.LOG_DIR_SPACE, severity=WARNING),
                *many(1, rule=Rule.BROKER_OFFLINE, severity=PAGE),
                *many(1, rule=Rule.PARTITIONS_AT_RISK, severity=PAGE, to_status="under_min_isr"),
            ],
            ["under min isr", "1 broker offline", "1 disk filling up"],
        ),
    ],
)
def test_headlines_count_by_rule_the_most_severe_first(alerts, said):
    assert headlines(alerts) == said


@pytest.mark.parametrize(
    ("examples", "said"),
    [
        ([[]], "leaderless"),
        ([["a-0"]], "leaderless: a-0"),
        ([["a-0", "a-1"]], "leaderless: a-0, a-1"),
        ([["a-0", "a-1"], ["b-0"]], "leaderless: a-0, a-1 and 1 more"),
    ],
)
def test_a_headline_names_two_partitions_at_risk(examples, said):
    risk = {"rule": Rule.PARTITIONS_AT_RISK, "to_status": "leaderless", "log_dir": None}
    alerts = [alert(f"{n}", affected={"examples": names}, **risk) for n, names in enumerate(examples)]
    assert headlines(alerts) == [said]


def test_a_headline_of_partitions_without_a_kind_or_examples_is_the_rule():
    risk = {"rule": Rule.PARTITIONS_AT_RISK, "affected": {"examples": None}, "log_dir": None}
    assert headlines([alert("a", to_status=None, **risk)]) == ["partitions at risk"]
    kinds = [alert(kind, to_status=kind, **risk) for kind in ("leaderless", "sole_replica", "leaderless")]
    assert headlines(kinds) == ["leaderless, sole replica"]


def test_a_firing_alert_is_listed_with_what_changed_since_when_its_id_and_how_it_is_handled():
    made = {"version": 1, "id": "a", "by": "ada", "reason": "known", "at_ms": NOW_MS, "until_ms": NOW_MS + 3_600_000}
    decided = AlertDecisions(DecisionRecord(decision=Decision.ACKNOWLEDGE, **made))
    assert text(Member(alert(), decided)).body.splitlines() == [
        "critical log_dir_offline prod broker 7 /data/d1, online > offline, opened 1 min ago, aaaaaaaa",
        "  Broker 7 /data/d1 is offline [acknowledged by ada until 2023-11-14 23:13:20Z: known]",
        LOOK,
    ]


def test_an_alert_without_a_status_has_no_empty_part():
    first, *_ = text(alert(from_status=None, to_status=None)).body.splitlines()
    assert first == "critical log_dir_offline prod broker 7 /data/d1, opened 1 min ago, aaaaaaaa"


@pytest.mark.parametrize(
    ("firing", "reason", "lines"),
    [
        ([], "recovered", ["resolved (recovered) log_dir_offline prod broker 7 /data/d1, bbbbbbbb"]),
        ([], None, ["resolved log_dir_offline prod broker 7 /data/d1, bbbbbbbb"]),
        ([alert()], None, ["over:", "resolved log_dir_offline prod broker 7 /data/d1, bbbbbbbb"]),
    ],
)
def test_what_ended_is_listed_below_what_fires(firing, reason, lines):
    found = text(*firing, ended=[over(reason=reason)]).body.splitlines()
    assert found[3 * len(firing) :] == [*lines, "  Broker 7 /data/d1 is offline"]


@pytest.mark.parametrize("count", [LISTED, LISTED + 1, LISTED + 30])
@pytest.mark.parametrize("is_over", [False, True])
def test_ten_alerts_are_listed_and_the_rest_counted(count, is_over):
    alerts = many(count)
    ended = [over(found.alert_id, log_dir=found.log_dir) for found in alerts]
    body = (text(ended=ended) if is_over else text(*alerts)).body
    assert body.count("log_dir_offline") == 10
    rest = f"and {count - 10} more{' resolved' if is_over else ''}; list them with: logdirwatch alerts"
    assert (rest in body) is (count > 10)
    assert ("--all" in body) is (is_over and count > 10)


def test_what_is_silenced_and_still_fires_is_counted_at_the_end():
    body = text(ended=[over()], left_out=many(3)).body
    assert body.splitlines()[-1] == "still firing, but silenced: 3; list them with: logdirwatch alerts"
    assert "still firing" not in text(ended=[over()]).body


@pytest.mark.parametrize("is_over", [False, True])
@pytest.mark.parametrize(("length", "is_cut"), [(SUMMARY_CHARACTERS, False), (SUMMARY_CHARACTERS + 1, True)])
def test_a_long_summary_is_cut(length, is_cut, is_over):
    summary = "x" * length
    body = (text(ended=[over(summary=summary)]) if is_over else text(alert(summary=summary))).body
    shown = "x" * SUMMARY_CHARACTERS + "..." if is_cut else summary
    assert body.splitlines()[1] == f"  {shown}"


def known(*firing, told=(), ended=(), links=None, **fields):
    """Return the text of a message whose receiver knows the alerts ``told``, each with its severity."""
    members = tuple(found if isinstance(found, Member) else Member(found) for found in firing)
    spoken = {found.alert_id: severity for found, severity in told}
    message = Message(GroupKey("ops", "all"), Reason.MORE, NOW_MS, members, tuple(ended), spoken, **fields)
    return text_of(message, links or Links())


def test_what_is_new_is_marked_and_first_and_the_rest_is_one_line_each():
    old, new = alert("o" * 32, severity=PAGE, log_dir="/old"), alert("n" * 32, severity=WARNING, log_dir="/new")
    found = known(old, new, told=[(old, PAGE)], ended=[over()])
    assert found.title == "[warning] log_dir_offline: prod broker 7 /new (known: 1 page; resolved: 1)"
    assert found.severity is PAGE, "a service that keeps incidents keeps the loudest"
    assert found.body.splitlines() == [
        "new: warning log_dir_offline prod broker 7 /new, online > offline, opened 1 min ago, nnnnnnnn",
        "  Broker 7 /data/d1 is offline",
        LOOK,
        "over:",
        "resolved (recovered) log_dir_offline prod broker 7 /data/d1, bbbbbbbb",
        "  Broker 7 /data/d1 is offline",
        "still page log_dir_offline prod broker 7 /old, online > offline, opened 1 min ago, oooooooo",
    ]


def test_what_became_louder_is_new():
    found = known(alert(severity=PAGE), told=[(alert(), WARNING)])
    assert found.title == "[page] log_dir_offline: prod broker 7 /data/d1"
    assert found.body.splitlines()[1] == "  Broker 7 /data/d1 is offline"


def test_of_several_new_ones_the_title_counts_those():
    old = alert("o" * 32, severity=PAGE)
    title = known(old, *many(2, severity=WARNING), told=[(old, PAGE)]).title
    assert title == "[warning] 2 new alerts: prod broker 7: 2 disks offline (known: 1 page)"


A, B, C = (alert(name * 32, severity=PAGE, log_dir=f"/{name}") for name in "abc")
LOW, OTHER = alert("l" * 32, severity=WARNING, log_dir="/l"), alert("o" * 32, broker=9, severity=PAGE)
ALL_TOLD = [(found, found.severity) for found in (A, B, C, LOW, OTHER)]


@pytest.mark.parametrize(
    ("firing", "ended", "left_out", "title"),
    [
        # Only an end: it is no new page, and what fires on is counted by severity.
        ([A, B], 1, (), "[partly resolved] log_dir_offline: prod broker 7 /data/d1 (still firing: 2 page)"),
        ([A], 2, (), "[partly resolved] 2 alerts: prod broker 7 /data/d1: 2 disks offline (still firing: 1 page)"),
        (
            [LOW, A],
            1,
            (),
            "[partly resolved] log_dir_offline: prod broker 7 /data/d1 (still firing: 1 page, 1 warning)",
        ),
        (
            [LOW],
            1,
            [A],
            "[partly resolved] log_dir_offline: prod broker 7 /data/d1 (still firing: 1 warning; silenced: 1 page)",
        ),
        ([], 1, [A, LOW], "[partly resolved] log_dir_offline: prod broker 7 /data/d1 (silenced: 1 page, 1 warning)"),
        ([], 1, (), "[resolved] log_dir_offline: prod broker 7 /data/d1"),
        ([], 2, (), "[resolved] 2 alerts: prod broker 7 /data/d1: 2 disks offline"),
        # News beside it: the news decides the word, what else is so is counted.
        (
            [alert("n" * 32, severity=WARNING), A],
            1,
            (),
            "[warning] log_dir_offline: prod broker 7 /data/d1 (known: 1 page; resolved: 1)",
        ),
        (
            [alert("n" * 32, severity=PAGE), LOW, OTHER],
            2,
            (),
            "[page] log_dir_offline: prod broker 7 /data/d1 (known: 1 page, 1 warning; resolved: 2)",
        ),
        ([alert("n" * 32, severity=PAGE)], 1, (), "[page] log_dir_offline: prod broker 7 /data/d1 (resolved: 1)"),
        # Nothing new and nothing over: what is shown is what still fires.
        ([A, OTHER], 0, (), "[page] 2 alerts: prod: 2 disks offline"),
    ],
)
def test_a_title_says_what_is_so_now(firing, ended, left_out, title):
    gone = [over(f"{number:032}", severity=PAGE) for number in range(ended)]
    assert known(*firing, told=ALL_TOLD, ended=gone, left_out=tuple(left_out)).title == title


def test_the_next_step_and_the_links_follow_a_new_alert():
    step = Member(alert(), next_step=action(reason="room in /data/d2", data_loss=True))
    body = known(step, links=Links("https://disks.example.com", "https://wiki.example.com/{rule}")).body
    assert body.splitlines()[2:] == [
        "  next: move_log_dir: LOSES DATA; room in /data/d2 (logdirwatch actions show cccccccc)",
        f"  action: https://disks.example.com/actions/{'c' * 32}",
        f"  console: https://disks.example.com/alerts/{'a' * 32}",
        "  runbook: https://wiki.example.com/log_dir_offline",
    ]


@pytest.mark.parametrize("rule", Rule)
@pytest.mark.parametrize("has_zookeeper", [False, True])
def test_every_rule_has_a_next_step_before_an_action_is_known(rule, has_zookeeper):
    (step,) = (
        line
        for line in text(alert(rule=rule, evidence={"has_zookeeper": has_zookeeper})).body.splitlines()
        if line.startswith("  next: ")
    )
    assert len(step) > len("  next: ")
    assert not (has_zookeeper and "metadata quorum" in step)


def test_a_test_says_that_it_is_one():
    assert "next:" not in known(alert(), is_test=True).body
    assert known(alert(), is_test=True).title == "[test] logdirwatch notify: nothing is wrong"
    assert known(ended=[over()], is_test=True).title == "[test] logdirwatch notify: nothing is wrong, the test is over"


def test_a_message_without_a_record_of_earlier_ones_says_so():
    assert known(alert(), may_repeat=True).body.endswith("you may have got some of this already")
