"""Limits are taken away only where nothing moves under them, only with our values, and only those that may go."""

import pytest

from logdirwatch.model.vocabulary import LOG_DIR_THROTTLE, ActionKind, ActionStatus
from logdirwatch.plan.actions.replicas.clear_throttles import are_cleared, clear_left_behind, propose_clear
from logdirwatch.plan.commands.throttles import Limits
from logdirwatch.plan.lifecycle.transitions import progress
from tests.unit.plan.builders import MIB, action, broker, directory, facts, policy, replica, topic

LEADER, FOLLOWER = "leader.replication.throttled.rate", "follower.replication.throttled.rate"
LIST = "leader.replication.throttled.replicas"
PLACE = {"broker": 1, "log_dir": "/d1"}
CALM = [
    directory(1),
    directory(1, "/d2"),
    directory(2),
    topic("t", (1, 2)),
    replica(1, "/d1", "t"),
    replica(2, "/d1", "t"),
]
COPY = replica(1, "/d2", "t", size=MIB, is_future=True)
REASSIGNED = topic("t", (1, 2), reassigned=[0])


def limits(brokers=None, topics=None):
    return Limits(brokers or {}, topics or {})


def cleared(found, *parts, keys=None, target=None):
    return propose_clear(found, facts(*CALM, *parts), policy(), target or PLACE, keys)


class TestWhatIsTakenAway:
    def test_the_values_that_were_seen_and_no_other(self):
        found = cleared(limits({1: {LEADER: 100}}, {"t": {LIST: "0:1"}}))
        assert found.kind is ActionKind.CLEAR_THROTTLES
        assert found.expected["clears"] == {"brokers": {"1": {LEADER: 100}}, "topics": {"t": [LIST]}}
        assert found.expected["needs_ms"] == 0
        assert found.commands == tuple(policy().tools.clear_limits(limits({1: {LEADER: 100}}, {"t": {LIST: "0:1"}})))
        assert found.undo == {"commands": policy().tools.set_limits(limits({1: {LEADER: 100}}, {"t": {LIST: "0:1"}}))}
        assert found.reason.startswith(f"remove {LEADER} of broker 1, the lists of throttled replicas of t: ")

    @pytest.mark.parametrize(
        ("keys", "brokers"),
        [
            (None, {"1": {LEADER: 1, FOLLOWER: 2}, "2": {FOLLOWER: 3}}),
            ([FOLLOWER], {"1": {FOLLOWER: 2}, "2": {FOLLOWER: 3}}),
            (iter([LEADER]), {"1": {LEADER: 1}}),
        ],
    )
    def test_only_the_rates_that_may_go(self, keys, brokers):
        found = cleared(limits({1: {LEADER: 1, FOLLOWER: 2}, 2: {FOLLOWER: 3}}), keys=keys)
        assert found.expected["clears"] == {"brokers": brokers, "topics": {}}

    def test_without_any_there_is_nothing_to_do(self):
        assert cleared(limits()) is None
        assert cleared(limits({1: {LEADER: 1}}), keys=[]) is None
        assert cleared(limits({1: {LEADER: 1}}, {"t": {LIST: "*"}}), keys=[]).expected["clears"]["brokers"] == {}

    @pytest.mark.parametrize(("target", "asked"), [(PLACE, ["throttle_agreed"]), (PLACE | {"after": "x"}, [])])
    def test_whoever_set_them_is_asked_unless_it_was_our_own_plan(self, target, asked):
        assert [one.name for one in cleared(limits({1: {LEADER: 1}}), target=target).preconditions] == asked


@pytest.mark.parametrize(
    ("found", "parts", "vetoes"),
    [
        (limits({1: {LEADER: 1}}), [], []),
        (limits({1: {LEADER: 1}}), [REASSIGNED], ["1 replica still moves under it: t-0"]),
        (limits({1: {FOLLOWER: 1}}), [REASSIGNED], ["1 replica still moves under it: t-0"]),
        (limits({}, {"u": {LIST: "*"}}), [REASSIGNED], ["1 replica still moves under it: t-0"]),
        (limits({1: {LOG_DIR_THROTTLE: 1}}), [REASSIGNED], []),
        (limits({1: {LOG_DIR_THROTTLE: 1}}), [COPY], ["1 replica still moves under it: t-0"]),
        (limits({2: {LOG_DIR_THROTTLE: 1}}), [COPY], []),
        (limits({1: {LEADER: 1}}), [COPY], []),
    ],
)
def test_a_limit_stays_while_a_move_runs_that_it_holds_back(found, parts, vetoes):
    assert [veto.reason for veto in cleared(found, *parts).vetoes] == vetoes
    assert {veto.name for veto in cleared(found, *parts).vetoes} <= {"move_needs_throttle"}


def test_of_many_that_move_five_are_named():
    many = topic("m", *[(1, 2)] * 7, reassigned=range(7))
    (veto,) = cleared(limits({1: {LEADER: 1}}), many).vetoes
    assert veto.reason == "7 replicas still move under it: m-0, m-1, m-2, m-3, m-4"


class TestWhetherTheyAreGone:
    CLEARS = {"brokers": {"1": {LEADER: 100}, "9": {LEADER: 1}}, "topics": {"t": [LIST], "gone": [LIST]}}  # noqa: RUF012

    @pytest.mark.parametrize(
        ("parts", "gone"),
        [
            ([], True),
            ([broker(1, **{FOLLOWER: "100"})], True),
            ([broker(1, **{LEADER: "100"})], False),
            ([broker(1, **{LEADER: "5"})], False),
            ([topic("t", (1, 2), configs={LIST: "0:1"})], False),
            ([topic("t", (1, 2), configs={LIST: ""})], True),
        ],
    )
    def test_none_of_them_is_set_any_more(self, parts, gone):
        seen = facts(*CALM, *parts)
        assert are_cleared(self.CLEARS, seen) is gone
        asked = action(ActionKind.CLEAR_THROTTLES, status=ActionStatus.ACCEPTED, expected={"clears": self.CLEARS})
        assert progress(asked, seen).is_done is gone

    @pytest.mark.parametrize(("now", "done"), [("99", False), ("100", True), ("101", True), (None, None)])
    def test_a_raised_limit_of_release_0_2_0_is_still_followed(self, now, done):
        expected = {"raises": {"broker": 1, "key": LEADER}, "throttle_bytes_per_s": 100}
        asked = action(ActionKind.CLEAR_THROTTLES, status=ActionStatus.ACCEPTED, expected=expected)
        seen = progress(asked, facts(*CALM, broker(1, **{LEADER: now})))
        assert (seen and seen.is_done) is done
        assert progress(asked, facts(directory(2))) is None

    def test_of_any_other_nothing_is_known(self):
        assert progress(action(ActionKind.CLEAR_THROTTLES), facts(*CALM)) is None


class TestWhatAPlanLeftBehind:
    SETS = {"sets_limits": {"brokers": {"1": {LEADER: 100}}, "topics": {}}}  # noqa: RUF012

    def left(self, *parts, status=ActionStatus.DONE, **fields):
        one = action(ActionKind.REASSIGN, status=status, **({"expected": self.SETS} | fields))
        return one, clear_left_behind(one, facts(*CALM, *parts), policy())

    def test_its_own_value_goes_in_its_name(self):
        one, found = self.left(broker(1, **{LEADER: "100"}))
        assert found.target == PLACE | {"after": one.action_id}
        assert found.expected["clears"]["brokers"] == {"1": {LEADER: 100}}

    def test_another_value_is_somebody_elses(self):
        assert self.left(broker(1, **{LEADER: "101"}))[1] is None
        assert self.left(broker(1))[1] is None
