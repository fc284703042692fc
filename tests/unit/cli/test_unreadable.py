"""Commands go on beside records that nobody can read, and end in time where nobody answers."""

import pytest

from logdirwatch.errors import UserError
from logdirwatch.kafka import clients, deadline, telemetry_topics
from tests.support import bad
from tests.unit.report.builders import action, alert

LATIN = '{"version":1,"by":"Müller"}'.encode("latin-1")
ESCAPES = b"\x1b]0;owned\x07\x1b[2J"
WHY = "(partition 0, offset 0: not UTF-8: invalid start byte at byte 20)"


def unreadable(ended):
    """Return the lines beside that of clusters that are not heard of."""
    return [line for line in ended.err.splitlines() if "NO HEARTBEAT" not in line]


@pytest.mark.parametrize(
    ("command", "topic", "good", "name"),
    [("alerts", "logdir.alerts", alert(), "log_dir_offline"), ("actions", "logdir.actions", action(), "move_log_dir")],
)
def test_a_list_is_shown_and_one_line_says_what_is_missing(run, telemetry, command, topic, good, name):
    telemetry.topics[topic] = [LATIN, good, ESCAPES]
    telemetry.later = [b"[" * 100_000, b"{"]
    ended = run(command, "--follow")
    assert name in ended.out
    assert unreadable(ended) == [f"logdirwatch: 2 records of {topic} cannot be read {WHY}"]


def test_what_follows_is_told_if_it_is_the_first(run, telemetry):
    telemetry.topics["logdir.alerts"] = [alert()]
    telemetry.later = [ESCAPES, alert("b" * 32)]
    ended = run("alerts", "--follow")
    assert ended.out.count("log_dir_offline") == 2
    (line,) = unreadable(ended)
    assert line.startswith("logdirwatch: 1 record of logdir.alerts cannot be read (partition 0, offset 1: JSON is ")
    assert line.isprintable()


def test_a_decision_that_cannot_be_read_is_none(run, telemetry):
    telemetry.topics["logdir.alerts"] = [alert()]
    telemetry.topics["logdir.decisions"] = [make(b'{"version":1}') for make in bad.UNREADABLE.values()]
    ended = run("alerts")
    assert "log_dir_offline" in ended.out
    assert ended.err.startswith(f"logdirwatch: {len(bad.UNREADABLE)} records of logdir.decisions cannot be read (")


SIGNED = ("--by", "ada", "--reason", "r")
COMMANDS = (
    ("alerts",),
    ("alerts", "ack", "x", *SIGNED),
    ("alerts", "unack", "x", *SIGNED),
    ("alerts", "silence", "--cluster", "prod", *SIGNED),
    ("alerts", "healthy", "x", *SIGNED),
    ("alerts", "decisions"),
    ("actions",),
    ("actions", "show", "x"),
    ("actions", "check", "x"),
    ("actions", "accept", "x", *SIGNED),
    ("maintenance", "list"),
    ("maintenance", "start", "--cluster", "prod", "--broker", "1", "--for", "1h", *SIGNED),
    ("autopilot", "pause", "prod", *SIGNED),
    ("topics", "list"),
    ("status",),
)


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_every_question_to_kafka_has_the_deadline(run, monkeypatch, words):
    limits = []

    def away(*_):
        limits.append(deadline.at_most_ms(1_000_000))
        raise UserError("Kafka at telemetry:9092 cannot be reached: no answer")

    monkeypatch.setattr(clients, "read_all", away)
    monkeypatch.setattr(telemetry_topics, "existing_topics", away)
    ended = run(*words)
    assert ended.exit_code == 1
    assert "cannot be reached: no answer" in ended.err
    assert limits
    assert max(limits) <= deadline.ANSWER_MS


NOWHERE = "127.0.0.1:1"
DURATION = "is not a duration; write 2h, 90m or 1d"
TYPED_WRONG = (
    (("alerts", "ack", "x", *SIGNED, "--for", "4hours"), f"--for '4hours' {DURATION}"),
    (("alerts", "ack", "x", *SIGNED, "--for", "0h"), f"--for '0h' {DURATION}"),
    (("alerts", "ack", "x", *SIGNED, "--for="), f"--for '' {DURATION}"),
    (("alerts", "silence", "x", *SIGNED, "--for=-1h"), f"--for '-1h' {DURATION}"),
    (("alerts", "silence", "x", *SIGNED, "--for", "8d"), "at most 7 d (decisions.longest_ms)"),
    (("alerts", "silence", "--cluster", "prod", *SIGNED, "--for", "1.5h"), f"--for '1.5h' {DURATION}"),
    (("autopilot", "pause", "prod", *SIGNED, "--for", "8d"), "at most 7 d (decisions.longest_ms)"),
    (
        ("maintenance", "start", "--cluster", "p", "--broker", "1", *SIGNED, "--for", "8d"),
        "(detect.maintenance_max_ms)",
    ),
    (("alerts", "ack", "x", "--by", "", "--reason", "r"), "a decision needs a name"),
    (("maintenance", "end", "--cluster", "c", "--broker", "1", "--by", "x" * 1_001), "have at most 1000 characters"),
    (("alerts", "healthy", "x", "--by", "ada", "--reason", " "), "a decision needs a name (--by) and a reason"),
    (("actions", "accept", "x", "--by", "ada", "--reason", ""), "a decision needs a name (--by) and a reason"),
    (("alerts", "ack", "", *SIGNED), "an id needs at least one character"),
    (("alerts", "silence", " ", *SIGNED), "an id needs at least one character"),
    (("alerts", "unsilence", "", "--by", "ada"), "an id needs at least one character"),
    (("actions", "show", ""), "an id needs at least one character"),
    (("apply", " "), "an id needs at least one character"),
    (("watch", NOWHERE, "--listen", "x"), "watch: --listen: expected host:port, such as 127.0.0.1:9464"),
    (("watch", NOWHERE, "--listen", "h:70000"), "watch: --listen: expected host:port"),
    (("watch", NOWHERE, "--notify", "slak://x"), "does not know URL 1"),
    (("console", "--listen", "x"), "console: --listen: expected host:port, such as 127.0.0.1:9464"),
    (("console", "--listen", "0.0.0.0:1"), "console: --listen: listens beyond this machine: set console.password"),
    (("look", "a b:1"), "look: expected host:port, such as kafka-1:9092"),
)


@pytest.mark.parametrize(("words", "problem"), TYPED_WRONG)
def test_what_is_typed_wrong_is_one_line_before_kafka_is_asked(run, words, problem):
    ended = run(*words)
    assert (ended.exit_code, ended.out, ended.err.count("\n")) == (2, "", 1)
    assert problem in ended.err
