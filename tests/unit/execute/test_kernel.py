"""The laws of the safety kernel: what may be called, what is theirs, and how copies and throttles end."""

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from logdirwatch.execute import changes, kernel
from logdirwatch.execute.begin import undone
from logdirwatch.execute.calls import ChangeConfig, Do, PlaceReplicas, Reached, Reassign, Stuck, Wait
from logdirwatch.execute.patience import Patience
from logdirwatch.execute.ports import Halt, NoAnswerError, RefusedError
from logdirwatch.execute.run import carry_out, rolling_back
from logdirwatch.execute.seen import Copy, PartitionSeen, Seen
from logdirwatch.execute.step_kinds.cancel import Cancel
from logdirwatch.execute.step_kinds.elect import Elect
from logdirwatch.execute.step_kinds.move import progress
from logdirwatch.execute.step_kinds.order import Order
from logdirwatch.execute.step_kinds.rolling import Part, Rolling
from logdirwatch.execute.step_kinds.set_config import SetConfig
from logdirwatch.execute.step_kinds.throttle import Throttle, limits_to_clear
from logdirwatch.execute.steps import Move, Settle
from logdirwatch.model.vocabulary import FOLLOWER_THROTTLE, THROTTLED_FOLLOWERS, ExecutionState
from logdirwatch.plan.cluster.assignment import Assignment, to_json
from logdirwatch.plan.commands import operations
from logdirwatch.plan.commands.operations import ANOTHER_TOPIC
from logdirwatch.plan.commands.throttles import Limit, Limits, of_plan
from logdirwatch.text.units import human_ms
from tests.unit.execute.test_decide import BETWEEN, KEY, ON_ITS_WAY, WITHIN, shown
from tests.unit.execute.test_run import CUT, MOVE, FakeCluster, World

HELD = ("t", 0, 1)
BEGUN = frozenset({KEY, HELD})
FROM_ANY = dataclasses.replace(WITHIN, here={KEY: Assignment("t", 0, (1, 2), ("any", "any"))})
FIRST_BEGAN = replace(World().record, changed=changes.written({KEY}), begun=changes.written(BEGUN))
TURNED = replace(FIRST_BEGAN, state=ExecutionState.CANCELLING)
LATE = dataclasses.replace(shown(future="/b"), stops_cleaning=True)

ROLLED = dataclasses.replace(BETWEEN, rolling=Rolling((Part(KEY, 0, 5, (1, "/a"), (3, "/b")),), {}, 1, 1, 0))
UNBORN = ("t", 0, 3)
BOTH_ROLLED = Move(
    (Assignment("t", 0, (3, 4), ("/b", "/b")),),
    {KEY: Assignment("t", 0, (1, 2), ("/a", "/a"))},
    Rolling((Part(KEY, 0, 5, (1, "/a"), (3, "/b")), Part(KEY, 1, 5, (2, "/a"), (4, "/b"))), {}, 1, 1, 0),
)
ROLLED_WITHIN = dataclasses.replace(WITHIN, rolling=Rolling((Part(KEY, 0, 5, (1, "/a"), (1, "/b")),), {}, 1, 1, 0))


class TestWhatHasBegun:
    @pytest.mark.parametrize(
        ("step", "seen", "what"),
        [
            (BETWEEN, shown(), "t-0"),
            (BETWEEN, shown(PartitionSeen((2, 1), (1, 2))), "t-0"),
            (WITHIN, shown(), "t-0 within broker 1"),
        ],
        ids=["a reassignment", "one that left another order", "a copy within a broker"],
    )
    def test_and_is_as_before_was_cancelled_by_somebody(self, step, seen, what):
        assert isinstance(kernel.next_of(step, seen, World().record), Do)
        found = kernel.next_of(step, seen, FIRST_BEGAN)
        assert isinstance(found, Stuck)
        assert found.reason == f"somebody cancelled the move of {what}: it is not begun again"
        assert not found.is_certain

    @pytest.mark.parametrize("step", [WITHIN, FROM_ANY], ids=["from one directory", "from wherever it was"])
    def test_is_a_copy_within_a_broker_that_is_seen(self, step):
        assert kernel.running(step, shown(future="/b")) == {HELD}

    def test_is_no_reassignment_of_what_moves_within_its_brokers(self):
        assert kernel.running(WITHIN, shown(at=None, future="/b")) == set(), "its source is offline"
        comes_home = shown(PartitionSeen((1, 2, 3), (1, 3), adding=(2,), removing=(3,)), future="/b")
        assert kernel.running(WITHIN, comes_home) == {HELD}
        assert isinstance(kernel.next_of(WITHIN, comes_home, GOING), Wait)

    def test_is_no_reassignment_that_leads_elsewhere_and_none_that_is_over(self):
        elsewhere = shown(PartitionSeen((4, 2, 1), (1, 2), adding=(4,), removing=(1,)))
        over = shown(PartitionSeen((3, 2), (2, 3)), at=None, new="/b", copied=100)
        for seen, found in ((elsewhere, Stuck("somebody else reassigns t-0 to [4, 2]")), (over, Reached())):
            assert kernel.running(BETWEEN, seen) == set()
            assert kernel.next_of(BETWEEN, seen, World().record) == found

    @pytest.mark.parametrize(
        ("call", "begun"),
        [
            (Reassign({KEY: (3, 2)}), {KEY}),
            (Reassign({KEY: None}), set()),
            (PlaceReplicas({HELD: "/b"}), {HELD}),
            (PlaceReplicas({("t", 0, 3): "/b"}), set()),
            (ChangeConfig("topics", "t", "k", "v"), set()),
        ],
        ids=["a reassignment", "a cancellation", "a copy", "the place of what does not exist yet", "a value"],
    )
    def test_is_what_runs_after_the_call(self, call, begun):
        assert kernel.begun_by(BETWEEN, call, shown()) == begun


@pytest.mark.parametrize(
    ("step", "call", "changed"),
    [
        (WITHIN, PlaceReplicas({HELD: "/b"}), {KEY}),
        (BETWEEN, PlaceReplicas({HELD: "/b"}), {KEY}),
        (BETWEEN, PlaceReplicas({UNBORN: "/b"}), set()),
        (BETWEEN, PlaceReplicas({UNBORN: "/b", HELD: "/b"}), {KEY}),
        (BETWEEN, Reassign({KEY: (3, 2)}), {KEY}),
        (BETWEEN, Reassign({KEY: None}), {KEY}),
        (ROLLED, PlaceReplicas({HELD: "/b"}), {HELD}),
        (ROLLED, PlaceReplicas({UNBORN: "/b"}), set()),
        (ROLLED, PlaceReplicas({UNBORN: "/b", HELD: "/b"}), {HELD}),
        (ROLLED, Reassign({KEY: (3, 2)}), {UNBORN}),
        (ROLLED, Reassign({KEY: None}), set()),
        (CUT, ChangeConfig("topics", "t", "k", "v"), {("topics", "t", "k")}),
    ],
)
def test_the_place_of_a_replica_that_does_not_exist_yet_is_no_change(step, call, changed):
    assert kernel.changed_by(step, call, shown()) == changed


ASKS = Reassign({KEY: (3, 2)})


@pytest.mark.parametrize(
    ("call", "again", "may"),
    [
        (ASKS, Do((ASKS,)), True),
        (ASKS, Do((PlaceReplicas({UNBORN: "/b"}), ASKS)), True),
        (ASKS, Do((Reassign({KEY: (3, 2), ("u", 0): (3,)}),)), True),
        (ASKS, Do((Reassign({KEY: (3, 1)}),)), False),
        (ASKS, Do((Reassign({KEY: (3, 2)}, changes_factor=True),)), False),
        (ASKS, Wait(None, "why"), False),
        (ASKS, Reached(), False),
        (ASKS, Stuck("somebody else"), False),
        (PlaceReplicas({HELD: "/b"}), Do((PlaceReplicas({HELD: "/b", UNBORN: "/b"}),)), True),
        (PlaceReplicas({HELD: "/b"}), Do((PlaceReplicas({HELD: "/c", UNBORN: "/b"}),)), False),
        (PlaceReplicas({HELD: "/b"}), Do((ASKS,)), False),
        (ChangeConfig("topics", "t", "k", "v"), Do((ChangeConfig("topics", "t", "k", "v"),)), True),
        (ChangeConfig("topics", "t", "k", "v"), Do((ChangeConfig("topics", "t", "k", "w"),)), False),
    ],
)
def test_calls_are_made_only_if_the_second_look_decides_the_same(call, again, may):
    assert kernel.may_call(call, again) is may


VALUE = SetConfig("topics", "t", "k", "v", ())
LIMITED = Throttle(Limits({1: {FOLLOWER_THROTTLE: 5}}))


@pytest.mark.parametrize(
    ("before", "is_throttled"),
    [
        ((LIMITED,), True),
        ((LIMITED, WITHIN, Settle(5), WITHIN), True),
        ((VALUE, LIMITED), True),
        ((LIMITED, VALUE), False),
        ((LIMITED, VALUE, WITHIN), False),
        ((), False),
    ],
)
def test_copies_run_under_the_throttles_of_their_own_operation(before, is_throttled):
    found = kernel.throttle_before([*before, WITHIN, Throttle(Limits())], len(before))
    assert found is (LIMITED if is_throttled else None)


TO_HERE = PartitionSeen((1, 2, 3), (2, 3), adding=(1,), removing=(3,))
GOING = replace(FIRST_BEGAN, begun={})
LEADS_BACK = "somebody else moves t-0 back"


@pytest.mark.parametrize(
    ("step", "seen", "record", "expected"),
    [
        (WITHIN, shown(at="/b", future="/a"), GOING, Stuck(LEADS_BACK)),
        (WITHIN, shown(at="/b", future="/a"), TURNED, Do((PlaceReplicas({HELD: "/b"}),))),
        (WITHIN, shown(at="/b", future="/a"), replace(GOING, back=True), Do((PlaceReplicas({HELD: "/b"}),))),
        (WITHIN, shown(at="/b", future="/c"), GOING, Stuck("somebody else moves t-0 to /c of broker 1")),
        (BETWEEN, shown(TO_HERE, new="/b"), GOING, Stuck(LEADS_BACK)),
        (BETWEEN, shown(TO_HERE, new="/b"), TURNED, Do((Reassign({KEY: None}),))),
        (BETWEEN, shown(PartitionSeen((1, 2, 3), (1, 2), removing=(3,))), GOING, Stuck(LEADS_BACK)),
        (BETWEEN, shown(PartitionSeen((1, 2, 4), (1, 2), adding=(4,))), GOING, None),
        (ROLLED, shown(TO_HERE, new="/b"), GOING, Stuck(LEADS_BACK)),
        (BOTH_ROLLED, shown(PartitionSeen((3, 2, 4), (3, 4), (2,), (4,)), new="/b"), GOING, Stuck(LEADS_BACK)),
    ],
)
def test_what_leads_back_is_somebody_elses_unless_it_was_turned_back(step, seen, record, expected):
    found = kernel.next_of(step, seen, record)
    assert found == expected if expected else isinstance(found, Stuck)
    cancels = kernel.ending(step, seen, record, must_end=True).cancels
    assert bool(cancels) is isinstance(expected, Do)


SAME_ORDER = shown(PartitionSeen((2, 1), (1, 2)))
TWO_WITHIN = Move((Assignment("t", 0, (1, 2), ("/b", "/b")),), {KEY: Assignment("t", 0, (1, 2), ("/a", "/a"))})


@pytest.mark.parametrize(
    ("step", "seen", "changed"),
    [
        (WITHIN, shown(), {KEY}),
        (WITHIN, shown(future="/b"), set()),
        (WITHIN, shown(at="/b"), set()),
        (WITHIN, shown(at="/c"), set()),
        (WITHIN, shown(at=None), set()),
        (TWO_WITHIN, shown(), {KEY}),
        (TWO_WITHIN, shown(at="/b"), set()),
        (BETWEEN, shown(), {KEY}),
        (BETWEEN, shown(ON_ITS_WAY), set()),
        (BETWEEN, shown(PartitionSeen((3, 2), (2, 3)), new="/b"), set()),
        (BETWEEN, SAME_ORDER, set()),
        (ROLLED, shown(), {UNBORN}),
        (ROLLED, shown(ON_ITS_WAY), set()),
        (ROLLED, SAME_ORDER, set()),
        (ROLLED, dataclasses.replace(shown(), partitions={}), set()),
        (ROLLED_WITHIN, shown(), {HELD}),
        (ROLLED_WITHIN, shown(at="/b"), set()),
        (ROLLED_WITHIN, shown(future="/b"), set()),
        (ROLLED_WITHIN, shown(PartitionSeen((1, 2, 3), (1, 2), adding=(3,))), set()),
        (ROLLED_WITHIN, shown(PartitionSeen((1, 2, 3), (1, 2), removing=(3,))), set()),
    ],
)
def test_what_is_as_before_was_not_changed(step, seen, changed):
    assert kernel.as_before(step, seen) == changed


@pytest.mark.parametrize(("known", "cancels"), [({}, True), ({"t": "one"}, True), ({"t": "two"}, False)])
def test_a_copy_of_a_topic_that_was_created_again_is_not_cancelled(known, cancels):
    seen = dataclasses.replace(shown(future="/b"), topic_ids={"t": "one"})
    assert bool(kernel.ending(WITHIN, seen, replace(GOING, topic_ids=known), must_end=True).cancels) is cancels


def test_a_topic_that_was_created_again_is_another_one():
    record = replace(World().record, topic_ids={"t": "one"})
    assert isinstance(kernel.next_of(WITHIN, shown(topic_ids={"t": "one"}), record), Do)
    found = kernel.next_of(WITHIN, shown(topic_ids={"t": "two"}), record)
    assert found == Stuck(f"t {ANOTHER_TOPIC}")


def test_nothing_is_assigned_while_a_broker_is_silent_that_has_to_place_it_first():
    found = kernel.next_of(BETWEEN, shown(silent=frozenset({3})), World().record)
    assert isinstance(found, Wait)
    assert found.why == "broker 3 does not answer"


def test_another_number_of_replicas_is_refused_by_the_controller_unless_it_is_planned():
    more = Move((Assignment("t", 0, (1, 2, 3), ("any",) * 3),), {KEY: Assignment("t", 0, (1, 2), ("any", "any"))})
    assert kernel.next_of(more, shown(), World().record) == Do((Reassign({KEY: (1, 2, 3)}, changes_factor=True),))
    assert not kernel.next_of(BETWEEN, shown(), World().record).calls[1].changes_factor


STAYS = Move((Assignment("t", 0, (3, 2), ("/b", "/a")),), {KEY: Assignment("t", 0, (1, 2), ("/a", "/a"))})


class TestEnding:
    @pytest.mark.parametrize(
        ("step", "seen", "cancels"),
        [
            (WITHIN, shown(future="/b"), {"t-0 within broker 1": PlaceReplicas({HELD: "/a"})}),
            (FROM_ANY, shown(future="/b"), {"t-0 within broker 1": PlaceReplicas({HELD: "/a"})}),
            (BETWEEN, shown(ON_ITS_WAY), {"t-0": Reassign({KEY: None})}),
            (BETWEEN, shown(PartitionSeen((3, 2, 1), (2, 3), (3,), (1,))), {"t-0": Reassign({KEY: None})}),
            (BETWEEN, shown(PartitionSeen((3, 2), (2,), adding=(3,))), {"t-0": Reassign({KEY: None})}),
            (BETWEEN, shown(PartitionSeen((3, 2, 1), (2, 3), removing=(1,))), {"t-0": Reassign({KEY: None})}),
            (WITHIN, shown(), {}),
            (WITHIN, shown(at="/b"), {}),
            (WITHIN, shown(future="/c"), {}),
            (WITHIN, shown(at=None, future="/b"), {}),
            (BETWEEN, shown(PartitionSeen((1, 2, 3), (1, 2), adding=(3,))), {}),
            (BETWEEN, Seen(), {}),
            (WITHIN, shown(PartitionSeen((1, 2, 3), (1, 2, 3), (), (3,))), {}),
        ],
        ids=[
            "within",
            "within, from wherever it was",
            "between",
            "one old in sync",
            "one that only adds",
            "one that only removes",
            "nothing",
            "there",
            "another's copy",
            "one whose source is offline",
            "another's goal",
            "gone",
            "another's return to its brokers",
        ],
    )
    def test_what_is_ours_is_cancelled_while_an_old_replica_is_in_sync(self, step, seen, cancels):
        assert kernel.ending(step, seen, TURNED, must_end=True) == kernel.Ending(cancels)

    def test_what_only_new_replicas_have_goes_on(self):
        found = kernel.ending(BETWEEN, shown(ON_ITS_WAY._replace(isr=(3,))), TURNED, must_end=True)
        assert found == kernel.Ending({}, ("t-0, since none of the replicas that it had is in sync",))

    @pytest.mark.parametrize(
        ("step", "names"),
        [
            (WITHIN, ["t-0 within broker 1, which does not answer"]),
            (FROM_ANY, ["t-0 within broker 1, which does not answer"]),
            (BETWEEN, []),
            (STAYS, []),
        ],
        ids=["within", "within, from wherever it was", "between", "what stays in its directory"],
    )
    def test_a_copy_of_a_silent_broker_may_go_on_once_that_is_back(self, step, names):
        seen = dataclasses.replace(shown(), replicas={}, silent=frozenset({1, 2, 3}))
        assert kernel.ending(step, seen, TURNED, must_end=True) == kernel.Ending({}, tuple(names))

    def test_before_kafka_4_2_a_copy_within_a_broker_ends_by_itself_or_the_restart_is_named(self):
        found = kernel.ending(WITHIN, LATE, TURNED, must_end=False)
        assert (found.cancels, len(found.goes_on)) == ({}, 1)
        found = kernel.ending(WITHIN, LATE, TURNED, must_end=True)
        assert (list(found.cancels), found.goes_on) == (["t-0 within broker 1"], ())
        assert "retention and compaction of t-0 on broker 1 stay off until a restart of the broker" in found.leaves[0]


LISTED = Limit("topics", "t", THROTTLED_FOLLOWERS, "0:3,0:2")


class TestLists:
    @pytest.mark.parametrize(
        ("now", "merged", "ours", "after"),
        [
            (None, "0:3,0:2", "0:3,0:2", None),
            ("", "0:3,0:2", "0:3,0:2", None),
            ("0:5", "0:5,0:3,0:2", "0:3,0:2", "0:5"),
            ("0:5,0:3", "0:5,0:3,0:2", "0:2", "0:5,0:3"),
        ],
        ids=["none", "an empty one", "a dead one of others", "one that names ours too"],
    )
    def test_ours_stand_beside_those_of_others_and_only_ours_go(self, now, merged, ours, after):
        step = Throttle(Limits({}, {"t": {THROTTLED_FOLLOWERS: LISTED.value}}))
        seen = Seen(configs={("topics", "t"): {} if now is None else {THROTTLED_FOLLOWERS: now}})
        found = kernel.next_of(step, seen, World().record)
        assert found == Do((ChangeConfig(*LISTED[:3], merged),), (LISTED._replace(value=ours),))
        set_now = Seen(configs={("topics", "t"): {THROTTLED_FOLLOWERS: merged}})
        assert limits_to_clear(found.limits, set_now) == [ChangeConfig(*LISTED[:3], after)]

    def test_of_other_topics_are_left_out_and_the_rates_of_brokers_are_not(self):
        lists = {topic: {THROTTLED_FOLLOWERS: "0:3"} for topic in ("t", "u")}
        kept = Throttle(Limits({1: {FOLLOWER_THROTTLE: 5}}, lists)).without({"t"})
        assert {one.name for one in kept.limits} == {"1", "u"}

    @pytest.mark.parametrize("now", ["*", "0:2,0:3,0:7"])
    def test_what_others_throttle_already_is_left_to_them(self, now):
        step = Throttle(Limits({}, {"t": {THROTTLED_FOLLOWERS: LISTED.value}}))
        found = kernel.next_of(step, Seen(configs={("topics", "t"): {THROTTLED_FOLLOWERS: now}}), World().record)
        assert isinstance(found, Reached)
        assert "is set by somebody else" in found.told[0]


def plan(*topics, rate=5):
    """Moves of partition 0 of topics from broker 1 to 3, with throttles."""
    there, here = (
        to_json([Assignment(topic, 0, found, ("any", "any")) for topic in topics]) for found in ((3, 2), (1, 2))
    )
    limits = of_plan(there, log_dir_rate=None, rate=rate)
    return operations.reassign(there, here, "f", limits=limits, back=limits)


class Brokers:
    """A cluster where each partition is at home or on its way; ``then`` changes it at its looks, one after another."""

    def __init__(self, *topics):
        self.partitions = {(topic, 0): PartitionSeen((1, 2), (1, 2), leader=1) for topic in topics}
        self.configs, self.made, self.then, self.looks = {}, [], {}, 0
        self.dead, self.keeps = set(), set()

    def look(self, step, limits):
        self.looks += isinstance(step, Move)
        if isinstance(step, Move) and self.looks in self.then:
            self.then.pop(self.looks)(self)
        for entity in {(one.entity, one.name) for one in limits}:
            if entity in self.dead:
                raise NoAnswerError(f"{entity[1]} is not alive")
        return Seen(configs={name: dict(found) for name, found in self.configs.items()}, partitions=self.partitions)

    def call(self, call):
        self.made.append(call)
        if isinstance(call, ChangeConfig):
            held = self.configs.setdefault((call.entity, call.name), {})
            held.pop(call.key, None)
            if call.value is not None:
                held[call.key] = call.value
            return
        for key, goal in call.replicas.items():
            if goal is None and key in self.keeps:
                raise RefusedError("no ACL")
            is_home = goal in {None, (1, 2)}
            self.partitions[key] = PartitionSeen((1, 2), (1, 2)) if is_home else ON_ITS_WAY._replace(leader=1)

    @property
    def running(self):
        return sorted(topic for (topic, _), one in self.partitions.items() if one.adding == (3,))

    @property
    def throttled(self):
        return {entity for entity, held in self.configs.items() if held}


def changed(key, **fields):
    def change(brokers):
        brokers.partitions = {**brokers.partitions, (key, 0): brokers.partitions[key, 0]._replace(**fields)}

    return change


def deleted(topic):
    def change(brokers):
        brokers.partitions = {key: one for key, one in brokers.partitions.items() if key[0] != topic}
        brokers.configs.pop(("topics", topic), None)

    return change


def died(*entities):
    def change(brokers):
        brokers.dead |= set(entities)
        brokers.partitions = {key: one._replace(replicas=(5, 6)) for key, one in brokers.partitions.items()}

    return change


def run(brokers, permit=lambda _: None):
    world = World(plan(*sorted(topic for topic, _ in brokers.partitions)))
    world.cluster = brokers
    world.ports = dataclasses.replace(world.ports, cluster=brokers, permit=permit)
    return carry_out(world.record, world.ports), world


FOREIGN = changed("a", replicas=(4, 2, 1), isr=(1, 2), adding=(4,), removing=(1,))
NO_OLD = changed("b", isr=(3,))


def at_looks(brokers, **then):
    brokers.then = {int(number[1:]): change for number, change in then.items()}
    return brokers


def both(*changes):
    def change(brokers):
        for one in changes:
            one(brokers)

    return change


class TestEveryEndOfAWave:
    """Looks at a move: 1 decides, 2 follows the intent, the third is the first at copies that run."""

    @pytest.mark.parametrize(
        ("change", "reason"),
        [
            (FOREIGN, "somebody else reassigns a-0 to [4, 2]"),
            (changed("a", replicas=(1, 2), adding=(), removing=()), "somebody cancelled the move of a-0"),
            (deleted("a"), "a-0 does not exist any more"),
        ],
        ids=["changed", "cancelled", "deleted"],
    )
    def test_ends_the_copies_of_the_others_before_their_throttles(self, change, reason):
        ended, world = run(at_looks(Brokers("a", "b"), _4=change))
        assert ended.state is ExecutionState.STUCK
        assert reason in ended.reason
        assert (world.cluster.running, world.cluster.throttled, ended.limits) == ([], set(), [])

    @pytest.mark.parametrize("is_halted", [False, True], ids=["stuck", "halted"])
    def test_keeps_the_throttles_of_a_copy_that_must_go_on_and_names_it(self, is_halted):
        brokers = at_looks(Brokers("a", "b"), _5=NO_OLD if is_halted else both(FOREIGN, NO_OLD))
        ended, world = run(brokers, lambda _: Halt("why") if is_halted and not brokers.then else None)
        assert ended.state is ExecutionState.STUCK
        assert "under its throttles goes on the copy of b-0" in ended.reason
        assert "b" in world.cluster.running
        assert ("brokers", "3") in world.cluster.throttled
        assert {one.name for one in ended.limits} >= {"3", "b"}

    def test_watches_such_a_copy_and_ends_it_once_an_old_replica_is_in_sync_again(self):
        brokers = at_looks(Brokers("a", "b"), _4=both(FOREIGN, NO_OLD), _9=changed("b", isr=(2, 3)))
        ended, world = run(brokers)
        assert (world.cluster.running, world.cluster.throttled) == ([], set())
        assert ended.reason == "somebody else reassigns a-0 to [4, 2]"

    def test_names_what_cannot_be_cancelled_and_keeps_its_throttles(self):
        brokers = at_looks(Brokers("a", "b"), _4=FOREIGN)
        brokers.keeps = {("b", 0)}
        ended, world = run(brokers)
        assert "the copy of b-0 could not be cancelled: no ACL" in ended.reason
        assert (world.cluster.running, ("brokers", "3") in world.cluster.throttled) == (["b"], True)

    def test_asks_again_where_the_answer_to_a_cancellation_is_lost_and_says_so(self):
        class Deaf(Brokers):
            def call(self, call):
                super().call(call)
                if call == Reassign({("b", 0): None}):
                    raise NoAnswerError("lost")

        ended, world = run(at_looks(Deaf("a", "b"), _4=FOREIGN))
        assert (ended.state, world.cluster.running, world.cluster.throttled) == (ExecutionState.STUCK, [], set())
        assert any("the cluster does not answer (lost)" in line for line in world.said)

    def test_clears_throttles_entity_by_entity_and_names_what_is_left(self):
        ended, world = run(at_looks(Brokers("a"), _4=died(("brokers", "3"))))
        assert ended.reason.endswith("throttles are left: broker 3 (3 is not alive)")
        assert world.cluster.throttled == {("brokers", "3")}
        assert [one.name for one in ended.limits] == ["3"]


def test_what_changes_between_the_intent_and_the_call_is_not_overwritten():
    ended, world = run(at_looks(Brokers("a"), _2=changed("a", replicas=(1, 2, 4), isr=(1, 2, 4))))
    assert not any(isinstance(call, Reassign) for call in world.cluster.made)
    assert ended.reason == "the replicas of a-0 are [1, 2, 4]: somebody else changed them"


@pytest.mark.parametrize(("error", "state"), [(NoAnswerError, "done"), (RefusedError, "stuck")])
def test_what_cannot_be_seen_again_after_the_intent_is_not_called_and_not_ours(error, state):
    def fails(brokers):
        changes_before.append(len(brokers.made))
        raise error("lost")

    changes_before = []
    brokers = at_looks(Brokers("a"), _2=fails, _6=changed("a", replicas=(3, 2), isr=(3, 2), adding=(), removing=()))
    ended, _ = run(brokers)
    begun = [number for number, call in enumerate(brokers.made) if isinstance(call, Reassign)]
    assert ended.state == state
    assert len(begun) == (1 if state == "done" else 0)
    assert all(number >= changes_before[0] for number in begun)
    assert bool(ended.changed) is (state == "done")


def test_a_move_that_somebody_cancels_is_not_begun_again_until_a_person_resumes_it():
    home = changed("a", replicas=(1, 2), adding=(), removing=())
    ended, world = run(at_looks(Brokers("a"), _4=home))
    begun = [call for call in world.cluster.made if isinstance(call, Reassign)]
    assert (ended.state, len(begun)) == (ExecutionState.STUCK, 1)
    world.cluster.then = {world.cluster.looks + 4: changed("a", replicas=(3, 2), isr=(3, 2), adding=(), removing=())}
    assert carry_out(ended, world.ports).state is ExecutionState.DONE
    assert [limit for limit in world.cluster.configs.values() if limit] == []


@pytest.mark.parametrize("at", [1, 2, 3, 4])
def test_a_word_that_is_revoked_ends_it_before_the_next_call(at):
    asked, at_revocation = [], []

    def permit(_):
        asked.append(1)
        if len(asked) < at:
            return None
        at_revocation.append(len(brokers.made))
        return Halt("ann rejected it")

    brokers = Brokers("a")
    ended, world = run(brokers, permit)
    assert ended.reason == "ann rejected it"
    assert all(call.value is None for call in brokers.made[at_revocation[0] :])
    assert world.cluster.throttled == set()


@pytest.mark.parametrize(
    ("step", "seen"),
    [
        (WITHIN, shown(future="/b")),
        (WITHIN, shown(at="/b", future="/a")),
        (BETWEEN, shown(ON_ITS_WAY)),
        (ROLLED, shown(ON_ITS_WAY)),
    ],
    ids=["within a broker", "within a broker, and back", "between brokers", "one of several copies"],
)
@pytest.mark.parametrize("state", [ExecutionState.CHECKED, ExecutionState.CANCELLING])
def test_what_runs_and_is_not_ours_has_somebody_else_begun(step, seen, state):
    record = replace(World().record, state=state)
    assert kernel.next_of(step, seen, record) == Stuck("somebody else has begun already to move t-0")


def test_a_move_that_somebody_else_has_begun_is_neither_taken_over_nor_cancelled():
    brokers = Brokers("a")
    brokers.partitions["a", 0] = ON_ITS_WAY
    ended, _ = run(brokers)
    assert ended.reason == "somebody else has begun already to move a-0"
    assert not any(isinstance(call, Reassign) for call in brokers.made)


def test_a_throttle_whose_answer_was_lost_is_known_as_ours():
    class Deaf(Brokers):
        def call(self, call):
            super().call(call)
            if len(self.made) == 1:
                raise NoAnswerError("the answer is lost")

    brokers = at_looks(Deaf("a"), _4=changed("a", replicas=(3, 2), isr=(3, 2), adding=(), removing=()))
    ended, world = run(brokers)
    assert (ended.state, world.cluster.throttled) == (ExecutionState.DONE, set())


def test_a_throttle_that_somebody_deletes_is_set_again_and_said():
    def unthrottled(brokers):
        brokers.configs[("brokers", "3")] = {}

    world = World(plan("a"))
    world.cluster = at_looks(
        Brokers("a"), _4=unthrottled, _6=changed("a", replicas=(3, 2), isr=(3, 2), adding=(), removing=())
    )
    ended = carry_out(world.record, dataclasses.replace(world.ports, cluster=world.cluster))
    assert ended.state is ExecutionState.DONE
    assert f"{FOLLOWER_THROTTLE}=5 of broker 3 was deleted by somebody, and is set again" in world.said
    sets = [call for call in world.cluster.made if call == ChangeConfig("brokers", "3", FOLLOWER_THROTTLE, "5")]
    assert len(sets) == 2


def test_a_copy_without_progress_comes_to_an_end_with_its_reason():
    ended, world = run(Brokers("a"))
    assert ended.reason == "no progress for 30 min: a-0 is being copied"
    assert world.cluster.running == []


def test_the_way_back_waits_for_an_old_replica_in_sync():
    world = World(plan("a"))
    brokers = world.cluster = at_looks(Brokers("a"), _2=changed("a", isr=(1, 2)))
    brokers.partitions["a", 0] = ON_ITS_WAY._replace(isr=(3,))
    brokers.then = {3: changed("a", isr=(2, 3))}
    ports = dataclasses.replace(world.ports, cluster=brokers)
    moved = replace(world.record, step=1, changed=changes.written({("a", 0)}))
    ended = carry_out(rolling_back(moved, ports), ports)
    assert (ended.state, brokers.running) == (ExecutionState.ROLLED_BACK, [])


@pytest.mark.parametrize(
    ("done", "is_lost"),
    [
        (lambda look: {"copy": 5}, True),
        (lambda look: {"copy": look % 7}, True),
        (lambda look: {} if look % 3 else {"copy": 5}, True),
        (lambda look: {"copy": look}, False),
        (lambda look: {} if look % 3 else {"copy": look}, False),
        (lambda look: {"copy": 5, "another": look}, False),
    ],
    ids=["stands", "begins again", "stands, without answers", "goes on", "goes on, without answers", "another goes on"],
)
def test_only_the_best_so_far_is_progress(done, is_lost):
    patience = Patience(None, 0)
    assert any(patience.lost(done(look), 2_000 * look) for look in range(2_000)) is is_lost


def test_a_leader_that_is_written_to_makes_no_progress():
    before, after = (
        progress(WITHIN, dataclasses.replace(shown(), replicas={HELD: Copy("/a", size)}, futures={HELD: Copy("/b", 5)}))
        for size in (100, 200)
    )
    assert before.total_bytes < after.total_bytes
    assert before.done == after.done
    assert progress(WITHIN, shown(future="/b", copied=5)).done != progress(WITHIN, shown(future="/b", copied=6)).done


@pytest.mark.parametrize(
    ("needs_ms", "stalled_ms", "longest_ms"),
    [
        (None, 1_800_000, 604_800_000),
        (60_000, 1_800_000, 21_600_000),
        (7_200_000, 7_200_000, 72_000_000),
        (86_400_000, 21_600_000, 604_800_000),
    ],
    ids=["unknown", "a minute", "two hours", "a day"],
)
def test_every_wait_has_an_end_that_follows_from_how_long_it_was_planned_to_take(needs_ms, stalled_ms, longest_ms):
    def lost(done, until_ms):
        patience = Patience(needs_ms, 0)
        found = (patience.lost(done(look), look * 50_000) for look in range(until_ms // 50_000 + 1))
        return next((why for why in found if why), None)

    assert lost(lambda _: {}, stalled_ms - 50_000) is None
    assert lost(lambda _: {}, stalled_ms + 50_000) == f"no progress for {human_ms(stalled_ms)}"
    assert lost(lambda look: {"copy": look}, longest_ms - 50_000) is None
    assert lost(lambda look: {"copy": look}, longest_ms + 50_000) == f"not done after {human_ms(longest_ms)}"


def test_a_process_that_was_stopped_has_not_waited():
    patience = Patience(None, 0)
    assert patience.lost({}, 24 * 3_600_000) is None
    assert patience.lost({}, 25 * 3_600_000) is None


def test_a_cancellation_follows_a_look_of_its_own():
    class Meddled(Brokers):
        def call(self, call):
            super().call(call)
            if call == Reassign({("a", 0): None}):
                changed("b", replicas=(4, 2, 1), adding=(4,), removing=(1,))(self)

    ended, world = run(at_looks(Meddled("a", "b", "c"), _4=changed("c", replicas=(5, 6), adding=(), removing=())))
    assert ended.reason == "the replicas of c-0 are [5, 6]: somebody else changed them"
    assert [call for call in world.cluster.made if call == Reassign({("b", 0): None})] == []
    assert world.cluster.partitions["b", 0].adding == (4,)


THERE = {"replicas": (3, 2), "isr": (3, 2), "adding": (), "removing": ()}


class TestTheWayBack:
    @pytest.mark.parametrize(
        ("ours", "back"),
        [({"a": "0", "b": "0"}, ["a", "b"]), ({"a": "0"}, ["a"]), ({}, [])],
        ids=["all", "one", "none"],
    )
    def test_takes_back_only_what_was_changed_partition_by_partition(self, ours, back):
        brokers = Brokers("a", "b")
        both(changed("a", **THERE), changed("b", **THERE))(brokers)
        world = World(plan("a", "b"))
        ports = dataclasses.replace(world.ports, cluster=brokers)
        ended = carry_out(replace(world.record, back=True, changed=ours, state=ExecutionState.CANCELLING), ports)
        asked = [call.replicas for call in brokers.made if isinstance(call, Reassign)]
        assert asked == ([{(topic, 0): (1, 2) for topic in back}] if back else [])
        assert (ended.state, brokers.throttled) == (ExecutionState.ROLLED_BACK, set())

    def test_changes_no_value_that_was_so_before(self):
        world = World(CUT)
        world.cluster.configs["topics", "t"]["retention.ms"] = "5"
        done = carry_out(world.record, world.ports)
        assert carry_out(undone([done], "me", 0), world.ports).state is ExecutionState.DONE
        assert world.cluster.made == []

    @pytest.mark.parametrize(
        ("executions", "ours"),
        [
            ([{"a": "0"}, {"b": "0"}], {"a": "0", "b": "0"}),
            ([{"a": "0"}, None, {"b": "0"}], {"b": "0"}),
        ],
        ids=["two that did a part each", "one that was taken back"],
    )
    def test_of_several_executions_takes_back_what_each_did(self, executions, ours):
        base = replace(World(CUT).record, state=ExecutionState.STUCK)
        back = replace(base, back=True, state=ExecutionState.DONE)
        known = [back if found is None else replace(base, changed=found) for found in executions]
        found = undone(known, "ann", 7)
        assert (found.changed, found.by, found.back, found.state) == (ours, "ann", True, ExecutionState.CLAIMED)
        assert (found.step, found.begun, found.started_at_ms, found.at_ms) == (0, {}, 7, 7)
        assert found.execution_id != base.execution_id

    def test_what_is_not_called_after_the_second_look_is_not_ours(self):
        brokers = at_looks(Brokers("a", "b"), _2=changed("a", replicas=(1, 2, 4), isr=(1, 2, 4)))
        ended, _ = run(brokers)
        assert (ended.state, ended.changed) == (ExecutionState.STUCK, {})


U = ("u", 0)
TWO = (Assignment("t", 0, (3, 2), ("any", "any")), Assignment("u", 0, (3, 2), ("any", "any")))
AT = {KEY: (1, 2), U: (1, 2)}


@pytest.mark.parametrize(
    ("step", "of", "part"),
    [
        (Move(TWO, {}), {U}, Move(TWO[1:], {})),
        (Cancel(TWO, {}, {}), {U}, Cancel(TWO[1:], {}, {})),
        (Order(AT, AT), {U}, Order({U: (1, 2)}, AT)),
        (Elect(dict.fromkeys(AT)), {U}, Elect({U: None})),
        (VALUE, {("topics", "t", "k")}, VALUE),
        (Settle(5), set(), Settle(5)),
        (Move(TWO, {}), set(), None),
        (Cancel(TWO, {}, {}), set(), None),
        (Order(AT, AT), set(), None),
        (Elect(dict.fromkeys(AT)), set(), None),
        (VALUE, {("topics", "t", "other")}, None),
    ],
    ids=str,
)
def test_a_part_of_a_step_makes_only_the_changes_that_are_wanted(step, of, part):
    assert changes.part_of(step, of) == part


CHANGES = st.one_of(
    st.tuples(st.sampled_from("tu"), st.integers(0, 9)),
    st.tuples(st.sampled_from("tu"), st.integers(0, 9), st.integers(1, 3)),
    st.tuples(st.sampled_from(("topics", "brokers")), st.sampled_from("tu"), st.sampled_from(("x.y", "z"))),
)


@given(st.frozensets(CHANGES))
def test_changes_are_read_from_the_journal_as_they_were_written(found):
    assert changes.read(changes.written(found)) == found


def test_many_partitions_are_few_bytes_in_the_journal():
    assert changes.written({("t", number) for number in (*range(1000), 2000)}) == {"t": "0-999,2000"}


def test_calls_without_effect_come_to_an_end():
    brokers = Brokers("a")
    brokers.call = brokers.made.append
    ended, _ = run(brokers)
    assert ended.state is ExecutionState.STUCK
    assert "has no effect" in ended.reason


def test_a_cancellation_that_is_refused_keeps_no_other_copy_from_its_end():
    stops = both(FOREIGN, changed("c", isr=(3,)))
    brokers = at_looks(Brokers("a", "b", "c"), _4=stops, _60=changed("c", isr=(2, 3)))
    brokers.keeps = {("b", 0)}
    _, world = run(brokers)
    assert world.cluster.running == ["b"]


def test_a_copy_that_may_end_by_itself_is_cancelled_once_it_must_not_go_on():
    class Late(FakeCluster):
        def look(self, step, limits):
            return dataclasses.replace(super().look(step, limits), stops_cleaning=True)

    asked = []

    def permit(record):
        asked.append(record)
        return None if len(asked) < 6 else Halt("paused" if len(asked) < 20 else "full", must_end=len(asked) >= 20)

    world = World(MOVE)
    world.cluster = Late()
    world.cluster.size = 10**9
    ended = carry_out(world.record, dataclasses.replace(world.ports, cluster=world.cluster, permit=permit))
    assert (ended.state, world.cluster.at, world.cluster.future) == (ExecutionState.STUCK, "/a", None)
    assert len(asked) == 20
    assert "stay off until a restart of the broker" in ended.reason
