"""A failed directory: where its replicas go, and what is said of those that fit nowhere."""

from dataclasses import replace

import pytest

from logdirwatch.model.vocabulary import FOLLOWER_THROTTLE, BrokerStatus, LogDirStatus
from logdirwatch.plan.capacity.projected_use import Space
from logdirwatch.plan.reassignment.replacement_replicas import Destinations, plan_repair, remedies
from tests.unit.plan.builders import MIB, broker, directory, facts, offline, policy, replica, topic


def healthy(*numbers, used=100 * MIB, **fields):
    """Brokers with two directories each, none of them equally full."""
    return [
        directory(number, path, used + number * MIB + index * 7 * MIB, **fields)
        for number in numbers
        for index, path in enumerate(("/d1", "/d2"))
    ]


def placed(repair):
    return {a.label: a.replicas for a in repair.assignments}


def why(repair):
    return {left.label: left.veto.name for left in repair.unplaced}


def test_a_lost_replica_goes_to_a_broker_that_does_not_hold_the_partition():
    found = facts(offline(1), *healthy(2, 3), topic("t", (1, 2)), replica(1, "/d1", "t"), replica(2, "/d1", "t"))
    repair = plan_repair((1, "/d1"), found, policy())
    assert placed(repair) == {"t-0": (3, 2)}
    assert repair.assignments[0].log_dirs == ("/d1", "any")


def test_the_new_replica_takes_the_lost_ones_position_in_the_order_of_preference():
    found = facts(offline(2), *healthy(1, 3, 4), topic("t", (1, 2, 3)), replica(2, "/d1", "t"))
    assert placed(plan_repair((2, "/d1"), found, policy())) == {"t-0": (1, 4, 3)}


def test_racks_that_were_distinct_stay_distinct_though_a_fuller_directory_takes_it():
    racks = [broker(1, rack="a"), broker(2, rack="b"), broker(3, rack="b"), broker(4, rack="a")]
    found = facts(
        *racks,
        offline(1),
        *healthy(2, 3),
        *healthy(4, used=400 * MIB),
        topic("t", (1, 2)),
        replica(1, "/d1", "t"),
    )
    assert placed(plan_repair((1, "/d1"), found, policy())) == {"t-0": (4, 2)}


def test_the_emptiest_directory_is_chosen():
    found = facts(
        offline(1),
        *healthy(2),
        directory(3, "/d1", 500 * MIB),
        directory(3, "/d2", 50 * MIB),
        topic("t", (1, 2)),
        replica(1, "/d1", "t"),
    )
    assert plan_repair((1, "/d1"), found, policy()).assignments[0].directory_of(3) == "/d2"


def test_replicas_spread_as_earlier_ones_fill_the_emptiest():
    partitions = [(1, 2)] * 4
    found = facts(
        offline(1),
        directory(2),
        directory(3, used=100 * MIB),
        directory(4, used=105 * MIB),
        topic("t", *partitions),
        *(replica(1, "/d1", "t", number) for number in range(4)),
    )
    chosen = [replicas[0] for replicas in placed(plan_repair((1, "/d1"), found, policy())).values()]
    assert sorted(chosen) == [3, 3, 4, 4]


def test_a_destination_is_never_filled_above_its_limit():
    found = facts(
        offline(1),
        directory(2),
        directory(3, used=800 * MIB),
        topic("t", (1, 2)),
        replica(1, "/d1", "t"),
    )
    repair = plan_repair((1, "/d1"), found, policy(destination_max_ratio=0.85))
    assert not repair.assignments
    assert why(repair) == {"t-0": "nothing_fits"}
    assert "would fill /d1 on broker 3 to 90.0 %" in repair.unplaced[0].veto.reason


def test_an_empty_replica_is_not_put_where_there_is_no_room_for_more():
    parts = [offline(1), directory(2), directory(3, used=900 * MIB), topic("t", (1, 2)), replica(1, "/d1", "t", size=0)]
    assert why(plan_repair((1, "/d1"), facts(*parts), policy())) == {"t-0": "nothing_fits"}


def test_a_directory_in_which_a_replica_may_be_born_needs_the_room_as_well():
    """Kafka assigns first and places after: the directory with the fewest logs gets it, here the full one."""
    parts = [offline(1), directory(2), topic("t", (1, 2)), replica(1, "/d1", "t")]
    full = directory(3, "/d1", 840 * MIB, replica_count=3)
    empty = directory(3, "/d2", 10 * MIB, replica_count=9)
    assert why(plan_repair((1, "/d1"), facts(*parts, full, empty), policy())) == {"t-0": "nothing_fits"}
    crowded = replace(full, replica_count=90)
    assert placed(plan_repair((1, "/d1"), facts(*parts, crowded, empty), policy())) == {"t-0": (3, 2)}
    cordoned = replace(full, is_cordoned=True)
    assert placed(plan_repair((1, "/d1"), facts(*parts, cordoned, empty), policy())) == {"t-0": (3, 2)}


def test_a_cordoned_directory_is_no_destination():
    found = facts(
        offline(1),
        directory(2),
        directory(3, is_cordoned=True),
        topic("t", (1, 2)),
        replica(1, "/d1", "t"),
    )
    assert why(plan_repair((1, "/d1"), found, policy())) == {"t-0": "nothing_fits"}


def test_a_marked_directory_is_no_destination_and_another_of_its_broker_is():
    parts = [offline(1), directory(2), topic("t", (1, 2)), replica(1, "/d1", "t")]
    marked, other = directory(3, is_marked=True), directory(3, "/d2", 50 * MIB)
    (refused,) = plan_repair((1, "/d1"), facts(*parts, marked), policy()).unplaced
    assert "plan.log_dirs says that /d1 on broker 3 is no destination" in refused.veto.reason
    repair = plan_repair((1, "/d1"), facts(*parts, marked, other), policy())
    assert repair.assignments[0].directory_of(3) == "/d2"


def test_a_degraded_broker_chooses_itself_so_it_takes_nothing_while_it_may_choose_a_marked_directory():
    parts = [offline(1), directory(2), offline(3, "/d1"), topic("t", (1, 2)), replica(1, "/d1", "t")]
    marked, other = directory(3, "/d2", 50 * MIB, is_marked=True), directory(3, "/d3", 60 * MIB)
    (refused,) = plan_repair((1, "/d1"), facts(*parts, marked, other), policy()).unplaced
    assert "Kafka itself may choose /d2 on broker 3" in refused.veto.reason
    cordoned = replace(marked, is_cordoned=True)
    assert placed(plan_repair((1, "/d1"), facts(*parts, cordoned, other), policy())) == {"t-0": (3, 2)}


def test_on_a_degraded_broker_only_any_is_asked_for():
    found = facts(
        offline(1),
        directory(2),
        offline(3, "/d1"),
        directory(3, "/d2", 50 * MIB),
        topic("t", (1, 2)),
        replica(1, "/d1", "t"),
    )
    assert plan_repair((1, "/d1"), found, policy()).assignments[0].log_dirs == ("any", "any")


def test_brokers_that_are_not_alive_are_no_destination_and_may_not_be_named():
    dead = broker(3, BrokerStatus.OFFLINE)
    found = facts(
        dead,
        offline(1),
        *healthy(2, 3),
        topic("t", (1, 2), (1, 2, 3)),
        replica(1, "/d1", "t", 0),
        replica(1, "/d1", "t", 1),
    )
    repair = plan_repair((1, "/d1"), found, policy())
    assert not repair.assignments
    assert why(repair) == {"t-0": "nothing_fits", "t-1": "broker_not_alive"}
    assert all("broker 3 is not known to be alive" in left.veto.reason for left in repair.unplaced)


def test_when_the_replication_factor_is_the_number_of_brokers_nothing_fits():
    found = facts(offline(1), *healthy(2, 3), topic("t", (1, 2, 3)), replica(1, "/d1", "t"))
    assert why(plan_repair((1, "/d1"), found, policy())) == {"t-0": "no_broker_left"}


def test_a_partition_without_another_in_sync_replica_cannot_be_rebuilt():
    found = facts(
        offline(1),
        *healthy(2, 3),
        topic("t", (1, 2), isr={0: (1,)}, leaderless=[0]),
        replica(1, "/d1", "t"),
    )
    assert why(plan_repair((1, "/d1"), found, policy())) == {"t-0": "no_live_source"}


def test_what_the_configuration_or_another_action_holds_is_left_alone():
    parts = [offline(1), *healthy(2, 3), topic("t", (1, 2)), replica(1, "/d1", "t")]
    assert why(plan_repair((1, "/d1"), facts(*parts), policy(never_touch=("t*",)))) == {"t-0": "never_touch"}
    claimed = facts(*parts, claimed=frozenset({("t", 0)}))
    assert why(plan_repair((1, "/d1"), claimed, policy())) == {"t-0": "partition_claimed"}
    moving = facts(*parts, replica(2, "/d2", "t", is_future=True, size=MIB))
    assert why(plan_repair((1, "/d1"), moving, policy())) == {"t-0": "partition_moving"}
    others = facts(*parts[:-2], topic("t", (1, 2), reassigned=[0]), parts[-1])
    assert why(plan_repair((1, "/d1"), others, policy())) == {"t-0": "partition_moving"}, "somebody else's"


def test_an_unknown_size_is_not_planned_with():
    found = facts(offline(1), *healthy(2, 3), topic("t", (1, 2)), replica(1, "/d1", "t", size=None))
    assert why(plan_repair((1, "/d1"), found, policy())) == {"t-0": "size_unknown"}


def test_the_leaders_size_counts_not_that_of_a_lost_replica_that_lagged():
    found = facts(
        offline(1),
        *healthy(2, 3),
        topic("t", (1, 2), isr={0: (2,)}),
        replica(1, "/d1", "t", size=MIB),
        replica(2, "/d1", "t", size=300 * MIB),
    )
    assert sum(plan_repair((1, "/d1"), found, policy()).bytes_in.values()) == 300 * MIB


def test_an_unknown_destination_is_not_taken_for_an_empty_one():
    unseen = directory(3, used=None, status=LogDirStatus.UNKNOWN)
    found = facts(offline(1), directory(2), unseen, topic("t", (1, 2)), replica(1, "/d1", "t"))
    assert why(plan_repair((1, "/d1"), found, policy())) == {"t-0": "nothing_fits"}


def test_a_destination_that_grows_full_during_the_copy_is_none():
    parts = [offline(1), directory(2), topic("t", (1, 2)), replica(1, "/d1", "t")]
    slow = policy(replication_throttle_bytes_per_s=MIB)
    full_by_then = directory(3, used=400 * MIB, growth_bytes_per_s=4.0 * MIB)
    (left,) = plan_repair((1, "/d1"), facts(*parts, full_by_then), slow).unplaced
    assert "500 MiB more would fill /d1 on broker 3 to 90.0 %" in left.veto.reason
    fits_yet = replace(full_by_then, growth_bytes_per_s=3.0 * MIB)
    assert placed(plan_repair((1, "/d1"), facts(*parts, fits_yet), slow)) == {"t-0": (3, 2)}
    assert placed(plan_repair((1, "/d1"), facts(*parts, full_by_then), policy())) == {"t-0": (3, 2)}, "a quick copy"


def written(number, path, name, partition=0, rate=0.0):
    return {((number, path), (name, partition)): rate}


def test_what_is_written_as_fast_as_it_is_copied_never_gets_in_sync():
    parts = [offline(1), *healthy(2, 3), topic("t", (1, 2)), replica(1, "/d1", "t"), replica(2, "/d1", "t")]
    found = facts(*parts, growth=written(2, "/d1", "t", rate=9e7))
    repair = plan_repair((1, "/d1"), found, policy())
    assert why(repair) == {"t-0": "slower_than_writes"}
    assert remedies(repair) == ["a higher plan.replication_throttle_bytes_per_s, or fewer writes"]
    quick = policy(replication_throttle_bytes_per_s=100_000_000)
    assert placed(plan_repair((1, "/d1"), found, quick)) == {"t-0": (3, 2)}


def led_by(*leaders, brokers):
    """Partitions with replicas on brokers 1, 2 and 3, each written at 20 MB/s; /d1 of broker 1 is lost."""
    orders = [(leader, 5 - leader, 1) for leader in leaders]
    parts = [offline(1), *healthy(2, 3, *brokers), topic("t", *orders)]
    parts += [replica(n, "/d1", "t", part, MIB) for part in range(len(orders)) for n in (1, 2, 3)]
    growth = [written(leader, "/d1", "t", part, 2e7) for part, leader in enumerate(leaders)]
    return facts(*parts, growth={key: rate for one in growth for key, rate in one.items()})


def test_copies_share_the_limit_of_the_broker_that_receives_them():
    assert why(plan_repair((1, "/d1"), led_by(2, 3, 2, brokers=[4]), policy())) == {"t-2": "slower_than_writes"}
    assert why(plan_repair((1, "/d1"), led_by(2, 3, 2, brokers=[4, 5]), policy())) == {}


def test_copies_share_the_limit_of_the_broker_that_sends_them():
    found = led_by(2, 2, 2, brokers=[4, 5])
    assert why(plan_repair((1, "/d1"), found, policy())) == {"t-2": "slower_than_writes"}
    gone = replace(found, brokers=found.brokers | {1: broker(1, BrokerStatus.OFFLINE)})
    assert why(plan_repair((1, "/d1"), gone, policy())) == {}, "off a broker that is away only arrivals are limited"


def test_copies_that_run_already_count():
    """A follower that is catching up will still take 300 MiB of its directory."""
    found = facts(
        offline(1),
        directory(2),
        directory(3, used=500 * MIB),
        topic("t", (1, 2)),
        topic("other", (2, 3), isr={0: (2,)}),
        replica(1, "/d1", "t"),
        replica(2, "/d1", "other", size=300 * MIB),
        replica(3, "/d1", "other", size=0),
    )
    assert why(plan_repair((1, "/d1"), found, policy())) == {"t-0": "nothing_fits"}


def destinations(*parts, lost_rack=None, rate=None):
    snapshot = facts(*parts)
    return Destinations(snapshot, Space(snapshot), lost_rack, rate)


def ordered(found, size=100 * MIB):
    return [(place.broker, place.path) for place in found.ordered(size)]


def test_how_full_it_would_be_decides_and_not_how_many_bytes_are_free():
    found = destinations(directory(1, "/a", 500 * MIB, total=5_000 * MIB), directory(2, "/a", 90 * MIB))
    assert ordered(found, 0) == [(2, "/a"), (1, "/a")]
    assert ordered(found, 100 * MIB) == [(1, "/a"), (2, "/a")]


def test_the_rack_that_lost_it_comes_first_and_a_metadata_log_last_of_each_rack():
    parts = [
        directory(1, "/a", 100 * MIB),
        directory(2, "/a", 800 * MIB),
        directory(3, "/a", 200 * MIB, is_metadata_dir=True),
        directory(4, "/a", 100 * MIB, is_metadata_dir=True),
        directory(5, "/a", 300 * MIB, is_metadata_dir=None),
    ]
    racks = {1: "r1", 2: "r2", 3: "r2", 4: "r1", 5: "r1"}
    found = destinations(*parts, *(broker(number, rack=rack) for number, rack in racks.items()), lost_rack="r2")
    assert ordered(found) == [(2, "/a"), (3, "/a"), (1, "/a"), (5, "/a"), (4, "/a")]


@pytest.mark.parametrize(("limit", "first"), [("8000", 2), ("4999999", 2), ("5000000", 1), (str(2**63 - 1), 1)])
def test_a_broker_that_somebody_else_slows_down_comes_last(limit, first):
    parts = directory(1, "/a", 100 * MIB), directory(2, "/a", 300 * MIB)
    racks = broker(1, rack="r1", **{FOLLOWER_THROTTLE: limit}), broker(2, rack="r2")
    found = destinations(*parts, *racks, lost_rack="r1", rate=5_000_000)
    assert [place.broker for place in found.ordered(100 * MIB)] == [first, 3 - first]


def test_a_broker_with_a_suspect_disk_comes_last():
    parts = directory(1, "/a", 10 * MIB), directory(2, "/a", 300 * MIB), replace(broker(1), is_suspect=True)
    assert ordered(destinations(*parts)) == [(2, "/a"), (1, "/a")]


@pytest.mark.parametrize(("used", "total"), [(None, 1_000 * MIB), (0, 0)])
def test_a_directory_of_unknown_space_counts_as_full(used, total):
    found = destinations(directory(1, "/a", used, total=total), directory(2, "/a", 850 * MIB))
    assert [(place.broker, place.ratio) for place in found.ordered(100 * MIB)] == [(2, pytest.approx(0.95)), (1, 1.0)]


def test_of_a_broker_with_a_bad_directory_no_path_can_be_named_and_it_comes_last():
    bad = [directory(1, "/a", 10 * MIB), directory(1, "/c", 400 * MIB), offline(1, "/b")]
    worse = [directory(3, "/a", 600 * MIB), offline(3, "/b")]
    found = destinations(*bad, *worse, directory(2, "/a", 800 * MIB))
    assert ordered(found) == [(2, "/a"), (1, None), (3, None)]
    ratios = {place.broker: place.ratio for place in found.ordered(100 * MIB)}
    assert ratios == pytest.approx({2: 0.9, 1: 0.5, 3: 0.7}), "the fullest one, since Kafka chooses"


def test_of_brokers_with_a_bad_directory_the_rack_comes_before_the_fill():
    parts = [directory(1, "/a", 10 * MIB), offline(1, "/b"), directory(2, "/a", 700 * MIB), offline(2, "/b")]
    racks = [broker(1, BrokerStatus.DEGRADED, rack="r1"), broker(2, BrokerStatus.DEGRADED, rack="r2")]
    assert ordered(destinations(*parts, *racks, lost_rack="r2")) == [(2, None), (1, None)]


@pytest.mark.parametrize(
    ("parts", "why"),
    [
        ([directory(1, "/b", is_cordoned=True)], ["destination_cordoned"]),
        ([directory(1, "/b", is_suspect=True)], ["destination_suspect"]),
        ([directory(1, "/b", is_marked=True)], ["destination_marked"]),
    ],
)
def test_a_closed_directory_is_refused_with_its_reason(parts, why):
    found = destinations(directory(1, "/a"), *parts)
    assert ordered(found) == [(1, "/a")]
    assert [veto.name for veto in found.refused[1]] == why


@pytest.mark.parametrize("status", [LogDirStatus.OFFLINE, LogDirStatus.UNKNOWN])
def test_a_directory_that_does_not_serve_is_refused(status):
    found = destinations(directory(1, "/a"), directory(1, "/b", status=status))
    assert ordered(found) == [(1, None)]
    assert [veto.name for veto in found.refused[1]] == ["destination_not_serving"]
