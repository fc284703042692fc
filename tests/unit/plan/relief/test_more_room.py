"""A bigger volume, or one more log directory: how much, whether in time, and when not."""

from dataclasses import replace

import pytest

from logdirwatch.model.vocabulary import ActionKind, BrokerStatus, LogDirStatus
from logdirwatch.plan.operator_decisions import OperatorDecisions
from logdirwatch.plan.settings import LogDirRule
from tests.unit.plan.answers import holds, kinds, recommended, the, vetoed
from tests.unit.plan.builders import (
    MIB,
    broker,
    directory,
    replica,
    slowly,
    topic,
)

FULL = directory(1, "/d1", 850 * MIB, growth_bytes_per_s=1.0 * MIB)


class TestRoom:
    def grow(self, source=FULL, **rule):
        return recommended(source, directory(2), limits={"log_dirs": (LogDirRule(**rule),)})

    def test_a_volume_grows_as_far_as_it_may_and_says_what_is_missing(self):
        action = the(ActionKind.EXPAND_DISK, self.grow(max_bytes=1100 * MIB))
        assert action.expected["total_bytes"] == 1100 * MIB
        assert "(214.3 MiB are needed; its maximum allows no more)" in action.reason
        assert holds(action, "volume_can_grow") is False

    def test_a_maximum_that_is_enough_is_known_to_be(self):
        assert holds(the(ActionKind.EXPAND_DISK, self.grow(max_bytes=9000 * MIB)), "volume_can_grow") is True

    def test_whether_the_cloud_is_quick_enough_is_told(self):
        quick = replace(FULL, growth_bytes_per_s=0.1 * MIB)
        assert holds(the(ActionKind.EXPAND_DISK, self.grow(quick, growing_takes_ms=899_000)), "in_time") is True
        assert holds(the(ActionKind.EXPAND_DISK, self.grow(quick, growing_takes_ms=900_000)), "in_time") is None
        slow = the(ActionKind.EXPAND_DISK, self.grow(growing_takes_ms=6 * 3_600_000))
        assert holds(slow, "in_time") is False
        assert slow.expected["needs_ms"] == 6 * 3_600_000

    def test_a_volume_at_its_maximum_leaves_one_more_directory(self):
        add, grow = self.grow(max_bytes=1000 * MIB)
        assert (grow.kind, vetoed(grow)) == (ActionKind.EXPAND_DISK, ["volume_at_maximum"])
        assert (add.kind, vetoed(add)) == (ActionKind.ADD_LOG_DIR, [])
        assert "is as large as it can be: 1000 MiB" in add.reason
        assert any("add its path to log.dirs" in command for command in add.commands)
        assert add.expected["log_dirs_before"] == ["/d1"]

    def test_a_directory_is_not_added_while_another_broker_is_down(self):
        limits = {"log_dirs": (LogDirRule(max_bytes=1000 * MIB),)}
        parts = [directory(1, "/d1", 850 * MIB), broker(2, BrokerStatus.OFFLINE)]
        actions = recommended(*parts, limits=limits)
        assert vetoed(the(ActionKind.ADD_LOG_DIR, actions)) == ["other_broker_down"]
        assert kinds(actions)[0] == "investigate"

    def test_what_helps_only_a_part_is_followed_by_what_gives_the_rest(self):
        parts = [directory(1, "/d1", 850 * MIB), topic("t", (1,)), replica(1, "/d1", "t", size=120 * MIB)]
        actions = recommended(*parts, growth=slowly(*parts), limits={"cut_ratio": 0.7})
        assert kinds(actions) == ["expand_disk", "lower_retention"], "what loses nothing is offered first"
        assert "all other actions free 100 MiB of the 150 MiB needed" in actions[0].reason
        assert actions[0].expected["frees_bytes"] == int((150 * MIB + 1) / 0.7) + 1


HOUR_MS, DAY_MS = 3_600_000, 24 * 3_600_000
REJECTED = OperatorDecisions(rejected=((ActionKind.EXPAND_DISK, {"broker": 1, "log_dir": "/d1"}),))
AT_MAXIMUM = {"log_dirs": (LogDirRule(max_bytes=1000 * MIB),)}
AWAY = broker(2, BrokerStatus.OFFLINE)
SPREAD = [topic("t", (1, 2), unread={0: 0.0}), directory(2)]


def takes(growing_takes_ms):
    return {"log_dirs": (LogDirRule(growing_takes_ms=growing_takes_ms),)}


@pytest.mark.parametrize(
    ("left_ms", "parts", "fields", "right"),
    [
        (72 * HOUR_MS, [], {}, "expand_disk -lower_retention"),
        (49 * HOUR_MS, [], {}, "expand_disk -lower_retention"),
        (47 * HOUR_MS, [], {}, "expand_disk lower_retention"),
        (2 * HOUR_MS, [], {}, "expand_disk lower_retention"),
        (None, [], {}, "expand_disk lower_retention"),
        (72 * HOUR_MS, [], {"limits": {"fleet_cuts_last_ms": 7 * DAY_MS}}, "expand_disk lower_retention"),
        (5 * HOUR_MS, [], {"limits": {"fleet_cuts_last_ms": 4 * HOUR_MS}}, "expand_disk -lower_retention"),
        (72 * HOUR_MS, [], {"decisions": REJECTED}, "lower_retention"),
        (72 * HOUR_MS, SPREAD, {"limits": AT_MAXIMUM}, "add_log_dir -expand_disk -lower_retention"),
        (72 * HOUR_MS, [AWAY], {"limits": AT_MAXIMUM}, "lower_retention -expand_disk -add_log_dir"),
        (72 * HOUR_MS, [], {"limits": takes(DAY_MS)}, "expand_disk"),
        (72 * HOUR_MS, [], {"limits": takes(6 * DAY_MS)}, "expand_disk lower_retention"),
    ],
    ids=[
        "three days left",
        "a little more than room takes",
        "a little less",
        "two hours",
        "nobody knows how long",
        "room takes a week here",
        "or an hour",
        "no bigger volume: rejected",
        "one more directory instead",
        "which nobody can add now",
        "known to be in time",
        "known to be late",
    ],
)
def test_no_history_is_deleted_while_room_can_be_added_in_time(left_ms, parts, fields, right):
    """``plan.fleet_cuts_last_ms`` says how long it takes to add room; producers are not slowed down meanwhile."""
    rate = None if left_ms is None else 100 * MIB * 1000 / left_ms
    source = directory(1, "/d1", 900 * MIB, growth_bytes_per_s=rate, status=LogDirStatus.CRITICAL)
    held = [topic("t", (1,), unread={0: 0.0}), replica(1, "/d1", "t", size=500 * MIB)]
    found = recommended(source, *held, *parts, growth=slowly(*held), **fields)
    assert " ".join(f"{'-' if one.vetoes else ''}{one.kind}" for one in found) == right
