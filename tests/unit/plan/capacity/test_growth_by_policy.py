"""What makes a directory grow, by cleanup policy."""

import pytest

from logdirwatch.plan.capacity.growth_by_policy import growth_by_policy, policy_of
from logdirwatch.plan.recommend import recommend
from tests.unit.plan.builders import MIB, NOW_MS, directory, facts, policy, replica, space_alert, topic

FULL = directory(1, "/d1", 850 * MIB)
PARTS = [
    FULL,
    directory(1, "/d2", 100 * MIB),
    directory(2),
    topic("logs", (1, 2)),
    topic("table", (1, 2), configs={"cleanup.policy": "compact"}),
    topic("mixed", (1, 2), configs={"cleanup.policy": "delete, compact"}),
    replica(1, "/d1", "logs", 0, 300 * MIB),
    replica(1, "/d1", "table"),
    replica(1, "/d1", "mixed"),
]


def grown(**rates):
    return facts(*PARTS, growth={((1, "/d1"), (name, 0)): rate * MIB for name, rate in rates.items()})


def test_growth_is_summed_by_policy():
    found = growth_by_policy(FULL, grown(logs=9.4, table=0.5, mixed=0.1))
    assert found == {
        "bytes_per_s": {"delete": 9.4 * MIB, "compact": 0.5 * MIB, "compact,delete": 0.1 * MIB},
        "replicas": 3,
        "replicas_known": 3,
    }
    assert growth_by_policy(FULL, grown(table=1.0))["replicas_known"] == 1
    assert growth_by_policy(FULL, grown()) is None


@pytest.mark.parametrize(("value", "name"), [("compact,delete", "compact,delete"), ("", "unknown"), (None, "unknown")])
def test_a_policy_is_named_in_one_way(value, name):
    assert policy_of(topic("t", (1,), configs={"cleanup.policy": value})) == name
    assert policy_of(None) == "unknown"


def test_the_first_action_of_a_filling_directory_says_it_and_all_carry_it():
    actions = recommend(space_alert(), grown(logs=9.4, table=0.5, mixed=0.1), policy(), NOW_MS)
    assert "94 % of the growth of 10 MiB/s is in logs (delete)" in actions[0].reason
    assert not any("of the growth" in action.reason for action in actions[1:])
    assert {action.expected["growth_by_policy"]["replicas_known"] for action in actions} == {3}
    plain = recommend(space_alert(), grown(), policy(), NOW_MS)
    assert all("growth_by_policy" not in action.expected for action in plain)
