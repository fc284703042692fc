"""What each kind of plan does to leaders, step by step, and which partitions it harms though others are mended."""

import pytest

from logdirwatch.model.vocabulary import BrokerStatus
from logdirwatch.plan.availability import impact
from logdirwatch.plan.availability.leadership import LeadershipState
from logdirwatch.plan.cluster.assignment import Assignment
from tests.unit.plan.builders import broker, directory, facts, moving, topic

ALIVE = [directory(number) for number in (1, 2, 3)]
DOWN = broker(1, BrokerStatus.OFFLINE)


def leaders(found):
    """By partition: who leads after each step."""
    return {
        one["partition"]: [step["leader"] for name, step in one.items() if name != "partition"]
        for one in found["examples"]
    }


def steps(found):
    return [step["step"] for step in found["steps"]]


def to(*replicas, name="t"):
    return Assignment(name, 0, replicas, ("any",) * len(replicas))


class TestEveryPlan:
    def test_a_reassignment_copies_and_then_prefers(self):
        found = impact.of_reassignment([to(3, 1), to(1, name="gone")], facts(*ALIVE, topic("t", (1, 2))))
        assert steps(found) == ["now", "copied", "preferred"]
        assert leaders(found) == {"t-0": [1, 1, 3]}
        assert found["partitions"] == 1

    def test_a_demotion_elects_the_first_of_the_new_order(self):
        found = impact.of_demotion([to(2, 1), to(1, name="gone")], facts(*ALIVE, topic("t", (1, 2))))
        assert steps(found) == ["now", "demoted"]
        assert leaders(found) == {"t-0": [1, 2]}

    def test_a_preferred_election_elects_who_is_in_sync(self):
        seen = facts(*ALIVE, topic("t", (1, 2), (1, 2), isr={0: (2, 1), 1: (2,)}))
        found = impact.of_election(seen.partitions.values(), seen)
        assert steps(found) == ["now", "preferred"]
        assert leaders(found) == {"t-0": [2, 1], "t-1": [2, 2]}

    def test_a_cancelled_reassignment_drops_what_it_added(self):
        seen = facts(*ALIVE, moving(topic("t", (3, 1, 2), isr={0: (3, 2)}), adding=(3,)))
        found = impact.of_cancelling(seen.partitions.values(), seen)
        assert steps(found) == ["now", "cancelled"]
        assert leaders(found) == {"t-0": [3, 2]}
        plain = facts(*ALIVE, topic("t", (3, 1)))
        assert leaders(impact.of_cancelling(plain.partitions.values(), plain)) == {"t-0": [3, 3]}

    @pytest.mark.parametrize(
        ("parts", "found"),
        [
            ([], [1, 2, 2, 1]),
            ([DOWN], [2, 2, 2, 1]),
        ],
        ids=["it runs", "it is down already"],
    )
    def test_a_restart_takes_leaders_away_and_gives_them_back(self, parts, found):
        seen = facts(*ALIVE, topic("t", (1, 2)), *parts)
        told = impact.of_restart(1, seen.partitions.values(), seen)
        assert steps(told) == ["now", "stopped", "started", "preferred"]
        assert leaders(told) == {"t-0": found}


def state(leader, isr=(), min_isr=1):
    return LeadershipState((1, 2), leader, tuple(isr), min_isr=min_isr)


LED, OTHER, NOBODY = state(1, (1, 2)), state(2, (1, 2)), state(None)
THIN = state(1, (1,), 2)


class TestCounts:
    def counted(self, *states):
        found = impact.outlook((f"t-{number}", {"now": one}) for number, one in enumerate(states))
        return found["steps"][0]["leaderless"], found["steps"][0]["under_min_isr"]

    @pytest.mark.parametrize(
        ("states", "leaderless", "under"),
        [
            ([LED], 0, 0),
            ([NOBODY, LED], 1, 1),
            ([THIN], 0, 1),
            ([state(1, (1, 2), 2)], 0, 0),
            ([state(None, (1, 2), 1)], 1, 1),
            ([state(1, (1,), None), state(None, (), None)], 1, 0),
        ],
    )
    def test_who_has_no_leader_and_who_takes_no_writes(self, states, leaderless, under):
        assert self.counted(*states) == (leaderless, under)

    def test_led_anew_is_another_leader_than_in_the_step_before(self):
        paths = [
            ("a-0", {"now": LED, "then": OTHER, "last": OTHER}),
            ("b-0", {"now": LED, "then": NOBODY, "last": LED}),
            ("c-0", {"now": LED, "then": LED, "last": OTHER}),
        ]
        assert [step["led_anew"] for step in impact.outlook(paths)["steps"]] == [0, 1, 2]

    def test_of_nothing_there_are_no_steps(self):
        assert impact.outlook([]) == {"partitions": 0, "steps": [], "examples": []}


class TestExamples:
    def test_what_is_hurt_most_is_told_first_and_twenty_are_enough(self):
        paths = [
            *((f"calm-{number}", {"now": LED, "then": LED}) for number in range(30)),
            ("anew-0", {"now": LED, "then": OTHER}),
            ("thin-0", {"now": LED, "then": THIN}),
            ("none-0", {"now": LED, "then": NOBODY}),
        ]
        examples = impact.outlook(paths)["examples"]
        assert [one["partition"] for one in examples[:4]] == ["none-0", "thin-0", "anew-0", "calm-0"]
        assert len(examples) == 20
        assert examples[1] == {
            "partition": "thin-0",
            "now": {"leader": 1, "isr": [1, 2]},
            "then": {"leader": 1, "isr": [1]},
        }


class TestHarm:
    @pytest.mark.parametrize(
        ("path", "leaderless", "under"),
        [
            ((LED, NOBODY), "s1", None),
            ((LED, LED, NOBODY), "s2", None),
            ((LED, NOBODY, NOBODY), "s1", None),
            ((NOBODY, NOBODY), None, None),
            ((NOBODY, LED), None, None),
            ((LED, THIN), None, "s1"),
            ((THIN, THIN), None, None),
            ((NOBODY, THIN), None, None),
            ((THIN, NOBODY), "s1", None),
        ],
    )
    def test_it_is_what_a_later_step_takes_away(self, path, leaderless, under):
        found = impact.outlook([("t-0", {f"s{number}": one for number, one in enumerate(path)})])
        assert found.get("becomes_leaderless", {}).get("step") == leaderless
        assert found.get("falls_under_min_isr", {}).get("step") == under

    def test_all_are_counted_the_first_step_is_told_and_twenty_are_named(self):
        paths = [(f"t-{number}", {"now": LED, "then": NOBODY}) for number in range(25)]
        harm = impact.outlook([("mended-0", {"now": NOBODY, "then": LED}), *paths])["becomes_leaderless"]
        assert (harm["partitions"], harm["step"]) == (25, "then")
        assert harm["examples"] == [f"t-{number}" for number in range(20)]
