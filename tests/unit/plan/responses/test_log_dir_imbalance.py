"""A broker whose log directories are filled unequally."""

from logdirwatch.model.vocabulary import ActionKind, LogDirStatus, Rule
from logdirwatch.plan.cluster.assignment import from_json
from tests.unit.plan.answers import recommended_for
from tests.unit.plan.builders import (
    MIB,
    alert,
    broker,
    directory,
    offline,
    replica,
    topic,
)

UNEQUAL = alert(Rule.LOG_DIR_IMBALANCE, log_dir=None, to=None, cause=None)
PARTS = [
    directory(1, "/d1", 600 * MIB),
    directory(1, "/d2", 100 * MIB),
    directory(1, "/d3", 200 * MIB),
    directory(2),
    topic("t", (1, 2), (1, 2)),
    replica(1, "/d1", "t", 0, 180 * MIB),
    replica(1, "/d1", "t", 1, 130 * MIB),
]


class TestImbalance:
    def test_the_fullest_gives_what_it_has_above_the_mean(self):
        (action,) = recommended_for(UNEQUAL, *PARTS)
        assert action.kind is ActionKind.MOVE_LOG_DIR
        assert action.target == {"broker": 1, "log_dir": "/d1"}
        # The mean is 300 MiB.
        assert {a.label: a.directory_of(1) for a in from_json(action.reassignment)} == {"t-0": "/d2", "t-1": "/d3"}

    def test_a_wave_has_no_more_copies_than_the_broker_has_threads(self):
        one = broker(1, **{"num.replica.alter.log.dirs.threads": "1"})
        (action,) = recommended_for(UNEQUAL, one, *PARTS)
        assert action.expected["waves"] == 2
        assert "in 2 waves, so that the first is free sooner (the broker's threads for copies: 1)" in action.reason
        (action,) = recommended_for(UNEQUAL, *PARTS)
        assert action.expected["waves"] == 1, "Kafka's default is a thread for each of its three directories"

    def test_no_move_makes_another_directory_fuller_than_the_fullest_is(self):
        big = replica(1, "/d1", "t", 0, 550 * MIB)
        (action,) = recommended_for(UNEQUAL, *PARTS[:5], big)
        assert action.kind is ActionKind.INVESTIGATE
        (action,) = recommended_for(UNEQUAL, *PARTS[:5], replica(1, "/d1", "t", 0, 450 * MIB))
        assert action.kind is ActionKind.MOVE_LOG_DIR

    def test_it_yields_to_a_directory_that_fills(self):
        filling = directory(1, "/d1", 600 * MIB, status=LogDirStatus.FILLING)
        (action,) = recommended_for(UNEQUAL, filling, *PARTS[1:])
        assert action.kind is ActionKind.INVESTIGATE
        assert "its own alert says what to move" in action.reason

    def test_while_a_directory_is_offline_nothing_moves(self):
        look, action = recommended_for(UNEQUAL, *PARTS, offline(1, "/d4"))
        assert [veto["name"] for veto in action.vetoes] == ["log_dir_offline"]
        assert look.kind is ActionKind.INVESTIGATE

    def test_what_is_cordoned_or_not_known_is_no_part_of_the_mean(self):
        for closed in ({"is_cordoned": True}, {"is_marked": True}):
            (action,) = recommended_for(UNEQUAL, *PARTS, directory(1, "/d4", 0, **closed))
            assert action.expected["frees_bytes"] == 310 * MIB

    def test_a_broker_that_nobody_knows_is_looked_at(self):
        (action,) = recommended_for(alert(Rule.LOG_DIR_IMBALANCE, number=9, log_dir=None), *PARTS)
        assert action.kind is ActionKind.INVESTIGATE
