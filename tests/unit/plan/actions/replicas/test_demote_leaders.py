"""Leaders off a disk that is full or suspect: who leads instead, what is left alone, and how it is seen to be done."""

from dataclasses import replace

import pytest
from msgspec.structs import replace as changed

from logdirwatch.model.vocabulary import ActionKind, ActionStatus, BrokerStatus, LogDirStatus, Rule
from logdirwatch.plan.cluster.assignment import from_json
from logdirwatch.plan.commands.kafka_tools import note
from logdirwatch.plan.lifecycle.transitions import progress
from logdirwatch.plan.recommend import recommend
from logdirwatch.plan.vetoes.reassignment import violations
from tests.unit.plan.answers import kinds, of_kind
from tests.unit.plan.builders import (
    MIB,
    NOW_MS,
    alert,
    broker,
    directory,
    facts,
    moving,
    policy,
    replica,
    space_alert,
    topic,
)

PARTS = [
    directory(1, "/d1", 300 * MIB),
    directory(2, "/d1", 200 * MIB),
    directory(3, "/d1", 100 * MIB),
    topic("t", (1, 2, 3), (1, 2, 3), (2, 1, 3)),
    *(replica(number, "/d1", "t", part, MIB) for number in (1, 2, 3) for part in range(3)),
]


def suspect(why=("slow_probe",), **fields):
    return alert(Rule.LOG_DIR_SUSPECT, to="unknown", cause=None, evidence={"why": list(why)}, **fields)


def seen(*parts):
    """The facts with the suspect alert over them, as the book lays it."""
    found = facts(*parts)
    place = found.directories[1, "/d1"]
    doubtful = replace(place, status=LogDirStatus.UNKNOWN, is_suspect=True)
    return replace(found, directories=found.directories | {place.place: doubtful})


def demoted(*parts, **limits):
    return recommend(suspect(), seen(*parts), policy(**limits), NOW_MS)


def orders(action):
    return {a.label: a.replicas for a in from_json(action.reassignment)}


def test_others_lead_what_the_broker_leads_from_there_and_nothing_moves():
    action = demoted(*PARTS)[0]
    assert action.kind is ActionKind.DEMOTE_LEADERS
    assert orders(action) == {"t-0": (3, 2, 1), "t-1": (2, 3, 1)}, "spread over those that lead least"
    assert all(set(a.log_dirs) == {"any"} for a in from_json(action.reassignment))
    assert action.expected["frees_bytes"] == 0
    assert not action.data_loss


def test_it_is_predicted_who_leads_then():
    action = demoted(*PARTS)[0]
    (first, second) = action.expected["leadership"]["examples"]
    assert (first["partition"], first["now"]["leader"], first["demoted"]["leader"]) == ("t-0", 1, 3)
    assert (second["now"]["leader"], second["demoted"]["leader"]) == (1, 2)


def test_the_order_is_set_then_elected_and_the_way_back_is_the_same():
    action = demoted(*PARTS)[0]
    run = "\n".join(action.commands)
    assert run.index("kafka-reassign-partitions.sh") < run.index("kafka-leader-election.sh")
    assert "--election-type preferred" in run
    assert "throttle" not in run.replace("--preserve-throttles", "")
    undone = from_json(action.undo["reassignment"])
    assert [a.replicas for a in undone] == [(1, 2, 3), (1, 2, 3)]


def test_what_is_proposed_passes_the_judge():
    found = seen(*PARTS)
    action = recommend(suspect(), found, policy(), NOW_MS)[0]
    assert violations(from_json(action.reassignment), found, policy()) == []


def test_another_order_needs_no_size_to_be_known():
    found = seen(*PARTS[:4], *(replica(number, "/d1", "t", part, None) for number in (1, 2, 3) for part in range(3)))
    action = recommend(suspect(), found, policy(), NOW_MS)[0]
    assert action.kind is ActionKind.DEMOTE_LEADERS
    assert violations(from_json(action.reassignment), found, policy()) == []


@pytest.mark.parametrize(
    "unfit",
    [
        [directory(2, status=LogDirStatus.SATURATED), directory(3, status=LogDirStatus.SATURATED)],
        [directory(2, status=LogDirStatus.UNKNOWN), directory(3, status=LogDirStatus.OFFLINE)],
        [replace(broker(2), is_suspect=True), replace(broker(3), is_suspect=True)],
    ],
    ids=["full", "not serving", "suspect"],
)
def test_who_is_not_well_does_not_lead_instead(unfit):
    assert kinds(demoted(*PARTS, *unfit)) == ["investigate"]


@pytest.mark.parametrize(("second", "leader"), [(LogDirStatus.SATURATED, 3), (LogDirStatus.ONLINE, 2)])
def test_a_critical_directory_is_led_from_where_no_better_one_can_be(second, leader):
    """A follower is written as much as its leader, so leading takes no room; a failing disk is worse."""
    action = demoted(*PARTS, directory(2, status=second), directory(3, status=LogDirStatus.CRITICAL))[0]
    assert {order[0] for order in orders(action).values()} == {leader}


def test_who_is_behind_does_not_lead_instead():
    behind = topic("t", (1, 2, 3), isr={0: (1,)})
    assert kinds(demoted(*PARTS, behind)) == ["investigate"]


def test_partitions_on_the_move_or_excluded_are_left_alone():
    assert orders(demoted(*PARTS, moving(PARTS[3], 0))[0]) == {"t-1": (3, 2, 1)}
    assert kinds(demoted(*PARTS, never_touch=("t",))) == ["investigate"]


def test_a_broker_that_is_away_is_not_made_leader_and_keeps_nobody_from_it():
    """Its replica only gets another place in the order, which ``apply`` may give it and Kafka's tool may not."""
    action = demoted(*PARTS, broker(3, BrokerStatus.OFFLINE), directory(3, status=LogDirStatus.UNKNOWN))[0]
    assert orders(action) == {"t-0": (2, 3, 1), "t-1": (2, 3, 1)}
    step = (
        "Carry it out with `logdirwatch apply`: kafka-reassign-partitions refuses to name broker 3, not known to be "
        "alive."
    )
    assert action.commands == action.undo["commands"] == [note(step)]
    assert [one["op"] for one in action.operations] == ["prefer_leaders"]


def test_a_saturated_directory_is_led_from_elsewhere_besides_what_is_moved_anyway():
    saturated = directory(1, "/d1", 960 * MIB, status=LogDirStatus.SATURATED)
    other = directory(1, "/d2", 100 * MIB)
    parts = [*PARTS, saturated, other, *(replica(1, "/d1", "t", n, 200 * MIB) for n in range(3))]
    actions = recommend(space_alert("saturated"), facts(*parts), policy(), NOW_MS)
    demotion = of_kind(actions, ActionKind.DEMOTE_LEADERS)
    moved = {a.label for a in from_json(of_kind(actions, ActionKind.MOVE_LOG_DIR).reassignment)}
    assert moved
    assert not moved & set(orders(demotion))


def test_a_directory_that_only_fills_keeps_its_leaders():
    filling = directory(1, "/d1", 860 * MIB, status=LogDirStatus.FILLING)
    actions = recommend(space_alert(), facts(*PARTS, filling), policy(), NOW_MS)
    assert "demote_leaders" not in kinds(actions)


class TestProgress:
    def after(self, action, *made):
        return progress(action, facts(*PARTS[:3], *made, *PARTS[4:]))

    def test_it_runs_with_the_new_order_and_is_done_when_others_lead(self):
        action = demoted(*PARTS)[0]
        ordered = topic("t", (3, 2, 1), (2, 3, 1), (2, 1, 3))
        waiting = replace(ordered, partitions=tuple(replace(p, leader=1) for p in ordered.partitions))
        begun = self.after(action, waiting)
        assert (begun.is_running, begun.is_done) == (True, False)
        done = self.after(action, ordered)
        assert (done.is_done, done.observed["reached"]) == (True, 2)
        assert not self.after(action, PARTS[3]).is_running

    def test_leaderless_is_not_done(self):
        action = demoted(*PARTS)[0]
        assert not self.after(action, topic("t", (3, 2, 1), (2, 3, 1), (2, 1, 3), leaderless=[0])).is_done

    def test_the_record_can_be_read_back(self):
        action = changed(demoted(*PARTS)[0], status=ActionStatus.RUNNING)
        assert from_json(action.reassignment)[0].label == "t-0"
