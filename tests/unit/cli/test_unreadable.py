"""Commands go on beside records that nobody can read, and say how many there were, without a character of them."""

import pytest

from tests.support import bad
from tests.unit.report.builders import action, alert

LATIN = '{"version":1,"by":"Müller"}'.encode("latin-1")
ESCAPES = b"\x1b]0;owned\x07\x1b[2J"
WHY = "(partition 0, offset 0: not UTF-8: invalid start byte at byte 20)"


@pytest.mark.parametrize(
    ("command", "topic", "good", "name"),
    [("alerts", "logdir.alerts", alert(), "log_dir_offline"), ("actions", "logdir.actions", action(), "move_log_dir")],
)
def test_a_list_is_shown_and_one_line_says_what_is_missing(run, telemetry, command, topic, good, name):
    telemetry.topics[topic] = [LATIN, good, ESCAPES]
    telemetry.later = [b"[" * 100_000, b"{"]
    ended = run(command, "--follow")
    assert name in ended.out
    assert ended.err.splitlines() == [f"logdirwatch: 2 records of {topic} cannot be read {WHY}"]


def test_what_follows_is_told_if_it_is_the_first(run, telemetry):
    telemetry.topics["logdir.alerts"] = [alert()]
    telemetry.later = [ESCAPES, alert("b" * 32)]
    ended = run("alerts", "--follow")
    assert ended.out.count("log_dir_offline") == 2
    assert ended.err.startswith(
        "logdirwatch: 1 record of logdir.alerts cannot be read (partition 0, offset 1: JSON is "
    )
    assert ended.err.rstrip("\n").isprintable()


def test_a_decision_that_cannot_be_read_is_none(run, telemetry):
    telemetry.topics["logdir.alerts"] = [alert()]
    telemetry.topics["logdir.decisions"] = [make(b'{"version":1}') for make in bad.UNREADABLE.values()]
    ended = run("alerts")
    assert "log_dir_offline" in ended.out
    assert ended.err.startswith(f"logdirwatch: {len(bad.UNREADABLE)} records of logdir.decisions cannot be read (")
