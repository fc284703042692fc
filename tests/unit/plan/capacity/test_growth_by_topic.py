"""Whose growth fills a directory: known, by subtraction, or not known."""

import pytest

from logdirwatch.plan.capacity.growth_by_topic import (
    filling_topics,
    growth_by_policy,
    growth_by_topic,
    has_runaway,
    policy_of,
    told,
)
from logdirwatch.plan.recommend import recommend
from tests.unit.plan.builders import MIB, NOW_MS, directory, facts, policy, replica, space_alert, topic

HERE = (1, "/d1")


def seen(total=None, sizes=None, **rates):
    """A directory that grows by ``total`` with topics that grow by these rates, in MiB/s; None: not known."""
    source = directory(*HERE, 900 * MIB, growth_bytes_per_s=None if total is None else total * MIB)
    parts = [topic(name, (1,)) for name in rates]
    parts += [replica(*HERE, name, size=(sizes or {}).get(name, 100) * MIB) for name in rates]
    growth = {(HERE, (name, 0)): rate * MIB for name, rate in rates.items() if rate is not None}
    return source, facts(source, *parts, growth=growth)


@pytest.mark.parametrize(
    ("case", "found"),
    [
        ({"a": 79, "b": 1}, "a"),
        ({"a": 1, "b": 79}, "b"),
        ({"a": 50, "b": 50}, "a b"),
        ({"a": 75, "b": 25}, "a"),
        ({"a": 70, "b": 30}, "a b"),
        ({"a": 40, "b": 40, "c": 1}, "a b"),
        ({"a": 50, "b": 30, "c": 20}, "a b c"),
        ({"a": 50, "b": 40, "c": 10}, "a b"),
        (dict.fromkeys("abcdefghijk", 9), "a b c d e f g h i j k"),
        ({"a": 0, "b": 0}, ""),
        ({"a": None, "b": None}, ""),
        ({"a": None, "b": None, "total": 10}, ""),
        ({"a": -5, "b": 1}, "b"),
        ({"a": None, "b": 0, "total": 10}, "a"),
        ({"a": None, "b": None, "c": 1, "total": 80}, "a b"),
        ({"a": None, "b": 9, "total": 10}, "b"),
        ({"a": None, "b": 12, "total": 10}, "b"),
        ({"a": 1, "b": 1, "total": 80}, ""),
    ],
)
def test_the_topics_that_most_of_the_growth_comes_from_fill_it(case, found):
    assert " ".join(sorted(filling_topics(*seen(**case)))) == found


def test_what_is_known_of_a_topic_counts_beside_the_rest():
    source, known = seen(total=10, a=1, b=2)
    parts = [topic("a", (1,), (1,)), topic("b", (1,)), *known.layout.replicas, replica(*HERE, "a", 1)]
    more = facts(source, *parts, growth=known.growth)
    assert [(one.topics, one.bytes_per_s) for one in growth_by_topic(source, more)] == [
        (("a",), 8 * MIB),
        (("b",), 2 * MIB),
    ]


@pytest.mark.parametrize(
    ("case", "is_one"),
    [
        ({"a": 79, "b": 1, "sizes": {"a": 99}}, True),
        ({"a": 79, "b": 1, "sizes": {"a": 100}}, False),
        ({"a": 79, "b": 1, "sizes": {"a": 500}}, False),
        ({"a": 50, "b": 50, "sizes": {"a": 1}}, False),
        ({"a": None, "b": None, "sizes": {"a": 1}}, False),
    ],
)
def test_a_runaway_has_the_smaller_part_of_the_bytes(case, is_one):
    assert has_runaway(*seen(**case)) is is_one


@pytest.mark.parametrize(
    ("case", "said"),
    [
        ({"a": 9, "b": 1}, "; 90 % of the growth of 10 MiB/s is in a (delete)"),
        ({"a": 5, "b": 5}, "; 100 % of the growth of 10 MiB/s is in a (delete), b (delete)"),
        ({"a": None, "b": 0, "total": 10}, "; 100 % of the growth of 10 MiB/s is in a (delete)"),
        ({"a": None, "b": None, "c": 0, "total": 10}, "; 100 % of the growth of 10 MiB/s is in a or b (delete)"),
        ({"a": 0, "b": 0}, ""),
        ({"a": None}, ""),
        ({"a": 1, "total": 80}, ""),
    ],
)
def test_who_did_it_is_said_as_far_as_it_is_known(case, said):
    source, known = seen(**case)
    assert told([source], known) == said


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
