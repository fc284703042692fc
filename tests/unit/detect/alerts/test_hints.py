"""What an alert's text adds: why a directory goes on filling, and what stands still."""

from logdirwatch.detect.alerts import hints
from logdirwatch.detect.state.broker_state import BrokerMemory, LogDirMemory, RemoteCopies

GIB = 1 << 30
FAILING = RemoteCopies(since_ms=1_700_000_000_000, failed_ms=1_700_000_000_000, text="timed out")


def directory(**fields):
    return LogDirMemory(total_bytes=1_000 * GIB, usable_bytes=500 * GIB, **fields)


def broker(*, log_dirs=None, **fields):
    return BrokerMemory(cluster="c", broker=1, log_dirs=log_dirs or {"/d1": directory()}, **fields)


def test_each_thing_that_keeps_it_filling_is_told_and_has_a_name_that_stays():
    memory = broker(dead_cleaner_threads=1, remote_copies=FAILING)
    stuck = directory(uncleanable={"t-0": 1}, uncleanable_count=3, uncleanable_bytes=GIB)
    assert hints.kinds_of_growth(memory, stuck) == ["dead_cleaner", "remote_copies", "uncleanable"]
    assert list(hints.growth(memory, stuck, takes_new=None)) == [
        "a thread of the broker's log cleaner died: compacted topics may grow indefinitely",
        "its log cleaner gave up on 3 partitions (t-0 among them) with 1 GiB to clean",
        "copies to remote storage fail (since 2023-11-14 22:13:20Z), so local segments stay on the disk (timed out)",
    ]


def test_a_lag_of_remote_copies_counts_from_a_hundredth_of_what_is_used_on():
    memory = broker(remote_copy_lag_bytes=5 * GIB)
    (told,) = hints.growth(memory, directory(), takes_new=None)
    assert told == "5 GiB on this broker wait to be copied to remote storage, and stay until then"
    memory.remote_copy_lag_bytes = 5 * GIB - 1
    assert list(hints.growth(memory, directory(), takes_new=None)) == []


def test_of_many_partitions_three_are_named():
    stuck = directory(uncleanable={f"t-{number}": 1 for number in range(5)}, uncleanable_count=7)
    assert hints.uncleanable(stuck) == "its log cleaner gave up on 7 partitions (t-0, t-1, t-2 among them)"
