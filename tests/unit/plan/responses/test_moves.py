"""Moves that stand still, and throttles that stayed behind."""

from logdirwatch.model.vocabulary import ActionKind, Rule
from tests.unit.plan.answers import recommended_for
from tests.unit.plan.builders import MIB, alert, broker, directory, topic

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


LEADER, FOLLOWER = "leader.replication.throttled.rate", "follower.replication.throttled.rate"
LISTED = "leader.replication.throttled.replicas"


def left(*names, listed=0):
    evidence = {"throttles": dict.fromkeys(names, 1000), "throttled_replicas": listed}
    return alert(Rule.THROTTLE_LEFT, log_dir=None, cause=None, to=None, evidence=evidence)


def limits_in(command):
    return [line for line in command.splitlines() if line.startswith(("brokers ", "topics "))]


class TestLeft:
    def test_what_the_alert_names_is_taken_away(self):
        (action,) = recommended_for(left(LEADER, FOLLOWER), THROTTLED, directory(1))
        assert action.kind is ActionKind.CLEAR_THROTTLES
        (command,) = action.commands
        (again,) = action.undo["commands"]
        assert "--delete-config" in command
        assert "--add-config" in again
        for told in (command, again):
            assert limits_in(told) == [f"brokers 1 {FOLLOWER}=1000", f"brokers 1 {LEADER}=1000"]

    def test_what_it_does_not_name_is_meant_to_stay(self):
        (action,) = recommended_for(left(WITHIN), THROTTLED, directory(1))
        assert action.expected["clears"] == {"brokers": {"1": {WITHIN: 2000}}, "topics": {}}

    def test_the_lists_of_topics_go_with_it(self):
        parts = [
            topic("t", (1, 2), configs={LISTED: "0:1,0:2"}),
            topic("all", (1, 2), configs={LISTED: "*"}),
            topic("elsewhere", (2, 3), configs={LISTED: "0:2,1:3"}),
            topic("free", (1, 2), configs={LISTED: ""}),
        ]
        (action,) = recommended_for(left(listed=2), broker(1), directory(1), *parts)
        assert limits_in(action.commands[0]) == [f"topics all {LISTED}=*", f"topics t {LISTED}=0:1,0:2"]

    def test_while_a_move_needs_it_it_stays(self):
        moving = [topic("t", (1, 2), reassigned=(0,))]
        (other, vetoed) = recommended_for(left(LEADER), THROTTLED, directory(1), *moving)
        assert [veto["name"] for veto in vetoed.vetoes] == ["move_needs_throttle"]
        assert other.kind is ActionKind.INVESTIGATE

    def test_what_is_gone_already_is_left_to_be_looked_at(self):
        (action,) = recommended_for(left(LEADER), broker(1, **{"log.dirs": "/d1"}), directory(1))
        assert action.kind is ActionKind.INVESTIGATE
