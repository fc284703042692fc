"""How fast replicas grow, told from one inventory to the next."""

import pytest

from logdirwatch.plan.cluster.growth import Growth
from tests.unit.plan.builders import MIB, NOW_MS, directory, facts, replica, topic

MINUTE = 60_000


def seen(size, *, minute, path="/d1", **fields):
    kind = topic("t", (1, 2), isr={0: fields.pop("isr", (1, 2))})
    parts = [directory(1, "/d1"), directory(1, "/d2"), directory(2), kind]
    return facts(*parts, replica(1, path, "t", size=size, **fields), inventory_at_ms=NOW_MS + minute * MINUTE)


def rate(found, path="/d1"):
    return found.growth.get(((1, path), ("t", 0)))


def test_one_inventory_tells_no_rate():
    assert rate(Growth().taught(seen(100, minute=0))) is None


def test_two_tell_the_bytes_per_second_between_them():
    growth = Growth()
    growth.taught(seen(0, minute=0))
    assert rate(growth.taught(seen(60 * MIB, minute=1))) == MIB


def test_the_same_inventory_again_tells_nothing_new():
    growth = Growth()
    growth.taught(seen(0, minute=0))
    growth.taught(seen(60 * MIB, minute=1))
    assert rate(growth.taught(seen(60 * MIB, minute=1))) == MIB


def test_the_newest_pair_counts_for_half():
    growth = Growth()
    for minute, size in enumerate((0, 60 * MIB, 180 * MIB)):
        found = growth.taught(seen(size, minute=minute))
    assert rate(found) == 1.5 * MIB


def test_a_replica_that_shrank_keeps_the_rate_that_it_had():
    growth = Growth()
    for minute, size in enumerate((0, 60 * MIB, 5 * MIB)):
        found = growth.taught(seen(size, minute=minute))
    assert rate(found) == MIB


@pytest.mark.parametrize("fields", [{"is_future": True}, {"isr": (2,)}, {"path": "/d2"}, {"size": None}])
def test_what_is_copied_or_moved_or_not_measured_tells_no_rate(fields):
    growth = Growth()
    growth.taught(seen(0, minute=0))
    found = growth.taught(seen(**({"size": 60 * MIB, "minute": 1} | fields)))
    assert rate(found, fields.get("path", "/d1")) is None


def test_clusters_are_kept_apart_and_what_was_never_scanned_stays_so():
    growth = Growth()
    growth.taught(seen(0, minute=0))
    other = facts(
        directory(1), topic("t", (1,)), replica(1, "/d1", "t", size=9), cluster="d", inventory_at_ms=NOW_MS + MINUTE
    )
    assert rate(growth.taught(other)) is None
    assert growth.taught(facts(directory(1), inventory_at_ms=None)).growth == {}
