"""Evacuation: everything leaves, nothing else moves, the rest fills evenly, and the impossible is refused."""

import pytest

from logdirwatch.errors import UserError
from logdirwatch.plan.balance.summary import summarise
from tests.unit.plan.balance.builders import at, cluster, layout, moved, planned, used


def test_everything_goes_to_the_broker_s_other_directories_evenly():
    model = cluster(
        at(1, "/a", t0=300, t1=200, t2=100), at(1, "/b", t3=100), at(1, "/c", t4=200), at(2, "/a", t0=300, t1=200)
    )
    plan = planned(model, "evacuate:1:/a")
    assert used(plan.after) == {(1, "/a"): 0, (1, "/b"): 500, (1, "/c"): 400, (2, "/a"): 500}
    told = summarise(plan)
    assert told.moved.bytes == told.lower_bound.bytes == 600
    assert told.evacuation.max_ratio == 0.5
    assert told.evacuation.best_max_ratio == pytest.approx(0.45)


def test_the_order_of_preference_stays():
    model = cluster(at(1, "/a", t0=300), at(2, "/a", t0=300), at(1, "/b"))
    assert layout(planned(model, "evacuate:1:/a").after) == {("t", 0): [(1, "/b", 300), (2, "/a", 300)]}


def test_internal_topics_go_first_and_empty_replicas_go_as_well():
    model = cluster(at(1, "/a", t0=300, __consumer_offsets0=10, t1=0), at(1, "/b"))
    plan = planned(model, "evacuate:1:/a")
    assert [int(plan.before.replica_bytes[move.replica]) for move in plan.moves] == [10, 300, 0]
    assert used(plan.after)[1, "/a"] == 0
    assert len(plan.moves) == 3


def test_a_larger_directory_takes_more():
    model = cluster(at(1, "/a", **{f"t{n}": 100 for n in range(6)}), at(1, "/b"), at(1, "/c", capacity=2000))
    assert used(planned(model, "evacuate:1:/a").after) == {(1, "/a"): 0, (1, "/b"): 200, (1, "/c"): 400}


def test_what_fits_only_when_packed_closely_is_packed_closely():
    model = cluster(at(1, "/a", t0=400, t1=300, t2=300, t3=300), at(1, "/b", t4=250), at(1, "/c", t5=150))
    assert used(planned(model, "evacuate:1:/a").after) == {(1, "/a"): 0, (1, "/b"): 850, (1, "/c"): 850}


def test_a_directory_that_is_empty_already_needs_no_plan():
    plan = planned(cluster(at(1, "/a"), at(2, "/a", t0=5)), "evacuate:1:/a")
    assert moved(plan) == []
    assert summarise(plan).moved.bytes == 0


@pytest.mark.parametrize(
    ("directories", "reason"),
    [
        ([at(1, "/a", t0=500, t1=400), at(1, "/b", t2=300)], "350 bytes (350 B) are missing"),
        ([at(1, "/a", t0=500)], "500 bytes (500 B) are missing"),
        ([at(1, "/a", t0=500), at(1, "/b", t2=900)], "500 bytes (500 B) are missing"),
        (
            [at(1, "/a", t0=500), at(1, "/b", t2=400), at(1, "/c", t3=400)],
            "500 bytes (500 B) are missing, in one piece for the replica that fits nowhere",
        ),
    ],
    ids=["too little room", "no other directory", "a directory above the limit", "no room in one piece"],
)
def test_the_impossible_is_refused_with_the_bytes_that_are_missing(directories, reason):
    with pytest.raises(UserError) as refused:
        planned(cluster(*directories), "evacuate:1:/a")
    assert reason in str(refused.value)
    assert refused.value.exit_code == 1
    assert "\n" not in str(refused.value)


def test_room_on_other_brokers_does_not_count():
    with pytest.raises(UserError, match="50 bytes"):
        planned(cluster(at(1, "/a", t0=900), at(1, "/b"), at(2, "/a")), "evacuate:1:/a")


def test_what_the_configuration_excludes_makes_it_impossible():
    with pytest.raises(UserError, match="t-0 must not be moved"):
        planned(cluster(at(1, "/a", t0=5), at(1, "/b")), "evacuate:1:/a", never_touch=["t"])


@pytest.mark.parametrize(
    ("mode", "reason"),
    [("evacuate:9:/a", "the model has no broker 9"), ("evacuate:1:/z", "broker 1 has only /a, /b")],
)
def test_a_directory_that_is_not_there_is_wrong_use(mode, reason):
    with pytest.raises(UserError, match=reason) as refused:
        planned(cluster(at(1, "/a"), at(1, "/b")), mode)
    assert refused.value.exit_code == 2
