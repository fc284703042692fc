"""What is done next follows from what the cluster shows, and what somebody else did is left alone."""

from typing import ClassVar

import pytest

from logdirwatch.execute.calls import ChangeConfig, Do, PlaceReplicas, Reached, Reassign, Stuck, Wait, not_shown
from logdirwatch.execute.decide import decide
from logdirwatch.execute.seen import Copy, PartitionSeen, Seen
from logdirwatch.execute.step_kinds.throttle import limits_to_clear
from logdirwatch.execute.steps import Move, SetConfig, Throttle, steps_of
from logdirwatch.plan.cluster.assignment import Assignment, to_json
from logdirwatch.plan.commands import operations
from logdirwatch.plan.commands.throttles import Limit, Limits, within_brokers

KEY = ("t", 0)
WITHIN = Move((Assignment("t", 0, (1, 2), ("/b", "any")),), {KEY: Assignment("t", 0, (1, 2), ("/a", "any"))})
BACK = Move((Assignment("t", 0, (1, 2), ("/a", "any")),), {KEY: Assignment("t", 0, (1, 2), ("/b", "any"))})
BETWEEN = Move((Assignment("t", 0, (3, 2), ("/b", "any")),), {KEY: Assignment("t", 0, (1, 2), ("/a", "any"))})
HOME = Move((Assignment("t", 0, (1, 2), ("/a", "any")),), {KEY: Assignment("t", 0, (3, 2), ("/b", "any"))})
DIRS = {(broker, path): 0 for broker in (1, 2, 3) for path in ("/a", "/b", "/c")}
OURS = PartitionSeen((1, 2), (1, 2))
ON_ITS_WAY = PartitionSeen((3, 2, 1), (1, 2), adding=(3,), removing=(1,))


def shown(partition=OURS, *, at="/a", future=None, new=None, size=100, copied=40, **fields):
    """The cluster, with the replica of broker 1 in ``at``, its copy in ``future``, and one on broker 3 in ``new``."""
    replicas = {("t", 0, 2): Copy("/a", size)}
    if at is not None:
        replicas["t", 0, 1] = Copy(at, size)
    if new is not None:
        replicas["t", 0, 3] = Copy(new, copied)
    futures = {} if future is None else {("t", 0, 1): Copy(future, copied)}
    values = {"partitions": {KEY: partition}, "replicas": replicas, "futures": futures, "log_dirs": DIRS}
    return Seen(**(values | fields))


class TestMoves:
    def test_a_move_within_a_broker_is_one_call(self):
        assert decide(WITHIN, shown(), ()) == Do((PlaceReplicas({("t", 0, 1): "/b"}),))

    def test_a_copy_that_runs_is_waited_for_with_its_bytes(self):
        found = decide(WITHIN, shown(future="/b"), ())
        assert isinstance(found, Wait)
        assert (found.progress.copied_bytes, found.progress.total_bytes) == (40, 100)
        assert (found.progress.reached, found.progress.of) == (0, 1)

    def test_what_is_there_is_reached(self):
        assert decide(WITHIN, shown(at="/b"), ()) == Reached()

    def test_new_replicas_are_placed_before_they_are_assigned(self):
        assert decide(BETWEEN, shown(), ()) == Do((PlaceReplicas({("t", 0, 3): "/b"}), Reassign({KEY: (3, 2)})))

    def test_one_that_is_elsewhere_is_not_moved_since_nobody_knows_who_moved_it(self):
        found = decide(BETWEEN, shown(ON_ITS_WAY, new="/c"), ())
        assert found == Stuck("t-0 is in /c of broker 3: somebody moved it, or the broker chose it")

    def test_on_the_way_back_one_that_was_not_dropped_stays_where_somebody_moved_it(self):
        found = decide(HOME, shown(PartitionSeen((2, 1), (1, 2)), at="/c"), ())
        assert found == Stuck("t-0 is in /c of broker 1: somebody moved it, or the broker chose it")

    def test_the_way_back_leaves_a_replica_where_it_is_for_which_no_directory_was_named(self):
        there, here = Assignment("t", 0, (3, 2), ("/b", "any")), Assignment("t", 0, (1, 2), ("/a", "/a"))
        made = operations.reassign(to_json([there]), to_json([here]), "f.json", limits=Limits(), back=Limits())
        (back,) = steps_of(operations.as_data([made]), back=True)
        assert back == Move((Assignment("t", 0, (1, 2), ("/a", "any")),), {KEY: there})

    def test_one_that_is_not_born_yet_is_waited_for(self):
        assert isinstance(decide(BETWEEN, shown(ON_ITS_WAY), ()), Wait)

    def test_it_is_over_when_it_is_in_sync_where_it_is_to_be(self):
        there = shown(PartitionSeen((3, 2), (2,)), at=None, new="/b", copied=100)
        assert isinstance(decide(BETWEEN, there, ()), Wait)
        in_sync = shown(PartitionSeen((3, 2), (2, 3)), at=None, new="/b", copied=100)
        assert decide(BETWEEN, in_sync, ()) == Reached()


class TestBesideABrokerThatIsAway:
    """Broker 2, which has another replica, is out of sync and does not answer."""

    AWAY: ClassVar = {
        "partition": PartitionSeen((1, 2), (1,)),
        "silent": frozenset({2}),
        "log_dirs": {(1, "/a"): 0, (1, "/b"): 0},
    }

    @pytest.mark.parametrize(
        ("step", "at", "path"), [(WITHIN, "/a", "/b"), (BACK, "/b", "/a")], ids=["there", "back again"]
    )
    def test_a_copy_within_another_begins_and_ends(self, step, at, path):
        assert decide(step, shown(at=at, **self.AWAY), ()) == Do((PlaceReplicas({("t", 0, 1): path}),))
        assert isinstance(decide(step, shown(at=at, future=path, **self.AWAY), ()), Wait)
        assert decide(step, shown(at=path, **self.AWAY), ()) == Reached()

    def test_the_copied_replica_itself_has_to_be_in_sync(self):
        behind = self.AWAY | {"partition": PartitionSeen((1, 2), (2,))}
        assert isinstance(decide(WITHIN, shown(at="/b", **behind), ()), Wait)

    def test_a_reassignment_waits_for_it(self):
        there = self.AWAY | {"partition": PartitionSeen((3, 2), (3,)), "log_dirs": DIRS}
        assert isinstance(decide(BETWEEN, shown(at=None, new="/b", **there), ()), Wait)


class TestTheWayBack:
    def test_a_reassignment_that_runs_is_cancelled(self):
        assert decide(HOME, shown(ON_ITS_WAY, new="/b"), ()) == Do((Reassign({KEY: None}),))

    def test_a_copy_between_directories_ends_by_naming_the_one_it_is_in(self):
        assert decide(BACK, shown(future="/b"), ()) == Do((PlaceReplicas({("t", 0, 1): "/a"}),))

    def test_what_was_moved_goes_back(self):
        moved = shown(PartitionSeen((3, 2), (2, 3)), at=None, new="/b", copied=100)
        assert decide(HOME, moved, ()) == Do((PlaceReplicas({("t", 0, 1): "/a"}), Reassign({KEY: (1, 2)})))

    def test_what_never_began_is_there_already(self):
        assert decide(HOME, shown(), ()) == Reached()


class TestAfterACancel:
    """Kafka leaves the replicas in another order than the one before."""

    LEFT = PartitionSeen((2, 1), (1, 2))

    def test_what_was_stopped_can_go_on(self):
        calls = (PlaceReplicas({("t", 0, 3): "/b"}), Reassign({KEY: (3, 2)}))
        assert decide(BETWEEN, shown(self.LEFT), ()) == Do(calls)

    def test_what_goes_back_gets_its_order_again(self):
        assert decide(HOME, shown(self.LEFT), ()) == Do((Reassign({KEY: (1, 2)}),))


class TestWhatOthersDid:
    @pytest.mark.parametrize(
        ("step", "seen", "reason"),
        [
            (WITHIN, shown(partitions={}), not_shown("t-0")),
            (WITHIN, shown(PartitionSeen((1, 3), (1, 3))), "somebody else changed them"),
            (BETWEEN, shown(PartitionSeen((4, 2, 1), (1, 2), (4,), (1,))), "somebody else reassigns t-0 to [4, 2]"),
            (WITHIN, shown(future="/c"), "somebody else moves t-0 to /c of broker 1"),
            (BACK, shown(future="/c"), "somebody else moves t-0 to /c of broker 1"),
            (WITHIN, shown(at="/c"), "t-0 is in /c of broker 1: somebody moved it, or the broker chose it"),
            (WITHIN, shown(log_dirs={}), "broker 1 has no log directory /b"),
            (WITHIN, shown(log_dirs=DIRS | {(1, "/b"): 56}), "/b of broker 1 is offline (error 56)"),
            (WITHIN, shown(at=None, log_dirs=DIRS | {(1, "/a"): 56}), "/a of broker 1, where the replica is"),
        ],
    )
    def test_it_is_left_alone_and_said(self, step, seen, reason):
        found = decide(step, seen, ())
        assert isinstance(found, Stuck)
        assert reason in found.reason

    def test_a_broker_that_is_silent_is_waited_for(self):
        found = decide(WITHIN, shown(silent=frozenset({1})), ())
        assert isinstance(found, Wait)
        assert found.why == "broker 1 does not answer"


class TestConfigs:
    STEP = SetConfig("topics", "t", "retention.ms", "5", ("9", None))

    @pytest.mark.parametrize("now", ["9", None, ""])
    def test_it_is_set_where_it_is_as_planned(self, now):
        seen = Seen(configs={("topics", "t"): {"retention.ms": now}})
        assert decide(self.STEP, seen, ()) == Do((ChangeConfig("topics", "t", "retention.ms", "5"),))

    def test_it_is_done_once_it_is_seen(self):
        assert decide(self.STEP, Seen(configs={("topics", "t"): {"retention.ms": "5"}}), ()) == Reached()

    def test_another_value_is_somebody_elses(self):
        found = decide(self.STEP, Seen(configs={("topics", "t"): {"retention.ms": "7"}}), ())
        assert isinstance(found, Stuck)
        assert "retention.ms of t is 7, not 9 or unset as planned" in found.reason


class TestThrottles:
    STEP = Throttle(within_brokers([1, 2], 5))
    ONE, TWO = STEP.limits

    def seen(self, one=None, two=None):
        values = {"1": one, "2": two}
        return Seen(configs={("brokers", name): {self.ONE.key: value} for name, value in values.items()})

    def test_they_are_set_where_none_is_and_noted(self):
        assert decide(self.STEP, self.seen("7"), ()) == Do((ChangeConfig(*self.TWO),), (self.TWO,))

    def test_those_of_others_stay_and_are_said(self):
        found = decide(self.STEP, self.seen("7", "5"), [self.TWO])
        assert isinstance(found, Reached)
        assert found.told == (f"{self.ONE.key} of 1 is set by somebody else (7) and stays",)

    def test_only_ours_go_and_only_while_they_are_ours(self):
        assert limits_to_clear([self.TWO], self.seen("5", "5")) == [ChangeConfig(*self.TWO[:3], None)]
        assert limits_to_clear([self.TWO], self.seen("5", "6")) == []
        assert limits_to_clear([Limit(*self.TWO)], self.seen()) == []
