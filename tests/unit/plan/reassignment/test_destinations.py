"""Which places may take a lost replica, the best first, and why others may not."""

import pytest

from logdirwatch.model.vocabulary import FOLLOWER_THROTTLE, BrokerStatus, LogDirStatus
from logdirwatch.plan.capacity.projected_use import Space
from logdirwatch.plan.reassignment.destinations import Destinations
from tests.unit.plan.builders import MIB, broker, directory, facts, offline


def destinations(*parts, lost_rack=None, rate=None):
    snapshot = facts(*parts)
    return Destinations(snapshot, Space(snapshot), lost_rack, rate)


def ordered(found, size=100 * MIB):
    return [(place.broker, place.path) for place in found.ordered(size)]


def test_the_emptiest_directory_comes_first():
    found = destinations(directory(1, "/a", 300 * MIB), directory(2, "/a", 100 * MIB), directory(2, "/b", 200 * MIB))
    assert ordered(found) == [(2, "/a"), (2, "/b"), (1, "/a")]
    assert [place.ratio for place in found.ordered(100 * MIB)] == pytest.approx([0.2, 0.3, 0.4])


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


@pytest.mark.parametrize(("used", "total"), [(None, 1_000 * MIB), (0, 0)])
def test_a_directory_of_unknown_space_counts_as_full(used, total):
    found = destinations(directory(1, "/a", used, total=total), directory(2, "/a", 850 * MIB))
    assert [(place.broker, place.ratio) for place in found.ordered(100 * MIB)] == [(2, pytest.approx(0.95)), (1, 1.0)]


def test_what_was_taken_counts_for_the_next():
    found = destinations(directory(1, "/a", 100 * MIB), directory(2, "/a", 200 * MIB))
    assert ordered(found)[0] == (1, "/a")
    found.take((1, "/a"), 150 * MIB)
    assert ordered(found)[0] == (2, "/a")
    found.take((2, "/a"), 50 * MIB)
    found.take((2, "/a"), 50 * MIB)
    assert ordered(found)[0] == (1, "/a")


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


def test_where_kafka_chooses_a_marked_directory_closes_the_broker():
    found = destinations(directory(1, "/a"), directory(1, "/b", is_marked=True), offline(1, "/c"))
    assert ordered(found) == []
    assert len(found.refused[1]) == 3


@pytest.mark.parametrize("status", [BrokerStatus.OFFLINE, BrokerStatus.UNKNOWN])
def test_a_broker_that_is_not_alive_has_no_places_and_no_reasons(status):
    found = destinations(directory(1, "/a"), broker(1, status), directory(2, "/a"))
    assert ordered(found) == [(2, "/a")]
    assert 1 not in found.refused
