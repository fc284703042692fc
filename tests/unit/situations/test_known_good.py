"""Situations in which the advice was right before: it stays right."""

import pytest

from logdirwatch.model.vocabulary import Cause
from tests.unit.detect.builders import log_dir
from tests.unit.plan import builders as b
from tests.unit.situations.table import Advice, Conclusion, check_advice, check_conclusion


def _fills(driver):
    driver.polls(0.5, 0.5, 0.97, 0.97)


def _fails_full(driver):
    driver.polls(0.97, 0.98, 0.999, 1.0)
    driver.poll(log_dir("/d1", error_code=56))


CONCLUSIONS = [
    Conclusion("a directory fills", _fills, {"log_dir_space": None}, severity={"log_dir_space": "page"}),
    Conclusion("a directory goes offline with no byte left", _fails_full, {"log_dir_offline": "full"}),
]


def _room_beside():
    return b.space_alert("critical"), b.facts(
        b.directory(1, "/d1", 900 * b.MIB),
        b.directory(1, "/d2"),
        b.topic("t", (1,), (1,)),
        *(b.replica(1, "/d1", "t", number, 200 * b.MIB) for number in (0, 1)),
    )


def _limit():
    return b.alert(cause=Cause.LIMIT), b.facts(b.offline(1, "/d1", Cause.LIMIT), b.directory(1, "/d2"))


def _no_memory():
    said = "EXT4-fs error (device sdb1) in ext4_setattr:5009: Out of memory"
    found = b.facts(b.offline(1, "/d1", Cause.LIMIT), b.directory(1, "/d2"))
    return b.alert(cause=Cause.LIMIT, evidence={"said": said, "decided_by": "kernel_log"}), found


ADVICE = [
    Advice(
        "a file system that the kernel had no memory for",
        _no_memory,
        never=("replace_disk",),
        ready=("raise_limit",),
        says=("memory of the host or the container", "MemoryMax", "fsck or xfs_repair"),
        never_says=("max_map_count",),
    ),
    Advice("room in a directory beside it", _room_beside, first="move_log_dir"),
    Advice("too few file descriptors", _limit, never=("replace_disk",), ready=("raise_limit",)),
]


@pytest.mark.parametrize("row", CONCLUSIONS, ids=lambda row: row.name)
def test_what_is_concluded(row):
    check_conclusion(row)


@pytest.mark.parametrize("row", ADVICE, ids=lambda row: row.name)
def test_what_is_advised(row):
    check_advice(row)
