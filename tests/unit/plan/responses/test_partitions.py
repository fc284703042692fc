"""Partitions that failed on one broker, or are in danger all over a cluster."""

from logdirwatch.model.vocabulary import BrokerStatus, Rule
from logdirwatch.plan.cluster.assignment import from_json
from tests.unit.plan.answers import answered, kinds, vetoed
from tests.unit.plan.builders import MIB, alert, broker, directory, replica, topic


class TestPartitionFailed:
    PARTS = (
        directory(1, used=100 * MIB),
        directory(2, used=10 * MIB),
        directory(3, used=20 * MIB),
        topic("t", (2, 1), (1, 2)),
        *(replica(number, "/d1", "t", part) for number in (1, 2) for part in (0, 1)),
    )

    def failed(self, *labels, parts=PARTS, **limits):
        about = alert(Rule.PARTITION_FAILED, log_dir=None, to="online", cause=None, evidence={"why": list(labels)})
        return answered(about, *parts, **limits)

    def test_a_bad_follower_is_copied_to_another_broker(self):
        actions = self.failed("t-0")
        assert kinds(actions) == ["reassign", "investigate"]
        (moved,) = from_json(actions[0].reassignment)
        assert (moved.label, moved.replicas) == ("t-0", (2, 3))
        assert "that the log of broker 1 calls bad" in actions[0].reason

    def test_a_bad_leader_gives_way_first_or_its_copy_would_be_copied(self):
        actions = self.failed("t-1")
        assert kinds(actions) == ["demote_leaders", "investigate"]
        assert [a.replicas for a in from_json(actions[0].reassignment)] == [(2, 1)]

    def test_both_at_once_never_name_one_partition_twice(self):
        actions = self.failed("t-0", "t-1")
        assert kinds(actions) == ["demote_leaders", "reassign", "investigate"]
        named = [a.label for action in actions[:2] for a in from_json(action.reassignment)]
        assert sorted(named) == ["t-0", "t-1"]

    def test_where_no_other_broker_can_take_it_it_is_copied_again_in_place(self):
        actions = self.failed("t-0", parts=[*self.PARTS[:2], *self.PARTS[3:]])
        step = actions[0]
        assert step.target["step"] == "copy_again_in_place"
        assert "remove the folders t-0 of broker 1 while it is stopped" in step.reason
        assert vetoed(step) == []

    def test_but_not_the_last_good_copy(self):
        alone = topic("t", (2, 1), isr={0: (1,)}, leaderless=[0])
        actions = self.failed("t-0", parts=[*self.PARTS[:2], alone, *self.PARTS[4:]])
        assert kinds(actions) == ["investigate"]

    def test_what_nobody_knows_any_more_is_looked_at(self):
        assert kinds(self.failed("gone-7")) == ["investigate"]


class TestPartitionsAtRisk:
    def at_risk(self, *parts):
        about = alert(Rule.PARTITIONS_AT_RISK, number=None, log_dir=None, to="leaderless", cause=None)
        return answered(about, *parts)

    def test_it_is_told_who_brings_back_how_many(self):
        parts = [
            *(broker(number, BrokerStatus.OFFLINE) for number in (1, 2)),
            *(directory(number) for number in (1, 2, 3)),
            topic("t", (1, 3), (1, 3), (2, 3), isr={0: (1,), 1: (1,), 2: (2,)}, leaderless=[0, 1, 2]),
        ]
        look = self.at_risk(*parts)[0]
        assert look.expected["led_again_by_return_of"] == {"1": 2, "2": 1}
        assert look.expected["endangered"] == 3
        assert "broker 1 brings most back: 2 leaderless partitions" in look.reason

    def test_what_is_well_is_not_counted(self):
        parts = [*(directory(number) for number in (1, 2)), topic("t", (1, 2)), topic("alone", (1,))]
        look = self.at_risk(*parts)[0]
        assert look.expected["endangered"] == 0

    def test_one_copy_left_of_several_is(self):
        parts = [*(directory(number) for number in (1, 2)), topic("t", (1, 2), isr={0: (1,)})]
        assert self.at_risk(*parts)[0].expected["endangered"] == 1
