"""Partitions in danger all over a cluster."""

from logdirwatch.model.vocabulary import BrokerStatus, Rule
from tests.unit.plan.answers import answered
from tests.unit.plan.builders import alert, broker, directory, topic


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
