"""Moves that do not get on."""

from logdirwatch.model.vocabulary import ActionKind, Rule
from logdirwatch.plan.lifecycle.progress import progress
from tests.unit.plan.answers import recommended_for
from tests.unit.plan.builders import MIB, alert, broker, directory, facts

LEADER, FOLLOWER = "leader.replication.throttled.rate", "follower.replication.throttled.rate"
WITHIN = "replica.alter.log.dirs.io.max.bytes.per.second"


THROTTLED = broker(1, **{LEADER: "1000", FOLLOWER: "1000", WITHIN: "2000"})


class TestStalled:
    def stalled(self, **told):
        evidence = {"moves": {"/d1": {"verdict": "too_slow", **told}}, "throttles": {WITHIN: 1000}}
        an_alert = alert(Rule.MOVE_STALLED, log_dir=None, cause=None, to=None, evidence=evidence)
        return recommended_for(an_alert, THROTTLED, directory(1, growth_bytes_per_s=80.0 * MIB))

    def test_a_limit_below_what_is_written_is_raised(self):
        action, *_ = self.stalled(throttle=WITHIN, throttle_bytes_per_s=2000, is_throttled_below_writes=True)
        assert action.kind is ActionKind.CLEAR_THROTTLES
        assert action.commands[0].endswith(f"--add-config {WITHIN}={160 * MIB}")
        assert action.undo["commands"][0].endswith(f"--add-config {WITHIN}=2000")
        raised = broker(1, **{WITHIN: str(160 * MIB)})
        assert progress(action, facts(raised)).is_done
        assert not progress(action, facts(THROTTLED)).is_done

    def test_a_limit_that_only_makes_it_slow_is_not_raised_by_itself(self):
        actions = self.stalled(throttle=WITHIN, throttle_bytes_per_s=2000, is_throttled_below_writes=False)
        assert ActionKind.CLEAR_THROTTLES not in [action.kind for action in actions]
