"""Directories that are lost or full, from the first alert to the last, mended by the commands that are recommended.

They are pasted as they stand, and the tools are those of the release that is watched.
"""

import pytest

from logdirwatch.model.capabilities import is_reported
from logdirwatch.model.vocabulary import ActionKind, NotReported
from logdirwatch.reference.support import STORY_KAFKA, TESTED_KAFKA
from logdirwatch_lab import faults
from logdirwatch_lab.fill import Ended, FillWith
from tests.scenarios.world import of_broker, of_dir
from tests.unit.plan.builders import MIB

LEVEL_OF_APPLY = 0.88
LEVELS = {0.78: "filling", 0.88: "critical", 0.97: "saturated"}
AT_RISK = {("partitions_at_risk", None, None)}


@pytest.fixture(
    scope="module",
    params=[
        pytest.param(one, id=f"{one[0]}-{one[1].value}", marks=() if one in STORY_KAFKA else pytest.mark.release)
        for one in TESTED_KAFKA
    ],
)
def world(watch, request):
    """One cluster a release, whole again after every chapter.

    Where Kafka does not report the size of directories, ``watch-host`` runs on the brokers.
    """
    version, metadata = request.param
    return watch(
        brokers=4,
        log_dirs=3,
        log_dir_size_bytes=64 * MIB,
        kafka_version=version,
        metadata=metadata,
        has_hosts=not is_reported(NotReported.CAPACITY, version.rpartition(".")[0], metadata),
    )


def full_by_space(world, path):
    """The alert of an offline directory, if it fires and says that no space was left."""
    fires = [one for one in world.alerts() if one["rule"] == "log_dir_offline" and one["status"] == "firing"]
    return next((one for one in fires if (one["log_dir"], one["evidence"].get("full_by")) == (path, "space")), None)


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
    world.expects(
        AT_RISK, of_broker(1), *(of_dir(1, path) for path in lost), world.suspects(*((1, path) for path in lost))
    )
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
    world.expects({("log_dir_space", 2, path)}, world.suspects((2, path)))
    for ratio, level in LEVELS.items():
        assert world.cluster.fill(2, 0, until_ratio=ratio, partitions=6).ended is Ended.RATIO
        told = world.wait_alert(rule="log_dir_space", broker=2, log_dir=path, to=level, status="firing")
        # It is told while the directory still fills; what falls under the reserve is told of before its next sample.
        assert told["evidence"]["used_ratio"] <= ratio + 0.05, told
    assert told["severity"] == "page", told
    critical = next(record for record in world.life(told["alert_id"]) if record["to"] == "critical")
    assert "can wait until morning: no" in critical["summary"], critical
    ended = world.done_until_ended(told, ActionKind.MOVE_LOG_DIR, world.paste)
    assert (ended["reason"], ended["to"]) == ("recovered", "online")


def test_a_directory_that_fills_is_emptied_by_apply_which_leaves_no_throttle(world):
    path = world.log_dir(0, 1)
    world.expects({("log_dir_space", 0, path)}, world.suspects((0, path)))
    assert world.cluster.fill(0, 1, until_ratio=LEVEL_OF_APPLY, partitions=6).ended is Ended.RATIO
    told = world.wait_alert(rule="log_dir_space", broker=0, log_dir=path, to="critical", status="firing")
    ended = world.done_until_ended(told, ActionKind.MOVE_LOG_DIR, world.apply)
    assert (ended["reason"], ended["to"]) == ("recovered", "online")
    assert world.throttles() == {}


def test_a_directory_that_ran_full_is_told_of_as_full_and_its_return_too(world):
    """Bytes of no replica take what was left; Kafka writes its checkpoints there once a second."""
    path = world.log_dir(3, 1)
    world.known_topic("clicks", [3, 0], at=(3, 1))
    world.expects({("log_dir_space", 3, path), ("unaccounted_bytes", 3, path)}, world.suspects((3, path)))
    world.expects(of_dir(3, path), of_broker(3), AT_RISK)
    for ratio, level in LEVELS.items():
        assert world.cluster.fill(3, 1, FillWith.FILE, until_ratio=ratio).ended is Ended.RATIO
        world.wait_alert(rule="log_dir_space", broker=3, log_dir=path, to=level, status="firing")
    assert world.cluster.fill(3, 1, FillWith.FILE).ended is Ended.FULL
    # Its log may say so before Kafka's answer does, which ends that alert as unconfirmed.
    world.wait(world.target(3, 1).is_offline, f"Kafka to call {path} offline")
    world.judged()
    told = world.wait(lambda: full_by_space(world, path), f"{path} to be told of as full")
    world.restore(3, 1)
    ended = world.wait_alert(alert_id=told["alert_id"], status="resolved")
    assert ended["reason"] == "recovered", ended
    world.wait_alert(rule="log_dir_space", broker=3, log_dir=path, status="resolved")
