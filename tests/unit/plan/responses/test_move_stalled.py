"""Moves that do not get on."""

from logdirwatch.model.vocabulary import ActionKind, Rule
from logdirwatch.plan.lifecycle.transitions import progress
from tests.unit.plan.answers import recommended_for
from tests.unit.plan.builders import MIB, alert, broker, directory, facts
from tests.unit.plan.builders import action as proposed

LEADER, FOLLOWER = "leader.replication.throttled.rate", "follower.replication.throttled.rate"
WITHIN = "replica.alter.log.dirs.io.max.bytes.per.second"


THROTTLED = broker(1, **{LEADER: "1000", FOLLOWER: "1000", WITHIN: "2000"})


class TestStalled:
    def stalled(self, **told):
        evidence = {"moves": {"/d1": {"verdict": "too_slow", **told}}, "throttles": {WITHIN: 1000}}
        an_alert = alert(Rule.MOVE_STALLED, log_dir=None, cause=None, to=None, evidence=evidence)
        return recommended_for(an_alert, THROTTLED, directory(1, growth_bytes_per_s=80.0 * MIB))

    def test_whoever_set_a_limit_below_what_is_written_is_asked_to_raise_it(self):
        action, *_ = self.stalled(throttle=WITHIN, throttle_bytes_per_s=2000, is_throttled_below_writes=True)
        assert action.kind is ActionKind.INVESTIGATE
        assert f"{WITHIN}=2 KiB/s of broker 1 to at least 160 MiB/s" in action.reason
        (asked,) = action.expected["asked_limits"]
        assert (asked["from_bytes_per_s"], asked["to_bytes_per_s"]) == (2000, 160 * MIB)
        assert not [command for command in action.commands if "--alter" in command]

    def test_a_limit_of_nothing_is_asked_about_as_well(self):
        action, *_ = self.stalled(throttle=WITHIN, throttle_bytes_per_s=0, is_throttled_below_writes=True)
        assert f"{WITHIN}=0 B/s of broker 1" in action.reason

    def test_a_limit_that_only_makes_it_slow_is_named_beside_the_runbook(self):
        (action,) = self.stalled(throttle=WITHIN, throttle_bytes_per_s=2000, is_throttled_below_writes=False)
        assert "ask its owner to raise it first" in action.reason

    def test_a_raise_that_release_0_2_0_proposed_is_done_once_the_limit_is_higher(self):
        expected = {"throttle_bytes_per_s": 160 * MIB, "raises": {"broker": 1, "key": WITHIN}}
        old = proposed(ActionKind.CLEAR_THROTTLES, expected=expected)
        assert progress(old, facts(broker(1, **{WITHIN: str(160 * MIB)}))).is_done
        assert not progress(old, facts(THROTTLED)).is_done
