"""What a look shows beside alerts, and that each finding has evidence."""

import pytest

from logdirwatch.alone.look import noticed
from logdirwatch.model.vocabulary import FOLLOWER_THROTTLE, THROTTLED_FOLLOWERS, LogDirStatus
from tests.unit.plan import builders as b

FULL = 900 * b.MIB


def texts(*parts):
    return [one.text for one in noticed(b.facts(*parts), b.policy())]


def cluster(*, used=100 * b.MIB, held=90 * b.MIB, configs=None, topic=None, **fields):
    """Two brokers; the first directory is ``used``, of which a replica holds ``held``."""
    return (
        b.broker(1, **(configs or {})),
        b.broker(2),
        b.directory(1, "/d1", used, **fields),
        b.directory(2, "/d2", 50 * b.MIB, total=2 * b.SIZE),
        b.topic("t", [1, 2], **(topic or {})),
        b.replica(1, "/d1", "t", size=held),
        b.replica(2, "/d2", "t", size=held),
    )


@pytest.mark.parametrize(
    ("parts", "found"),
    [
        (cluster(), []),
        (cluster(used=FULL, held=90 * b.MIB), ["810 MiB of"]),
        (cluster(used=FULL, held=None), []),
        (cluster(used=FULL, held=880 * b.MIB), []),
        (cluster(used=FULL, held=90 * b.MIB, status=LogDirStatus.OFFLINE), []),
        (cluster(configs={FOLLOWER_THROTTLE: "1000"}), ["throttles are set and nothing is reassigned: broker 1"]),
        (cluster(topic={"configs": {THROTTLED_FOLLOWERS: "0:1"}}), ["throttles are set"]),
        (cluster(is_cordoned=True), ["no new replicas are placed in /d1 of broker 1"]),
        (cluster(topic={"isr": {0: [1]}}), ["1 partition has one replica in sync (100 %): t-0"]),
    ],
    ids=["well", "foreign", "unsized", "explained", "offline", "broker", "topic", "cordoned", "last copy"],
)
def test_a_finding_has_its_evidence(parts, found):
    told = texts(*parts)
    assert len(told) == len(found)
    assert all(text.startswith(start) for text, start in zip(told, found, strict=True)), told


def test_a_throttle_of_a_running_move_is_no_finding():
    moving = b.replica(1, "/d1", "t", size=1, is_future=True)
    assert texts(*cluster(configs={FOLLOWER_THROTTLE: "1000"}), moving) == []
