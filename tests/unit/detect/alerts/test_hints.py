"""What an alert's text adds: why a directory goes on filling, and what stands still."""

import pytest

from logdirwatch.detect.alerts import hints
from logdirwatch.detect.state.broker_state import BrokerMemory, LogDirMemory, RemoteCopies
from logdirwatch.model.records import PartitionHealth

GIB = 1 << 30
FAILING = RemoteCopies(since_ms=1_700_000_000_000, failed_ms=1_700_000_000_000, text="timed out")


def directory(**fields):
    return LogDirMemory(total_bytes=1_000 * GIB, usable_bytes=500 * GIB, **fields)


def broker(*, log_dirs=None, **fields):
    return BrokerMemory(cluster="c", broker=1, log_dirs=log_dirs or {"/d1": directory()}, **fields)


def test_nothing_keeps_a_directory_of_a_broker_that_is_well_filling():
    assert list(hints.growth(broker(), directory(), takes_new=True)) == []
    assert hints.kinds_of_growth(broker(), directory()) == []


def test_each_thing_that_keeps_it_filling_is_told_and_has_a_name_that_stays():
    memory = broker(dead_cleaner_threads=1, remote_copies=FAILING)
    stuck = directory(uncleanable={"t-0": 1}, uncleanable_count=3, uncleanable_bytes=GIB)
    assert hints.kinds_of_growth(memory, stuck) == ["dead_cleaner", "remote_copies", "uncleanable"]
    assert list(hints.growth(memory, stuck, takes_new=None)) == [
        "a thread of the broker's log cleaner died: compacted topics may grow indefinitely",
        "its log cleaner gave up on 3 partitions (t-0 among them) with 1 GiB to clean",
        "copies to remote storage fail (since 2023-11-14 22:13:20Z), so local segments stay on the disk (timed out)",
    ]


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, None),
        ({"uncleanable_count": 0}, None),
        ({"uncleanable_count": 1}, "its log cleaner gave up on 1 partition"),
        ({"uncleanable_count": 2}, "its log cleaner gave up on 2 partitions"),
        ({"uncleanable": {"t-0": 1}, "uncleanable_count": 1}, "its log cleaner gave up on t-0"),
        ({"uncleanable_bytes": GIB}, "its log cleaner gave up on partitions with 1 GiB to clean"),
    ],
)
def test_what_the_cleaner_gave_up_on_is_counted_or_named(fields, expected):
    assert hints.uncleanable(directory(**fields)) == expected


def test_a_lag_of_remote_copies_counts_from_a_hundredth_of_what_is_used_on():
    memory = broker(remote_copy_lag_bytes=5 * GIB)
    (told,) = hints.growth(memory, directory(), takes_new=None)
    assert told == "5 GiB on this broker wait to be copied to remote storage, and stay until then"
    memory.remote_copy_lag_bytes = 5 * GIB - 1
    assert list(hints.growth(memory, directory(), takes_new=None)) == []


def test_the_next_new_replica_is_named_where_there_is_a_choice_and_the_cordon_where_there_is_one():
    two = broker(log_dirs={"/d1": directory(), "/d2": directory()})
    told = "Kafka may put the broker's next new replica here"
    assert list(hints.growth(two, directory(), takes_new=True)) == [told]
    assert list(hints.growth(two, directory(is_cordoned=False), takes_new=True)) == [f"{told}: cordon it"]
    assert list(hints.growth(two, directory(), takes_new=None)) == []


def test_of_many_partitions_three_are_named():
    stuck = directory(uncleanable={f"t-{number}": 1 for number in range(5)}, uncleanable_count=7)
    assert hints.uncleanable(stuck) == "its log cleaner gave up on 7 partitions (t-0, t-1, t-2 among them)"


def test_threads_are_counted_and_those_of_the_directory_itself_are_its_own():
    assert hints.dead_cleaner(1) == "a thread of its log cleaner died: compacted topics may grow indefinitely"
    assert hints.dead_cleaner(2, "broker 1's").startswith("2 threads of broker 1's log cleaner died")


@pytest.mark.parametrize(
    ("topics", "groups", "expected"),
    [
        (None, None, ""),
        ([], [], ""),
        (["a"], None, "; impacted: topics a"),
        (["a", "b"], ["g"], "; impacted: topics a, b; consumer groups g"),
    ],
)
def test_impacted_topics_and_groups_are_named_where_they_are_known(topics, groups, expected):
    assert hints.hurt(topics, groups) == expected


def test_what_still_catches_up_after_a_return_is_counted_where_it_is_known():
    assert hints.catching_up(broker()) == ""
    assert hints.catching_up(broker(partitions=PartitionHealth(out_of_sync=0))) == ""
    told = hints.catching_up(broker(partitions=PartitionHealth(out_of_sync=2)))
    assert told == ". 2 replicas still catching up: do not restart another broker yet"
