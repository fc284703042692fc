"""What a plan costs and brings, as an operator reads it before accepting it."""

import pytest

from logdirwatch.plan.balance.summary import Fills, summarise
from tests.unit.plan.balance.builders import at, cluster, planned

MB = 10**6


def summary(*directories, mode="balance-disks", tolerance=0.09, **limits):
    return summarise(planned(cluster(*directories), mode, tolerance, **limits))


def fills(most, least, spread):
    return Fills(max_ratio=pytest.approx(most), min_ratio=pytest.approx(least), spread_ratio=pytest.approx(spread))


def test_a_balanced_cluster_costs_nothing():
    told = summary(at(1, "/a", t0=500), at(1, "/b", t1=500))
    assert (told.mode, told.tolerance_ratio, told.about, told.evacuation) == ("balance-disks", 0.09, None, None)
    assert (told.moved.replicas, told.moved.bytes, told.moved.waves, told.moved.needs_ms) == (0, 0, 0, 0)
    assert (told.lower_bound.bytes, told.lower_bound.in_racks_bytes, told.outside) == (0, 0, [])
    assert told.directories.before == told.directories.after == fills(0.5, 0.5, 0.0)


def test_moves_within_a_broker_are_counted_apart_from_those_between():
    told = summary(at(1, "/a", t0=300, t1=100), at(1, "/b", t2=200))
    moved = told.moved
    assert (moved.replicas, moved.bytes, moved.within_brokers_bytes, moved.between_brokers_bytes) == (1, 100, 100, 0)
    assert (moved.leaders, moved.waves) == (0, 1), "a leader that stays on its broker keeps leading"
    between = summary(at(1, t0=400, t1=200), at(2, t2=400), at(3, t3=200), mode="balance-brokers").moved
    found = between.replicas, between.bytes, between.within_brokers_bytes, between.between_brokers_bytes
    assert found == (1, 200, 0, 200)
    assert between.leaders == 1


def test_fills_before_and_after_of_directories_and_brokers():
    told = summary(at(1, "/a", t0=300, t1=100), at(1, "/b", t2=200), at(2, "/a", u0=500, capacity=2000))
    assert told.directories.before == fills(0.4, 0.2, 0.0849836585598797)
    assert told.directories.after == fills(0.3, 0.25, 0.02357022603955158)
    assert told.brokers.before == told.brokers.after == fills(0.3, 0.25, 0.025)


def test_the_bound_is_what_any_plan_must_copy():
    told = summary(at(1, "/a", **{f"t{n}": 10 for n in range(70)}), at(1, "/b", u0=300))
    assert (told.lower_bound.bytes, told.lower_bound.in_racks_bytes) == (155, 155)
    of_disks = summary(at(1, "/a", t0=100), at(1, "/b", t1=100), at(2, "/a", t2=800), at(2, "/b", t3=800))
    assert of_disks.lower_bound.bytes == 0, "each broker has a mean of its own"


def test_an_evacuation_names_the_fullest_directory_that_is_kept():
    told = summary(at(1, "/a", t0=300, t1=100), at(1, "/b", t2=200), at(1, "/c", t3=100), mode="evacuate:1:/a")
    assert (told.lower_bound.bytes, told.lower_bound.in_racks_bytes, told.moved.bytes) == (400, 400, 400)
    assert told.evacuation.max_ratio == pytest.approx(0.4)
    assert told.evacuation.best_max_ratio == pytest.approx(0.4), "the largest replica goes to the emptiest"
    assert told.outside == [], "it brings nothing within a tolerance"


@pytest.mark.parametrize("mode", ["balance-disks", "balance-brokers", "balance-all", "evacuate:1:/a"])
def test_no_plan_does_what_no_plan_may(mode):
    told = summary(
        at(1, "/a", t0=100, t1=100, __internal0=50),
        at(1, "/b", t2=300),
        at(2, "/a", t0=100, t1=100),
        at(3, "/a", __internal0=50),
        mode=mode,
    )
    wrong = told.violations
    assert wrong.partitions_twice_on_a_broker == 0
    assert wrong.partitions_on_fewer_racks == 0
    assert wrong.directories_over_limit == 0
    assert wrong.internal_replicas_balanced == 0


def test_what_stays_outside_is_named_with_its_own_mean():
    told = summary(at(1, "/a", t0=600), at(1, "/b", t1=200), at(2, "/a", t2=100), at(2, "/b", t3=100))
    found = [(one.broker, one.log_dir, one.used_ratio, one.mean_ratio, one.off_bytes) for one in told.outside]
    assert found == [(1, "/a", 0.6, 0.4, 164), (1, "/b", 0.2, 0.4, 164)]
    everywhere = summary(at(1, "/a", t0=600), at(2, "/a", t1=200), mode="balance-all")
    assert [(one.broker, one.log_dir, one.mean_ratio) for one in everywhere.outside] == [(1, "/a", 0.4), (2, "/a", 0.4)]
    brokers = summary(at(1, "/a", t0=600), at(2, "/a", t1=200), mode="balance-brokers")
    assert [(one.broker, one.log_dir, one.used_ratio) for one in brokers.outside] == [(1, None, 0.6), (2, None, 0.2)]
    assert {one.reason.partition(" ")[0] for one in brokers.outside} == {"no"}


def test_the_time_needed_is_that_of_the_copies_at_the_limit():
    limits = {"log_dir_throttle_bytes_per_s": MB}
    told = summary(at(1, "/a", 1_000 * MB, t0=300 * MB, t1=100 * MB), at(1, "/b", 1_000 * MB, t2=200 * MB), **limits)
    assert told.moved.bytes == 100 * MB
    assert told.moved.needs_ms == 100_000 + 60_000, "and the delay after which Kafka deletes the source"
