"""Who leads and who is in sync after each step: KIP-18's rule, KRaft's last member, KIP-966's eligible ones."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logdirwatch.model.vocabulary import BrokerStatus
from logdirwatch.plan.availability import leadership
from logdirwatch.plan.availability.leadership import LeadershipState
from tests.unit.plan.builders import broker, directory, facts, offline, replica, topic

BROKERS = range(1, 6)


def without(state, gone, live, *, has_elr=False):
    return leadership.without(state, gone, frozenset(live), has_elr=has_elr)


class TestKip18:
    """new_isr := isr - b; new_leader := (new_ar which are in new_isr).head(); of a follower the leader stays."""

    @pytest.mark.parametrize(
        ("gone", "leader", "isr"),
        [(1, 2, (2, 3)), (2, 1, (1, 3)), (3, 1, (1, 2))],
    )
    def test_the_isr_loses_the_broker_and_only_a_leaders_loss_changes_the_leader(self, gone, leader, isr):
        after = without(LeadershipState((1, 2, 3), 1, (1, 2, 3)), gone, {1, 2, 3} - {gone})
        assert (after.leader, after.isr, after.replicas) == (leader, isr, (1, 2, 3))

    def test_the_assignment_orders_not_the_isr(self):
        after = without(LeadershipState((1, 2, 3), 1, (3, 2, 1)), 1, {2, 3})
        assert after.leader == 2

    def test_who_is_in_sync_but_dead_does_not_lead(self):
        assert without(LeadershipState((1, 2, 3), 1, (1, 2, 3)), 1, {3}).leader == 3

    def test_who_is_alive_but_not_in_sync_does_not_lead(self):
        assert without(LeadershipState((1, 2, 3), 1, (1, 3)), 1, {2, 3}).leader == 3


class TestNobodyIsLeft:
    def test_without_eligible_replicas_the_last_member_stays_and_nobody_leads(self):
        after = without(LeadershipState((1, 2), 1, (1,)), 1, {2})
        assert (after.leader, after.isr) == (None, (1,))

    def test_it_leads_again_when_it_is_back(self):
        gone = without(LeadershipState((1, 2), 1, (1,)), 1, {2})
        after = leadership.back(gone, 1, frozenset({2}))
        assert (after.leader, after.isr) == (1, (1,))

    def test_another_one_that_is_back_changes_nothing(self):
        gone = without(LeadershipState((1, 2, 3), 1, (1,)), 1, {2})
        assert leadership.back(gone, 3, frozenset({2})).leader is None

    def test_with_eligible_replicas_the_isr_is_empty_and_the_last_leader_is_remembered(self):
        after = without(LeadershipState((1, 2), 1, (1,), min_isr=1), 1, {2}, has_elr=True)
        assert (after.leader, after.isr, after.elr, after.last_known) == (None, (), (1,), (1,))

    def test_who_fell_below_the_minimum_is_eligible_and_leads_before_nobody_does(self):
        one = without(LeadershipState((1, 2, 3), 1, (1, 2), min_isr=2), 2, {1, 3}, has_elr=True)
        assert (one.leader, one.isr, one.elr) == (1, (1,), (2,))
        none = without(one, 1, {2, 3}, has_elr=True)
        assert (none.leader, none.isr, none.elr) == (2, (2,), (1,))

    def test_the_last_known_leader_is_asked_when_nobody_is_eligible(self):
        lost = LeadershipState((1, 2, 3), None, (), (), (3,))
        assert leadership.elected(lost, {2, 3}) == 3
        assert leadership.elected(lost, {1, 2}) is None
        assert leadership.elected(replace(lost, elr=(1,)), {2, 3}) is None, "somebody is eligible, only not alive"

    def test_above_the_minimum_nobody_is_eligible(self):
        after = without(LeadershipState((1, 2, 3), 1, (1, 2, 3), (), min_isr=2), 3, {1, 2}, has_elr=True)
        assert (after.isr, after.elr) == ((1, 2), ())


class TestReassignment:
    def test_the_leader_stays_if_the_target_keeps_it(self):
        after = leadership.reassigned(LeadershipState((1, 2), 2, (2,)), (3, 2), frozenset({2}))
        assert (after.leader, after.isr, after.replicas) == (2, (3, 2), (3, 2))

    def test_a_leader_that_leaves_is_followed_by_the_first_of_the_target(self):
        after = leadership.reassigned(LeadershipState((1, 2), 1, (1, 2)), (3, 2), frozenset({1, 2}))
        assert (after.leader, after.isr) == (3, (3, 2))

    def test_a_preferred_election_lets_the_first_lead(self):
        after = leadership.reassigned(LeadershipState((1, 2), 2, (2,)), (3, 2), frozenset({2}))
        assert leadership.preferred(after, {2, 3}).leader == 3

    def test_not_one_that_is_dead_or_behind(self):
        state = LeadershipState((1, 2, 3), 2, (2, 3))
        assert leadership.preferred(state, {1, 2, 3}).leader == 2
        assert leadership.preferred(replace(state, isr=(1, 2, 3)), {2, 3}).leader == 2


class TestFromFacts:
    def test_a_replica_in_an_offline_directory_is_not_live_though_the_metadata_is_older(self):
        found = facts(offline(1), directory(1, "/d2"), directory(2), topic("t", (1, 2)), replica(1, "/d1", "t"))
        partition = found.partitions["t", 0]
        assert leadership.live_replicas(partition, found) == {2}
        now = leadership.current_leadership(partition, found)
        assert (now.leader, now.isr) == (2, (2,))

    def test_a_broker_that_is_not_known_to_be_alive_leads_nothing(self):
        found = facts(broker(1, BrokerStatus.UNKNOWN), directory(1), directory(2), topic("t", (1, 2)))
        assert leadership.current_leadership(found.partitions["t", 0], found).leader == 2

    def test_an_unseen_directory_serves_as_far_as_kafka_is_concerned(self):
        suspect = directory(1, status="unknown")
        found = facts(suspect, directory(2), topic("t", (1, 2)), replica(1, "/d1", "t"))
        assert leadership.current_leadership(found.partitions["t", 0], found).leader == 1

    @pytest.mark.parametrize(("configured", "needed"), [({"min.insync.replicas": "2"}, 2), ({}, None)])
    def test_the_minimum_is_that_of_the_topic_and_no_more_than_there_are(self, configured, needed):
        found = facts(directory(1), directory(2), topic("t", (1, 2), configs=configured), topic("u", (1,)))
        assert leadership.min_isr(found.partitions["t", 0], found) == needed
        alone = facts(directory(1), topic("u", (1,), configs={"min.insync.replicas": "2"}))
        assert leadership.min_isr(alone.partitions["u", 0], alone) == 1


@st.composite
def states(draw):
    """A partition as Kafka can leave it, and who is alive."""
    replicas = tuple(draw(st.permutations(BROKERS))[: draw(st.integers(1, 5))])
    isr = tuple(draw(st.lists(st.sampled_from(replicas), unique=True)))
    rest = [broker for broker in replicas if broker not in isr]
    elr = tuple(draw(st.lists(st.sampled_from(rest), unique=True))) if rest else ()
    last_known = (draw(st.sampled_from(replicas)),) if draw(st.booleans()) else ()
    leader = draw(st.sampled_from((*isr, None)))
    live = draw(st.frozensets(st.sampled_from(BROKERS)))
    needed = draw(st.one_of(st.none(), st.integers(1, len(replicas))))
    return LeadershipState(replicas, leader, isr, elr, last_known, needed), live


def is_sound(state, live):
    return state.leader is None or (
        state.leader in live and state.leader in state.replicas and state.leader in state.isr
    )


@given(given_=states(), gone=st.sampled_from(BROKERS), has_elr=st.booleans())
def test_never_a_leader_that_is_dead_gone_or_not_in_sync(given_, gone, has_elr):
    state, live = given_
    after = without(state, gone, live, has_elr=has_elr)
    assert is_sound(after, live - {gone})
    assert set(after.isr) | set(after.elr) <= set(state.isr) | set(state.elr) | set(state.last_known)


@given(given_=states(), gone=st.sampled_from(BROKERS))
def test_a_follower_never_changes_the_leader_and_the_isr_never_grows(given_, gone):
    state, live = given_
    after = without(replace(state, elr=(), last_known=()), gone, live)
    assert set(after.isr) <= set(state.isr)
    if state.leader not in {gone, None} and state.leader in live:
        assert after.leader == state.leader


@given(given_=states(), gone=st.sampled_from(BROKERS))
def test_whether_eligible_replicas_are_used_changes_no_leader_of_a_partition_that_needs_none(given_, gone):
    state, live = given_
    state = replace(state, elr=(), last_known=())
    if not state.isr:
        return
    assert without(state, gone, live, has_elr=True).leader == without(state, gone, live, has_elr=False).leader


@given(given_=states(), gone=st.sampled_from(BROKERS), has_elr=st.booleans())
def test_somebody_leads_whenever_somebody_in_sync_is_left(given_, gone, has_elr):
    state, live = given_
    after = without(state, gone, live, has_elr=has_elr)
    left = (set(state.isr) - {gone}) & live
    assert (after.leader is not None) or not left


@given(given_=states(), target=st.permutations(BROKERS))
def test_after_a_reassignment_exactly_the_target_is_there_and_who_leads_is_in_sync(given_, target):
    state, live = given_
    wanted = tuple(target[: len(state.replicas)])
    after = leadership.reassigned(state, wanted, live)
    assert after.replicas == wanted
    assert set(after.isr) <= set(wanted) or after.leader is None
    assert is_sound(after, live | (set(wanted) - set(state.replicas)))


@given(given_=states(), returned=st.sampled_from(BROKERS))
def test_who_comes_back_takes_nobody_away(given_, returned):
    state, live = given_
    after = leadership.back(state, returned, live)
    assert set(state.isr) <= set(after.isr) or after.leader is None or after.leader not in state.isr
    assert is_sound(after, live | {returned})
