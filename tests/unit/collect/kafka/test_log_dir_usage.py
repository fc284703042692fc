"""What lies in a directory and what moves in and out of it."""

import pytest

from logdirwatch.collect.kafka.answers import Reassignment
from logdirwatch.collect.kafka.log_dir_usage import DirUsage, is_same_dir, metadata_dir, usages
from tests.unit.collect.builders import log_dir, partition, placement, topic


def test_replicas_and_their_bytes_are_counted():
    dirs = [log_dir("/d1", replicas=[placement(size=100), placement(partition=1, size=50)]), log_dir("/d2")]
    assert usages({1: dirs}, {}) == {
        (1, "/d1"): DirUsage(2, 150, 0, 0, 0),
        (1, "/d2"): DirUsage(0, 0, 0, 0, 0),
    }


def test_a_move_between_directories_comes_and_goes():
    dirs = [
        log_dir("/d1", replicas=[placement(size=100)]),
        log_dir("/d2", replicas=[placement(size=30, is_future=True)]),
    ]
    found = usages({1: dirs}, {})
    assert found[1, "/d1"] == DirUsage(1, 100, 0, 0, 100)
    assert found[1, "/d2"] == DirUsage(0, 30, 30, 70, 0)


def test_a_future_replica_counts_only_against_its_own_broker():
    dirs = {
        1: [log_dir("/d1", replicas=[placement(size=100)])],
        2: [
            log_dir("/d1", replicas=[placement(size=90)]),
            log_dir("/d2", replicas=[placement(size=30, is_future=True)]),
        ],
    }
    found = usages(dirs, {})
    assert found[1, "/d1"].outgoing_bytes == 0
    assert (found[2, "/d1"].outgoing_bytes, found[2, "/d2"].incoming_bytes) == (90, 60)


def test_a_reassignment_comes_to_the_new_broker_and_goes_from_the_old():
    dirs = {
        1: [log_dir("/d1", replicas=[placement(size=100)])],
        2: [log_dir("/d1", replicas=[placement(size=98)])],
        3: [log_dir("/d1", replicas=[placement(size=40)])],
    }
    found = usages(dirs, {("t", 0): Reassignment(adding=(3,), removing=(1,))})
    assert found[3, "/d1"].incoming_bytes == 60
    assert found[1, "/d1"].outgoing_bytes == 100
    assert (found[2, "/d1"].incoming_bytes, found[2, "/d1"].outgoing_bytes) == (0, 0)


def test_moves_are_unknown_when_reassignments_could_not_be_listed():
    found = usages({1: [log_dir("/d1", replicas=[placement(size=100)])]}, None)
    assert (found[1, "/d1"].replica_bytes, found[1, "/d1"].incoming_bytes) == (100, None)


def test_replicas_out_of_sync_are_counted_where_they_lie():
    dirs = {
        1: [log_dir("/d1", replicas=[placement()]), log_dir("/d2", replicas=[placement(partition=1)])],
        2: [
            log_dir("/d1", replicas=[placement(), placement("u"), placement(partition=2)]),
            log_dir("/d2", replicas=[placement(partition=1), placement(is_future=True)]),
        ],
    }
    listed = [
        topic("t", partition(0, isr=(1, 3)), partition(1), partition(2, leader=None, isr=())),
        topic("u", partition(0, isr=(1,))),
    ]
    moving = {("u", 0): Reassignment(adding=(2,), removing=())}
    found = {place: usage.out_of_sync_count for place, usage in usages(dirs, moving, listed).items()}
    assert found == {(1, "/d1"): 0, (1, "/d2"): 0, (2, "/d1"): 1, (2, "/d2"): 0}
    assert usages(dirs, None, listed)[2, "/d1"].out_of_sync_count == 2, "nobody knows what a reassignment adds"


def test_without_topics_nobody_knows_what_is_in_sync():
    found = usages({1: [log_dir("/d1", replicas=[placement()])]}, {})
    assert found[1, "/d1"].out_of_sync_count is None


def test_a_broken_directory_has_no_usage_of_its_own():
    assert usages({1: [log_dir("/d1", error_code=56)]}, {}) == {}


@pytest.mark.parametrize(
    ("configs", "expected"),
    [
        ({"metadata.log.dir": "/meta", "log.dirs": "/d1,/d2"}, "/meta"),
        ({"metadata.log.dir": None, "log.dirs": "/d1, /d2"}, "/d1"),
        ({"log.dirs": None, "log.dir": "/d3"}, "/d3"),
        ({}, None),
    ],
)
def test_the_metadata_log_is_where_kafka_looks_for_it(configs, expected):
    assert metadata_dir(configs) == expected


@pytest.mark.parametrize(
    ("configured", "reported", "same"),
    [
        ("/data/d1", "/data/d1", True),
        ("/data/d1/", "/data/d1", True),
        ("/data/d1", "/data/d10", False),
        ("data/d1", "/opt/kafka/data/d1", True),
        ("data/d1", "/opt/kafka/olddata/d1", False),
    ],
)
def test_a_configured_folder_is_found_under_its_reported_name(configured, reported, same):
    assert is_same_dir(configured, reported) is same


class TestStrays:
    """What a broker lists and the metadata does not assign to it (KAFKA-13972)."""

    LISTED = (topic("t", partition(0, replicas=[2, 3]), partition(1, replicas=[1, 2])),)

    def strays(self, *placements, topics=LISTED, moves=None):
        return usages({1: [log_dir("/d1", replicas=placements)]}, moves, topics)[1, "/d1"].strays

    def test_they_are_named_with_their_bytes_the_largest_first(self):
        found = self.strays(
            placement(size=100),
            placement(partition=1, size=7),
            placement("gone", size=300),
            placement("gone", 1, size=1),
        )
        assert list(found.items()) == [("gone-0", 300), ("t-0", 100), ("gone-1", 1)]

    def test_what_a_reassignment_adds_is_none(self):
        moves = {("t", 0): Reassignment(adding=(1,), removing=(2,))}
        assert self.strays(placement(), moves=moves) == {}

    def test_nobody_knows_where_the_topics_could_not_be_listed(self):
        assert self.strays(placement(), topics=None) is None
        assert self.strays(placement(), topics=()) == {}, "a cluster that lists no topic at all says nothing of any"

    def test_only_so_many_are_named(self):
        assert len(self.strays(*(placement("gone", number) for number in range(30)))) == 20
