"""Who fills a directory, or a cluster, is slowed down and cut first; its neighbours keep their history meanwhile."""

from dataclasses import replace

import pytest

from logdirwatch.model.vocabulary import ActionKind, LogDirStatus, Rule
from logdirwatch.plan.operator_decisions import OperatorDecisions
from logdirwatch.plan.recommend import recommend
from tests.unit.plan.builders import MIB, NOW_MS, alert, directory, facts, policy, replica, space_alert, topic

HERE = (1, "/d1")
FLEET = alert(Rule.FLEET_SPACE, number=None, log_dir=None, to="critical", cause=None)
FOR_EVER = {"configs": {"retention.ms": "-1"}, "overridden": frozenset({"retention.ms"})}


def world(
    *parts,
    run=100,
    calm=700,
    free=100,
    mib_per_s=0.022,
    share=0.95,
    known=("run", "calm"),
    status=LogDirStatus.CRITICAL,
    run_topic=None,
    calm_topic=None,
    numbers=(1,),
    **fields,
):
    """Directories that ``run`` fills, in MiB, in which ``calm`` has most of the bytes."""
    source = directory(1, "/d1", (1000 - free) * MIB, growth_bytes_per_s=mib_per_s * MIB, status=status, **fields)
    rates = {"run": share * mib_per_s * MIB, "calm": (1 - share) * mib_per_s * MIB}
    found = [topic("run", numbers, **(run_topic or {})), topic("calm", numbers, **(calm_topic or {}))]
    for number in numbers:
        found += [replace(source, broker=number), replica(number, "/d1", "run", size=run * MIB)]
        found.append(replica(number, "/d1", "calm", size=calm * MIB))
    growth = {((number, "/d1"), (name, 0)): rates[name] for number in numbers for name in known}
    return [*found, *parts], growth


def advised(case, of=None, **decisions):
    parts, growth = case
    known = facts(*parts, growth=growth, decisions=OperatorDecisions(**decisions))
    return recommend(of or space_alert("critical"), known, policy(), NOW_MS)


def order(actions):
    """What slows down or cuts, in order: a topic, with a ``-`` before it where it is kept back."""
    names = {ActionKind.THROTTLE_PRODUCERS: "brake"}
    found = [one for one in actions if one.data_loss or one.kind in names]
    return " ".join(("-" if one.vetoes else "") + names.get(one.kind, str(one.target.get("topic"))) for one in found)


ROWS = [
    ("its own history is enough", world(run=200, mib_per_s=0.02), "brake run"),
    ("it is not: its neighbour's is kept back", world(), "brake run -calm"),
    ("it has none to give", world(run=15), "brake -calm"),
    ("half an hour left: the neighbour's too, behind it", world(free=38), "brake run calm"),
    ("a little more", world(free=42), "brake run -calm"),
    ("a day left", world(run=50, mib_per_s=0.001), "brake run -calm"),
    ("all grow alike: nobody is innocent", world(share=0.5, mib_per_s=0.02), "calm run"),
    ("nearly alike", world(share=0.6, mib_per_s=0.02), "calm run"),
    ("alike in the last hour", world(share=0.5, mib_per_s=0.04), "brake calm run"),
    ("nobody knows who grows", world(known=()), "calm run"),
    ("nor in the last hour", world(known=(), free=60), "brake calm run"),
    ("the rest can only be of the one whose growth is unknown", world(known=("calm",), share=1.0), "brake run -calm"),
    ("what is unknown does not grow by much", world(known=("run",)), "brake run -calm"),
    ("a copy that arrives may be the rest", world(replica(*HERE, "calm", is_future=True), known=("calm",)), ""),
    ("foreign files may be the rest", world(known=("calm",), unaccounted_bytes=120 * MIB), "calm run"),
    ("few of them may not", world(known=("calm",), unaccounted_bytes=50 * MIB), "brake run -calm"),
    ("brokers write it, which no quota limits", world(run_topic={"is_internal": True}), "calm"),
    ("kept for ever, its producers can wait", world(run_topic=FOR_EVER), "brake -calm"),
    ("its neighbour is kept for ever", world(calm_topic=FOR_EVER), "brake run"),
    ("who grows has most of the bytes", world(run=600, calm=200, mib_per_s=0.01), "run"),
    ("and in the last hour", world(run=600, calm=200, mib_per_s=0.03), "brake run"),
    ("only filling", world(status=LogDirStatus.FILLING), "run calm"),
    ("its growth does not last", world(lasting_growth_bytes_per_s=0.0), ""),
    ("there is room beside it", world(directory(1, "/d2"), run=300, calm=500), ""),
]


@pytest.mark.parametrize(("case", "right"), [row[1:] for row in ROWS], ids=[row[0] for row in ROWS])
def test_whoever_fills_a_directory_answers_for_it(case, right):
    assert order(advised(case)) == right


def rejected(kind, **target):
    return ((kind, {"broker": 1, "log_dir": "/d1", **target}),)


@pytest.mark.parametrize(
    ("kind", "target", "right"),
    [
        (ActionKind.THROTTLE_PRODUCERS, {}, "run calm"),
        (ActionKind.LOWER_RETENTION, {"topic": "run"}, "brake -calm"),
        (ActionKind.LOWER_RETENTION, {"topic": "calm"}, "brake run"),
    ],
)
def test_who_refuses_gets_the_next_one(kind, target, right):
    assert order(advised(world(), rejected=rejected(kind, **target))) == right


def test_the_brake_wins_more_than_the_neighbour_would_lose_for():
    actions = advised(world())
    brake = next(one for one in actions if one.kind is ActionKind.THROTTLE_PRODUCERS)
    assert brake.expected["time_to_full_after_ms"] >= 2 * 100 / 0.022 * 1000 - 10
    assert [one["topic"] for one in brake.expected["growing"]] == ["run", "calm"]
    assert "95 % of the growth of 22.5 KiB/s is in run (delete)" in actions[0].reason
    (veto,) = next(one for one in actions if one.target.get("topic") == "calm").vetoes
    assert veto["name"] == "others_grow"
    assert "the growth is in run: throttle its producers first" in veto["reason"]


def test_of_several_new_topics_it_is_said_that_it_is_one_of_them():
    new = [topic("new", (1,)), replica(*HERE, "new", size=30 * MIB)]
    actions = advised(world(*new, known=("calm",), share=1.0))
    brake = next(one for one in actions if one.kind is ActionKind.THROTTLE_PRODUCERS)
    assert "new, run (22.5 KiB/s, one of them or all: their growth is not known yet)" in brake.reason
    assert {one["topic"] for one in brake.expected["growing"]} == {"new", "run"}


ALL = (1, 2, 3)
FLEET_ROWS = [
    ("its neighbour's is kept back", world(numbers=ALL), "brake run -calm"),
    ("three quarters of an hour left", world(numbers=ALL, free=60), "brake run -calm"),
    ("half an hour left", world(numbers=ALL, free=38), "brake run calm"),
    ("its own history is enough", world(numbers=ALL, run=300, calm=500, mib_per_s=0.001, free=140), "brake run"),
    ("it has none to give", world(numbers=ALL, run=15), "brake -calm"),
    ("all grow alike", world(numbers=ALL, share=0.5, mib_per_s=0.02), "calm run"),
    ("alike in the last hour", world(numbers=ALL, share=0.5, mib_per_s=0.04), "brake calm run"),
    ("nobody knows who grows", world(numbers=ALL, known=()), "calm run"),
    ("nor in the last hour", world(numbers=ALL, known=(), free=60), "brake calm run"),
    ("the rest can only be of one", world(numbers=ALL, known=("calm",), share=1.0), "brake run -calm"),
    ("foreign files may be the rest", world(numbers=ALL, known=("calm",), unaccounted_bytes=120 * MIB), "calm run"),
    ("only filling", world(numbers=ALL, status=LogDirStatus.FILLING), "brake run -calm"),
    ("brokers write it", world(numbers=ALL, run_topic={"is_internal": True}), "calm"),
    ("kept for ever", world(numbers=ALL, run_topic=FOR_EVER), "brake -calm"),
    ("nothing grows", world(numbers=ALL, mib_per_s=0.0), ""),
]


@pytest.mark.parametrize(("case", "right"), [row[1:] for row in FLEET_ROWS], ids=[row[0] for row in FLEET_ROWS])
def test_whoever_fills_a_cluster_answers_for_it(case, right):
    assert order(advised(case, FLEET)) == right


def test_a_refused_brake_of_a_cluster_gives_way():
    refused = ((ActionKind.THROTTLE_PRODUCERS, {"broker": None, "log_dir": None}),)
    assert order(advised(world(numbers=ALL), FLEET, rejected=refused)) == "run calm"


def test_the_brake_of_a_cluster_is_the_smallest_that_any_of_its_directories_needs():
    parts, growth = world(numbers=ALL, share=1.0)
    fuller = directory(3, "/d1", 920 * MIB, growth_bytes_per_s=0.022 * MIB, status=LogDirStatus.CRITICAL)
    first, brake, *_ = advised(([*parts, fuller], growth), FLEET)
    assert first.kind is ActionKind.INVESTIGATE
    assert "100 % of the growth of 67.6 KiB/s is in run (delete)" in first.reason
    assert "the cuts, with those that wait for slower producers, free the" in first.reason
    assert brake.target == {"broker": None, "log_dir": None}
    assert "throttle the producers that fill 3 directories, first those that write to /d1 of broker 3" in brake.reason
    assert brake.expected["time_to_full_after_ms"] == pytest.approx(172_800_000, rel=0.05)
