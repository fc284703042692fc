"""Moves that run already: seen, judged, and stopped when they would overflow a directory."""

import json

from logdirwatch.model.vocabulary import ActionKind, Cause
from logdirwatch.plan.reassignment.running_copies import running_copies
from logdirwatch.plan.recommend import recommend
from tests.unit.plan.builders import MIB, NOW_MS, directory, facts, offline, policy, replica, space_alert, topic


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
