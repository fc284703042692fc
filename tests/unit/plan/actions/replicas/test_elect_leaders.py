"""Elections: leadership back after a repair, and the unclean one that costs data."""

import pytest

from logdirwatch.model.vocabulary import ActionKind, BrokerStatus, LogDirStatus, Rule
from logdirwatch.plan.lifecycle.transitions import progress
from logdirwatch.plan.recommend import recommend
from tests.unit.plan.answers import holds, kinds, of_kind, vetoed
from tests.unit.plan.builders import (
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
    topic,
)

REBUILT = partition_of(topic("t", (3, 2)), leader=2)
"""Rebuilt on broker 3, which is preferred, in sync, and does not lead yet."""
PARTS = [offline(1), directory(2), directory(3), REBUILT, replica(3, "/d1", "t"), replica(2, "/d1", "t")]
HALF_HOUR = 1_800_000


def failed(*parts, **limits):
    return recommend(alert(), facts(*parts), policy(**limits), NOW_MS)


class TestPreferred:
    def test_when_everything_is_rebuilt_leadership_is_given_back(self):
        action = of_kind(failed(*PARTS), ActionKind.ELECT_LEADERS)
        assert action.target == {"broker": 1, "log_dir": "/d1", "election": "preferred"}
        assert action.expected["election"] == {"partitions": [{"topic": "t", "partition": 0}]}
        assert not action.data_loss
        assert action.expected["leadership"]["examples"][0]["preferred"]["leader"] == 3

    def test_kafkas_tool_gets_the_partitions_on_its_standard_input(self):
        write, elect = of_kind(failed(*PARTS), ActionKind.ELECT_LEADERS).commands
        assert '{"partitions":[\n{"topic":"t","partition":0}\n]}' in write
        assert "--election-type preferred --path-to-json-file /dev/stdin < logdirwatch-elect-preferred-" in elect

    def test_not_while_something_is_still_to_be_rebuilt(self):
        lost = [topic("u", (1, 2)), replica(1, "/d1", "u"), replica(2, "/d1", "u")]
        assert "elect_leaders" not in kinds(failed(*PARTS, *lost))

    @pytest.mark.parametrize(
        "waiting",
        [
            topic("t", (3, 2)),
            partition_of(topic("t", (3, 2)), leader=2, isr=(2,)),
            partition_of(topic("t", (3, 2)), leader=None),
            moving(REBUILT, adding=(1,)),
        ],
        ids=["leads already", "behind", "leaderless", "moving"],
    )
    def test_not_where_the_preferred_one_cannot_lead_or_need_not(self, waiting):
        assert "elect_leaders" not in kinds(failed(*PARTS, waiting))

    @pytest.mark.parametrize(
        ("path", "status"),
        [("/d2", LogDirStatus.OFFLINE), ("/d2", LogDirStatus.UNKNOWN), ("/d1", LogDirStatus.CRITICAL)],
    )
    def test_not_onto_a_broker_whose_disks_are_not_all_well(self, path, status):
        assert "elect_leaders" not in kinds(failed(*PARTS, directory(3, path, status=status)))

    def test_it_is_done_when_the_preferred_one_leads(self):
        action = of_kind(failed(*PARTS), ActionKind.ELECT_LEADERS)
        assert not progress(action, facts(*PARTS)).is_done
        assert progress(action, facts(*PARTS, topic("t", (3, 2)))).is_done


LOST = [
    broker(1, BrokerStatus.OFFLINE),
    directory(1, status=LogDirStatus.UNKNOWN),
    directory(2),
    topic("t", (1, 2), isr={0: (1,)}, leaderless=[0]),
]


class TestUnclean:
    def at_risk(self, *parts, opened_ms=NOW_MS - HALF_HOUR):
        about = alert(
            Rule.PARTITIONS_AT_RISK, number=None, log_dir=None, to="leaderless", cause=None, opened_at_ms=opened_ms
        )
        return recommend(about, facts(*parts), policy(), NOW_MS)

    def test_it_names_what_is_lost_and_asks_the_owner(self):
        action = of_kind(self.at_risk(*LOST), ActionKind.ELECT_LEADERS)
        assert action.data_loss
        assert action.requires_approval
        assert "loses the records that only broker 1 had" in action.reason
        assert holds(action, "owner_agrees") is None
        assert holds(action, "cannot_come_back") is None
        assert action.expected["examples"] == [{"partition": "t-0", "leader": 2}]
        assert "--election-type unclean" in action.commands[1]

    def test_not_while_the_lost_ones_may_come_back(self):
        action = of_kind(self.at_risk(*LOST, opened_ms=NOW_MS - 60_000), ActionKind.ELECT_LEADERS)
        assert vetoed(action) == ["may_come_back"]
        assert action.commands == []

    def test_not_where_somebody_may_lead_without_loss(self):
        eligible = partition_of(LOST[3], isr=(), elr=(2,))
        assert kinds(self.at_risk(*LOST[:3], eligible)) == ["investigate"]

    def test_not_where_nobody_at_all_is_left(self):
        assert kinds(self.at_risk(*LOST[:3], topic("t", (1,), leaderless=[0]))) == ["investigate"]

    def test_it_says_which_broker_brings_back_most(self):
        look = self.at_risk(*LOST)[0]
        assert look.expected["led_again_by_return_of"] == {"1": 1}
        assert "broker 1 brings most back: 1 leaderless partition is led again with it" in look.reason

    def test_it_is_done_when_somebody_leads(self):
        action = of_kind(self.at_risk(*LOST), ActionKind.ELECT_LEADERS)
        assert not progress(action, facts(*LOST)).is_done
        led = partition_of(LOST[3], leader=2, isr=(2,))
        assert progress(action, facts(*LOST[:3], led)).is_done
