"""May a bad directory leave log.dirs: whether the good ones can hold its replicas, and what stands against it."""

import msgspec
import pytest

from logdirwatch.model.vocabulary import BrokerStatus, LogDirStatus, MetadataMode
from logdirwatch.plan.cluster.snapshot import Broker
from logdirwatch.plan.reassignment.log_dir_removal import leaving
from tests.unit.plan.builders import MIB, SIZE, directory, facts, offline, policy, replica, topic

KNOWN = {"is_metadata_dir": False}


def bad(**fields):
    return offline(1, "/d1", **(KNOWN | fields))


def good(path, used=100 * MIB, **fields):
    return directory(1, path, used, **(KNOWN | fields))


def holding(*sizes):
    """Topics with a replica in the bad directory, by size."""
    parts = []
    for number, size in enumerate(sizes):
        name = f"t{number}"
        parts += [topic(name, [1, 2]), replica(1, "/d1", name, size=size), replica(2, "/x", name, size=size)]
    return parts


def judged(source, *parts, limit=0.9):
    snapshot = facts(source, directory(2, "/x"), *parts)
    lost = [snapshot.partitions[replica.key] for replica in snapshot.replicas_in(source.place)]
    return leaving(source, lost, snapshot, policy(destination_max_ratio=limit))


@pytest.mark.parametrize(
    ("sizes", "fits", "missing"),
    [
        ([], True, 0),
        ([800 * MIB], True, 0),  # up to the limit of 90 %
        ([800 * MIB + 1], False, 1),
        ([300 * MIB, 500 * MIB], True, 0),
        ([300 * MIB, 500 * MIB + 1], False, 1),
    ],
)
def test_the_good_directory_must_hold_what_the_bad_one_holds(sizes, fits, missing):
    found = judged(bad(), good("/d2"), *holding(*sizes))
    assert (found.fits, found.replicas, found.needs_bytes, found.missing_bytes) == (
        fits,
        len(sizes),
        sum(sizes),
        missing,
    )
    assert (found.why_not is None) is fits


def test_wherever_kafka_makes_them_they_must_have_room():
    found = judged(bad(), good("/d2"), good("/d3", 800 * MIB, total=SIZE), *holding(300 * MIB, 300 * MIB))
    assert found.fits is False
    assert found.missing_bytes == 0, "together there is room, but not wherever Kafka chooses"


@pytest.mark.parametrize(
    ("source", "parts", "fits", "why"),
    [
        (bad(is_metadata_dir=True), [good("/d2")], False, "metadata_dir"),
        (bad(), [], False, "no_directory"),
        (bad(), [good("/d2"), offline(1, "/d3", **KNOWN)], False, "log_dir_offline"),
        (bad(), [good("/d2"), good("/d3", status=LogDirStatus.UNKNOWN)], None, "log_dir_unknown"),
        (
            bad(),
            [good("/d2"), offline(1, "/d3", **KNOWN), good("/d4", status=LogDirStatus.UNKNOWN)],
            False,
            "log_dir_offline",
        ),
        (bad(is_metadata_dir=None), [good("/d2")], None, "metadata_dir_unknown"),
        (bad(), [good("/d2", None), *holding(1)], None, "destination_space_unknown"),
        (bad(), [good("/d2"), *holding(None)], None, "size_unknown"),
        (bad(), [good("/d2", is_cordoned=True), *holding(1)], False, "no_directory"),
    ],
)
def test_what_stands_against_it(source, parts, fits, why):
    found = judged(source, *parts)
    assert (found.fits, found.why_not.name, found.missing_bytes if fits is None else None) == (fits, why, None)


@pytest.mark.parametrize("is_metadata_dir", [True, None])
def test_a_broker_on_zookeeper_has_no_metadata_log(is_metadata_dir):
    source = bad(is_metadata_dir=is_metadata_dir)
    found = judged(source, good("/d2"), Broker(1, BrokerStatus.DEGRADED, metadata_mode=MetadataMode.ZOOKEEPER))
    assert (found.fits, found.why_not) == (True, None)


@pytest.mark.parametrize(
    ("others", "missing"),
    [
        ([good("/d2")], 1_200),
        ([good("/d2"), good("/d3", 500 * MIB)], 800),
        ([good("/d2", 950 * MIB)], 2_000),  # above the limit there is no room, and no less than none
        ([good("/d2", volume="v"), good("/d3", volume="v")], 1_200),  # one volume
        ([good("/d2"), good("/d3", 200 * MIB, is_cordoned=True)], 1_200),
    ],
)
def test_what_is_missing_counts_the_room_of_all_good_directories_once(others, missing):
    found = judged(bad(), *others, *holding(2_000 * MIB))
    assert (found.fits, found.missing_bytes) == (False, missing * MIB)


def test_it_reads_as_an_action_carries_it():
    fits = msgspec.to_builtins(judged(bad(), good("/d2"), *holding(MIB)))
    assert fits == {"fits": True, "replicas": 1, "needs_bytes": MIB, "missing_bytes": 0, "why_not": None}
    why_not = msgspec.to_builtins(judged(bad(), *holding(MIB)))["why_not"]
    assert why_not["name"] == "no_directory"
