"""A directory on another volume: look what is mounted, and format nothing."""

import pytest

from logdirwatch.model.vocabulary import Rule
from logdirwatch.plan.recommend import recommend
from tests.unit.plan.builders import MIB, NOW_MS, SIZE, alert, directory, facts, policy

SMALLER = {"total_bytes_before": SIZE, "total_bytes": SIZE // 20}
LARGER = {"total_bytes_before": SIZE, "total_bytes": 2 * SIZE}


@pytest.mark.parametrize(
    ("evidence", "is_mount_gone"),
    [
        ({"why": "capacity"} | SMALLER, True),
        ({"why": "root_volume"} | SMALLER, True),
        ({"why": "root_volume"} | LARGER, True),
        ({"why": "root_volume"}, True),
        ({"why": "volume"} | SMALLER, True),
        ({"why": "volume", "total_bytes_before": SIZE, "total_bytes": SIZE}, True),
        ({"why": "volume", "total_bytes_before": 0, "total_bytes": SIZE}, True),
        ({}, True),
        ({"why": "capacity"} | LARGER, False),
        ({"why": "volume"} | LARGER, False),
        ({"why": "reserve"}, False),
    ],
)
def test_what_to_do_about_a_mount_that_may_be_gone(evidence, is_mount_gone):
    changed = alert(Rule.LOG_DIR_CHANGED, log_dir="/d1", to="online", cause=None, evidence=evidence)
    (look,) = recommend(changed, facts(directory(1, used=20 * MIB)), policy(), NOW_MS)
    assert any("findmnt --target /d1; df -h /d1" in one for one in look.commands)
    said = "\n".join([look.reason, *look.commands])
    assert ("Stop the broker, mount the volume and start it; make no file system on it" in said) is is_mount_gone
    assert ("Make no file system on it" in said) is is_mount_gone
    assert "kafka-storage" not in said


def test_a_path_is_quoted_for_the_shell():
    changed = alert(Rule.LOG_DIR_CHANGED, log_dir="/a b", to="online", cause=None, evidence={"why": "root_volume"})
    (look,) = recommend(changed, facts(directory(1, "/a b")), policy(), NOW_MS)
    assert "findmnt --target '/a b'" in look.commands[0]
