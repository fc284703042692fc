"""How a reassignment is run with Kafka's tool, and how it is undone."""

import pytest

from logdirwatch.model.vocabulary import ActionKind
from logdirwatch.plan.cluster.assignment import Assignment, to_json
from logdirwatch.plan.cluster.cordons import CORDON
from logdirwatch.plan.commands.kafka_tools import ADDITIONAL
from logdirwatch.plan.commands.throttles import Limits
from logdirwatch.plan.reassignment.tool_run import (
    file_name,
    no_retention_cut,
    nothing_runs,
    undo_of_reassignment,
)
from tests.unit.plan.builders import broker, directory, facts, policy, topic


def running(*numbers):
    return facts(directory(1), topic("t", *[[1]] * 5, reassigned=numbers))


def test_the_file_of_an_action_always_has_the_same_name_and_no_two_share_one():
    kinds, places = (ActionKind.MOVE_LOG_DIR, ActionKind.REASSIGN), [(1, "/a"), (1, "/b"), (2, "/a"), (11, "/a")]
    names = {file_name(kind, place) for kind in kinds for place in places}
    assert len(names) == 8
    name = file_name(ActionKind.REASSIGN, (1, "/a"))
    assert name == file_name(ActionKind.REASSIGN, (1, "/a"))
    assert name.startswith("logdirwatch-reassign-")
    assert name.endswith(".json")
    assert "/" not in name


@pytest.mark.parametrize(
    ("numbers", "holds", "named"),
    [
        ((), None, "no other reassignment is running"),
        ((0,), True, "t-0 is being"),
        ((0, 1, 2, 3), True, "t-0, t-1, t-2 and 1 more"),
    ],
)
def test_another_reassignment_is_named_and_ours_is_in_addition(numbers, holds, named):
    found = nothing_runs(running(*numbers))
    assert (found.name, found.holds) == ("no_reassignment_runs", holds)
    assert found.text.startswith(named)
    assert (ADDITIONAL in found.text) is bool(numbers)


def test_whether_a_cut_waits_must_be_looked_up():
    assert (no_retention_cut().name, no_retention_cut().holds) == ("no_retention_cut", None)


BEFORE = to_json([Assignment("t", 0, (1, 2), ("/d2", "any")), Assignment("t", 1, (1,), ("/d1",))])
LIMITS = Limits()


def undo(*parts, before=BEFORE, **fields):
    found = (*(parts or (directory(1, "/d1"), directory(1, "/d2"))), topic("t", [1, 2], [1]))
    snapshot = facts(broker(1), broker(2), *found, **fields)
    return undo_of_reassignment(before, "plan.json", policy(), LIMITS, LIMITS, snapshot)


def test_the_way_back_stops_it_while_it_runs_and_else_puts_the_replicas_back():
    found = undo()
    assert set(found) == {"while_running", "commands", "reassignment"}
    assert found["reassignment"] == BEFORE
    assert any("--cancel" in command for command in found["while_running"])
    assert any("undo-plan.json" in command and "--execute" in command for command in found["commands"])
    assert not any(ADDITIONAL in command for command in found["commands"])


def test_beside_another_reassignment_the_way_back_is_in_addition():
    snapshot = facts(directory(1, "/d1"), broker(2), topic("t", [1, 2], [1], reassigned=[1]))
    found = undo_of_reassignment(BEFORE, "plan.json", policy(), LIMITS, LIMITS, snapshot)
    assert any(ADDITIONAL in command for command in found["commands"])


def let_in(found):
    return [line for line in found["commands"] if "cordon" in line]


@pytest.mark.parametrize(
    ("version", "lines"),
    [(CORDON, 2), (None, 2), ("3.9-IV0", 0)],
)
def test_a_directory_may_be_cordoned_by_then_where_kafka_can_cordon(version, lines):
    notes = let_in(undo(metadata_version=version))
    assert len(notes) == lines
    assert [path for line in notes for path in ("/d1", "/d2") if path in line] == ["/d1", "/d2"][:lines]


def test_a_cordoned_directory_is_let_in_first_and_others_stay_cordoned():
    parts = [
        directory(1, "/d1", is_cordoned=True),
        directory(1, "/d2"),
        directory(1, "/d3", is_cordoned=True),
        broker(1, **{"cordoned.log.dirs": "/d1,/d3"}),
    ]
    first, second = let_in(undo(*parts))
    assert "cordoned.log.dirs" in first
    assert "/d3" in first
    assert "/d1" not in first
    assert "If /d2 of broker 1 is cordoned by then" in second


def test_a_directory_that_is_not_known_is_left_out():
    assert let_in(undo(directory(2, "/d1"))) == []
