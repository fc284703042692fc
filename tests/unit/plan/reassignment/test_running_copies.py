"""Moves that run already: seen, judged, and stopped when they would overflow a directory."""

import json
from dataclasses import replace

import pytest

from logdirwatch.model.vocabulary import ActionKind, BrokerStatus, Cause, Rule
from logdirwatch.plan.reassignment.running_copies import dead_ends, running_copies
from logdirwatch.plan.recommend import recommend
from tests.unit.plan.answers import kinds, of_kind
from tests.unit.plan.builders import (
    MIB,
    NOW_MS,
    alert,
    broker,
    directory,
    facts,
    moving,
    offline,
    partition_of,
    policy,
    replica,
    space_alert,
    topic,
)


def recommended(*parts):
    return recommend(space_alert(), facts(*parts), policy(), NOW_MS)


def cancelled(actions):
    return [action for action in actions if action.kind is ActionKind.CANCEL_MOVES]


def plan_in(action):
    """The file that the first command writes."""
    lines = action.commands[0].splitlines()[1:-1]
    return json.loads("".join(lines))


WITHIN = [
    directory(1, "/d1", 800 * MIB),
    directory(1, "/d2", 500 * MIB),
    directory(2),
    topic("t", (1, 2)),
    replica(1, "/d2", "t", size=300 * MIB),
    replica(1, "/d1", "t", size=10 * MIB, is_future=True),
    replica(2, "/d1", "t", size=300 * MIB),
]


class TestWithinABroker:
    def test_moves_that_would_overflow_a_directory_are_stopped_first(self):
        action, *others = recommended(*WITHIN)
        assert action.kind is ActionKind.CANCEL_MOVES
        assert "would fill /d1 of broker 1 to 109.0 %: cancel 1 of 1" in action.reason
        assert action.expected["spares_bytes"] == 290 * MIB
        assert action.expected["frees_bytes"] == 10 * MIB
        assert not action.data_loss
        assert others

    def test_the_tool_is_told_the_directory_that_the_copy_goes_to(self):
        action, *_ = recommended(*WITHIN)
        assert plan_in(action)["partitions"] == [
            {"topic": "t", "partition": 0, "replicas": [1, 2], "log_dirs": ["/d1", "any"]}
        ]

    def test_limits_stay_as_nobody_can_tell_whose_they_are(self):
        action, *_ = recommended(*WITHIN)
        assert len(action.commands) == 2
        assert "--cancel --preserve-throttles" in action.commands[1]
        assert "limits that were set for them stay" in action.undo["text"]

    def test_no_more_are_stopped_than_it_takes(self):
        more = [
            topic("u", (1,)),
            replica(1, "/d2", "u", size=50 * MIB),
            replica(1, "/d1", "u", size=MIB, is_future=True),
        ]
        action, *_ = recommended(*WITHIN, *more)
        assert [copy["topic"] for copy in action.expected["copies"]] == ["t"]
        assert "cancel 1 of 2" in action.reason

    def test_moves_that_fit_are_left_alone(self):
        roomy = directory(1, "/d1", 700 * MIB)
        assert cancelled(recommended(roomy, *WITHIN[1:])) == []

    def test_what_nobody_began_yet_is_no_reason_to_stop_anything(self):
        found = facts(directory(1, "/d1", 700 * MIB), *WITHIN[1:], reserved={(1, "/d1"): 900 * MIB})
        assert cancelled(recommend(space_alert(), found, policy(), NOW_MS)) == []

    def test_a_copy_whose_source_went_offline_has_ended(self):
        found = facts(*WITHIN[:1], offline(1, "/d2", Cause.FAILED), *WITHIN[2:])
        assert running_copies(found) == []


class TestBetweenBrokers:
    ARRIVING = (
        directory(1, "/d1", 800 * MIB),
        directory(2, "/d1", 300 * MIB),
        directory(3, "/d1", 310 * MIB),
        topic("t", (2, 3, 1), isr={0: (2, 3)}, reassigned=(0,)),
        replica(2, "/d1", "t", size=300 * MIB),
        replica(3, "/d1", "t", size=300 * MIB),
        replica(1, "/d1", "t", size=20 * MIB),
    )

    def test_a_reassignment_that_would_overflow_a_directory_is_stopped(self):
        action, *_ = recommended(*self.ARRIVING)
        assert action.kind is ActionKind.CANCEL_MOVES
        assert plan_in(action)["partitions"][0]["log_dirs"] == ["any", "any", "any"]
        assert action.expected["copies"][0]["remaining_bytes"] == 280 * MIB

    def test_a_replica_that_only_fell_behind_is_no_move(self):
        behind = topic("t", (2, 3, 1), isr={0: (2, 3)})
        assert cancelled(recommended(*self.ARRIVING[:3], behind, *self.ARRIVING[4:])) == []


FOUR = [directory(number) for number in (1, 2, 3, 4)]
MOVE = moving(topic("t", (3, 1, 2), isr={0: (1, 2)}), adding=(3,), removing=(1,))
"""From brokers 1 and 2 to 3 and 2, under way."""


def why(*parts):
    return [(one.partition.label, one.why.name) for one in dead_ends(facts(*parts))]


def test_a_move_that_can_end_is_left_alone():
    assert why(*FOUR, MOVE) == []


def test_not_without_its_destination():
    assert why(broker(3, BrokerStatus.OFFLINE), *FOUR, MOVE) == [("t-0", "destination_gone")]


def test_a_destination_that_only_does_not_answer_may_still_copy():
    assert why(broker(3, BrokerStatus.UNKNOWN), *FOUR, MOVE) == []


def test_not_with_the_destinations_disk_dead():
    parts = [*FOUR[:2], offline(3), directory(3, "/d2"), MOVE, replica(3, "/d1", "t", size=MIB)]
    assert why(*parts) == [("t-0", "destination_offline")]


def test_not_without_anything_to_copy_from():
    lost = [broker(number, BrokerStatus.OFFLINE) for number in (1, 2)]
    assert why(*lost, *FOUR, MOVE) == [("t-0", "no_live_source")]


def test_what_is_not_known_is_not_judged():
    unknown = partition_of(topic("t", (3, 1, 2)), is_reassigned=True)
    assert why(broker(3, BrokerStatus.OFFLINE), *FOUR, unknown) == []


LOST = [*FOUR[:2], offline(3), directory(3, "/d2"), directory(4), MOVE, replica(3, "/d1", "t", size=MIB)]
SEEN = [*FOUR, MOVE, replica(3, "/d1", "t", size=MIB), *(replica(n, "/d1", "t", size=100 * MIB) for n in (1, 2))]


class TestCancel:
    def actions(self, *parts):
        return recommend(alert(number=3), facts(*parts), policy(), NOW_MS)

    def test_it_comes_first_as_nothing_else_can_be_done_with_these_partitions(self):
        first = self.actions(*LOST)[0]
        assert first.kind is ActionKind.CANCEL_MOVES
        assert "1 reassignments can no longer end (the disk of the new replica on broker 3 is lost)" in first.reason
        assert first.reassignment is None, "it claims no partition"

    def test_no_limit_goes_with_it_as_nobody_can_tell_whose_it_is(self):
        limits = {"leader.replication.throttled.rate": "5", "follower.replication.throttled.rate": "5"}
        listed = replace(MOVE, configs=MOVE.configs | {"leader.replication.throttled.replicas": "0:1,0:2"})
        gone = [broker(3, BrokerStatus.OFFLINE, **limits), broker(1, **limits), *FOUR, listed]
        action = of_kind(self.of_gone(*gone), ActionKind.CANCEL_MOVES)
        assert len(action.commands) == 2
        assert "limits that were set for them stay" in action.undo["text"]

    def test_it_is_predicted_who_leads_then(self):
        action = of_kind(self.actions(*LOST), ActionKind.CANCEL_MOVES)
        (example,) = action.expected["leadership"]["examples"]
        assert example["cancelled"] == {"leader": 1, "isr": [1, 2]}
        assert action.expected["examples"] == [{"partition": "t-0", "adding": [3], "removing": [1]}]

    def of_gone(self, *parts):
        gone = alert(Rule.BROKER_OFFLINE, number=3, log_dir=None, to="offline", cause=None)
        return recommend(gone, facts(*parts), policy(), NOW_MS)

    def test_of_a_broker_that_is_gone_too(self):
        assert "cancel_moves" in kinds(self.of_gone(broker(3, BrokerStatus.OFFLINE), *FOUR, MOVE))


class TestStalled:
    """move_stalled: the alert names the directories of a broker to which nothing gets on."""

    def stalled(self, *parts, verdict="stands_still", throttle=None, number=3):
        told = {"verdict": verdict, "remaining_bytes": 99 * MIB, "throttle": throttle, "throttle_bytes_per_s": 1000}
        about = alert(
            Rule.MOVE_STALLED, number=number, log_dir=None, to=None, cause=None, evidence={"moves": {"/d1": told}}
        )
        return recommend(about, facts(*parts), policy(), NOW_MS)

    def test_copies_that_stand_still_are_taken_back(self):
        actions = self.stalled(*SEEN)
        assert kinds(actions) == ["cancel_moves", "investigate"]
        assert "1 copies to /d1 of broker 3 stand still, 99 MiB before their end" in actions[0].reason

    def test_where_a_limit_holds_them_back_whoever_set_it_is_asked_first(self):
        (look,) = self.stalled(*SEEN, throttle="follower.replication.throttled.rate")
        assert "the limit follower.replication.throttled.rate=1000 holds them back: ask its owner" in look.reason

    def test_slow_ones_are_only_looked_at(self):
        assert kinds(self.stalled(*SEEN, verdict="too_slow")) == ["investigate"]

    def test_those_that_cannot_end_are_named_as_that(self):
        actions = self.stalled(broker(3, BrokerStatus.OFFLINE), *SEEN)
        assert kinds(actions) == ["cancel_moves", "investigate"]
        assert "can no longer end (broker 3 that it adds is offline)" in actions[0].reason


@pytest.mark.parametrize("dead", ["/d1", "/d2"])
def test_a_copy_between_directories_has_ended_with_either_of_them_and_hinders_no_repair(dead):
    """KIP-113: the movement stops; the broker forgets it, and what is left of it is listed until the restart."""
    parts = [
        *(offline(1, path) if path == dead else directory(1, path) for path in ("/d1", "/d2")),
        directory(2, used=10 * MIB),
        directory(3, used=20 * MIB),
        topic("t", (1, 2)),
        replica(1, "/d1", "t"),
        replica(1, "/d2", "t", is_future=True),
        replica(2, "/d1", "t"),
    ]
    found = recommend(alert(log_dir=dead), facts(*parts), policy(), NOW_MS)
    assert ("reassign" in kinds(found)) == (dead == "/d1"), "only the replica itself is lost with /d1"
    if dead == "/d1":
        assert of_kind(found, ActionKind.REASSIGN).expected["unplaced"] == []


def test_a_copy_that_is_only_being_added_is_nothing_to_copy_from():
    """It is in sync, but goes with the cancelling: the brokers that the partition had are all away."""
    added = moving(topic("t", (3, 4, 1, 2), isr={0: (3, 1)}), adding=(3, 4), removing=(1,))
    assert why(*FOUR, added) == []
    away = [broker(1, BrokerStatus.OFFLINE)]
    assert why(*away, *FOUR, added) == [("t-0", "no_live_source")]
