"""Directories that are lost or full, from the first alert to the last, mended by the commands that are recommended.

They are pasted as they stand, and the tools are those of the release that is watched.
"""

import pytest

from logdirwatch.local import faults
from logdirwatch.local.fill import Ended, FillWith
from logdirwatch.model.vocabulary import ActionKind, MetadataMode
from tests.scenarios.world import of_broker, of_dir
from tests.unit.plan.builders import MIB

RELEASES = [("3.9.1", MetadataMode.ZOOKEEPER)]
LEVELS = {0.78: "filling", 0.88: "critical", 0.97: "saturated"}
AT_RISK = {("partitions_at_risk", None, None)}


@pytest.fixture(scope="module", params=RELEASES, ids=lambda release: f"{release[0]}-{release[1].value}")
def world(watch, request):
    """One cluster a release, whole again after every chapter."""
    version, metadata = request.param
    return watch(
        brokers=4,
        log_dirs=3,
        log_dir_size_bytes=64 * MIB,
        kafka_version=version,
        metadata=metadata,
    )


@pytest.fixture(autouse=True)
def nothing_false(world):
    """No alert comes up that a chapter does not expect, and none is left."""
    yield
    world.settle()
    world.nothing_else()


def test_lost_directories_page_and_their_replicas_come_back_by_what_is_recommended(world):
    """Two directories at once: what they held is copied elsewhere, and their broker restarted with new ones."""
    lost = [world.log_dir(1, index) for index in (1, 2)]
    world.topic("orders", [1, 2], [1, 2], at=(1, 1))
    world.topic("payments", [1, 3], at=(1, 2))
    world.read_by("readers", "orders", 2)
    world.known("payments", 2, at=(1, 2))
    world.wait_rows("topic_state", lambda rows: {row["groups"] for row in rows} == {1}, "its group", topic="orders")
    world.expects(AT_RISK, of_broker(1), *(of_dir(1, path) for path in lost))
    for index in (1, 2):
        world.cluster.break_log_dir(1, index)
    page = world.wait_alert(rule="log_dir_offline", broker=1, lane="stateful", severity="page", status="firing")
    risk = world.wait_alert(rule="partitions_at_risk", status="firing")
    for told in (page, risk):
        assert told["affected"]["under_min_isr"] >= 3, told
        for name in ("orders", "payments", "readers"):
            assert name in told["summary"], told
    world.paste(world.wait_action(ActionKind.REASSIGN, broker=1))
    world.wait(lambda: not world.out_of_sync(), "all replicas in sync on the brokers that are left")
    world.wait_alert(rule="partitions_at_risk", status="resolved")
    for index in (1, 2):
        faults.repair(world.target(1, index))
    world.paste(world.wait_action(ActionKind.RESTART_BROKER, broker=1))
    ended = world.wait_alert(alert_id=page["alert_id"], status="resolved")
    assert (ended["reason"], ended["to"]) == ("recovered", "online"), ended


def test_a_filling_directory_is_told_of_at_every_level_and_emptied_by_what_is_recommended(world):
    path = world.log_dir(2, 0)
    world.expects({("log_dir_space", 2, path)})
    for ratio, level in LEVELS.items():
        assert world.cluster.fill(2, 0, until_ratio=ratio, partitions=6).ended is Ended.RATIO
        told = world.wait_alert(rule="log_dir_space", broker=2, log_dir=path, to=level, status="firing")
        # It is told while the directory still fills.
        assert told["evidence"]["used_ratio"] == pytest.approx(ratio, abs=0.05)
    assert told["severity"] == "page", told
    critical = next(record for record in world.life(told["alert_id"]) if record["to"] == "critical")
    assert "can wait until morning: no" in critical["summary"], critical
    world.paste(world.wait_action(ActionKind.MOVE_LOG_DIR, broker=2, log_dir=path))
    ended = world.wait_alert(alert_id=told["alert_id"], status="resolved")
    assert (ended["reason"], ended["to"]) == ("recovered", "online")


def test_a_directory_that_ran_full_is_told_of_as_full_and_its_return_too(world):
    """Bytes of no replica take what was left; Kafka writes its checkpoints there once a second."""
    path = world.log_dir(3, 1)
    world.known_topic("clicks", [3, 0], at=(3, 1))
    world.expects({("log_dir_space", 3, path), ("unaccounted_bytes", 3, path)}, of_dir(3, path), of_broker(3), AT_RISK)
    for ratio, level in LEVELS.items():
        assert world.cluster.fill(3, 1, FillWith.FILE, until_ratio=ratio).ended is Ended.RATIO
        world.wait_alert(rule="log_dir_space", broker=3, log_dir=path, to=level, status="firing")
    assert world.cluster.fill(3, 1, FillWith.FILE).ended is Ended.FULL
    told = world.wait_alert(rule="log_dir_offline", broker=3, log_dir=path, cause="full", status="firing")
    assert told["evidence"]["full_by"] == "space", told
    world.restore(3, 1)
    ended = world.wait_alert(alert_id=told["alert_id"], status="resolved")
    assert ended["reason"] == "recovered", ended
    world.wait_alert(rule="log_dir_space", broker=3, log_dir=path, status="resolved")
