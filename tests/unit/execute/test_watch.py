"""What begins around an execution stops it; what was there before, or is its own, does not."""

import pytest
from msgspec.structs import replace

from logdirwatch.execute.begin import begun
from logdirwatch.execute.ports import Halt, NoAnswerError, RefusedError
from logdirwatch.execute.surroundings import Surroundings, around, touched
from logdirwatch.execute.watch import EVERY_MS, Watch, is_over
from logdirwatch.model.vocabulary import FOLLOWER_THROTTLE, ActionKind
from logdirwatch.plan.cluster.assignment import Assignment, to_json
from logdirwatch.plan.commands import operations
from logdirwatch.plan.commands.throttles import Limit, Limits
from tests.unit.plan.builders import action

OURS = Limit("brokers", "3", FOLLOWER_THROTTLE, "5")
OTHERS = Limit("brokers", "1", FOLLOWER_THROTTLE, "9")
THERE, HERE = Assignment("t", 0, (3, 2), ("/b", "any")), Assignment("t", 0, (1, 2), ("/a", "any"))
MOVE = operations.reassign(
    to_json([THERE]), to_json([HERE]), "f", limits=Limits({3: {FOLLOWER_THROTTLE: 5}}), back=Limits()
)
RECORD = begun(action(ActionKind.REASSIGN, operations=operations.as_data([MOVE])), "me", 0)
CALM = Surroundings(brokers=frozenset({1, 2, 3}))
FULL = {(3, "/b"): 0.91}


class World:
    """Answers one after the other, and the last for ever."""

    def __init__(self, *answers):
        self.answers, self.at_ms = list(answers), 0
        self.watch = Watch(self, lambda: self.at_ms)

    def look_around(self, ours):
        self.ours = ours
        found = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(found, Exception):
            raise found
        return found

    def next(self, record=RECORD):
        self.at_ms += EVERY_MS
        return self.watch(record)


def seen(**fields):
    return Surroundings(**{"brokers": CALM.brokers, **fields})


def test_an_execution_touches_its_partitions_throttles_and_destinations():
    found = around(RECORD)
    assert (found.keys, found.limits) == ({("t", 0)}, {OURS})
    assert found.destinations == {(3, "/b")}
    assert found.topics == {"t"}
    back = replace(RECORD, back=True)
    assert [around(one).destinations for one in (back, replace(back, changed={"t": "0"}))] == [set(), {(1, "/a")}]


@pytest.mark.parametrize(
    ("now", "reason"),
    [
        (seen(under_min_isr=frozenset({("u", 1)})), "u-1 has fewer replicas in sync than its min.insync.replicas"),
        (seen(used_ratios=FULL), "/b of broker 3, where it copies to, is 91.0 % full"),
        (seen(reassigned={("u", 0): (4, 5)}), "somebody else reassigns u-0 to [4, 5]"),
        (seen(throttles=frozenset({OTHERS})), f"somebody else set {FOLLOWER_THROTTLE}=9 of broker 1"),
        (
            seen(throttles=frozenset({Limit("topics", "t", "k", "*")})),
            "somebody else set k=* of topic t",
        ),
    ],
)
def test_what_begins_meanwhile_stops_it_and_lasts_until_it_is_seen_to_be_over(now, reason):
    world = World(CALM, now)
    assert world.next() is None
    assert world.next() == Halt(reason)
    stopped = replace(RECORD, reason=f"{reason}; something was left")
    assert not is_over(stopped, World(now))
    assert not is_over(stopped, World(NoAnswerError("gone")))
    assert is_over(stopped, World(CALM))


@pytest.mark.parametrize(
    "now",
    [
        seen(under_min_isr=frozenset({("u", 1)})),
        seen(reassigned={("u", 0): (4, 5)}),
        seen(throttles=frozenset({OTHERS})),
    ],
)
def test_what_was_there_before_does_not(now):
    world = World(now, now)
    assert [world.next(), world.next()] == [None, None]


def test_what_is_its_own_does_not():
    own = seen(reassigned={("t", 0): (3, 2)}, throttles=frozenset({OURS}), used_ratios={(3, "/b"): 0.9})
    world = World(CALM, own)
    assert [world.next(), world.next()] == [None, None]


@pytest.mark.parametrize("goal", [("t", 0), ("u", 0)])
def test_what_runs_beside_it_may_do_what_it_is_to_and_nothing_else(goal):
    world = World(CALM, seen(reassigned={goal: (3, 2)}, throttles=frozenset({OURS})))
    own = replace(RECORD, operations=[])
    assert world.next(own) is None
    world.at_ms += EVERY_MS
    found = world.watch(own, lambda: [RECORD])
    assert found is None if goal == ("t", 0) else found == Halt("somebody else reassigns u-0 to [3, 2]")


CUT = operations.topic_config("t", "retention.ms", "5", now="9", old=None)
ORDER = operations.prefer_leaders(
    *(to_json([Assignment("t", 0, one, ("any", "any"))]) for one in ((2, 1), (1, 2))), "f"
)
ELECTION = operations.elect_leaders({"partitions": [{"topic": "t", "partition": 0}]}, "f")
CANCEL = operations.cancel_moves(to_json([HERE]), to_json([THERE]), to_json([HERE]), "f", again=Limits())
CORDON = operations.broker_list(4, "cordoned.log.dirs", ["/d0"], old=[])


@pytest.mark.parametrize(
    ("operation", "brokers", "topics"),
    [
        (MOVE, {1, 2, 3}, {"t"}),
        (CUT, {7, 8}, {"t"}),
        (ORDER, {1, 2, 7, 8}, {"t"}),
        (ELECTION, {7, 8}, {"t"}),
        (CANCEL, {1, 2, 3}, {"t"}),
        (CORDON, {4}, set()),
        (operations.clear_throttles(Limits({5: {FOLLOWER_THROTTLE: 5}}, {"u": {"k": "*"}})), {5, 7, 8}, {"u"}),
    ],
    ids=["move", "cut", "order", "election", "cancel", "cordon", "clear"],
)
def test_an_execution_touches_every_broker_of_its_replicas_and_of_topics_that_it_changes(operation, brokers, topics):
    asked = []
    data = operations.as_data([operation])
    found = touched(data, lambda names: asked.extend(names) or ({7, 8} if names else ()))
    assert found == sorted({f"brokers {one}" for one in brokers} | {f"topics {one}" for one in topics})
    assert set(asked) <= topics


def test_what_a_broker_has_set_that_did_not_answer_before_may_be_as_old():
    world = World(seen(brokers=frozenset({2, 3})), seen(throttles=frozenset({OTHERS})))
    assert [world.next(), world.next()] == [None, None]


def test_it_looks_now_and_then_and_waits_where_nobody_answers():
    world = World(CALM, NoAnswerError("gone"), seen(used_ratios=FULL))
    assert world.next() is None
    assert world.watch(RECORD) is None, "it looked just now"
    assert world.next() is None
    assert isinstance(world.watch(RECORD), Halt)


def test_what_must_not_be_seen_is_a_reason_too():
    assert World(RefusedError("no ACL")).next() == Halt("what happens around it cannot be seen: no ACL")
