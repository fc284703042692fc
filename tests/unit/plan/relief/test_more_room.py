"""A bigger volume, or one more log directory: how much, whether in time, and when not."""

from logdirwatch.model.vocabulary import ActionKind, BrokerStatus
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


class TestRoom:
    def grow(self, **rule):
        limits = {"log_dirs": (LogDirRule(**rule),)}
        return recommended(directory(1, "/d1", 850 * MIB, growth_bytes_per_s=1.0 * MIB), directory(2), limits=limits)

    def test_a_volume_grows_as_far_as_it_may_and_says_what_is_missing(self):
        action = the(ActionKind.EXPAND_DISK, self.grow(max_bytes=1100 * MIB))
        assert action.expected["total_bytes"] == 1100 * MIB
        assert "(214.3 MiB are needed; its maximum allows no more)" in action.reason
        assert holds(action, "volume_can_grow") is False

    def test_a_maximum_that_is_enough_is_known_to_be(self):
        assert holds(the(ActionKind.EXPAND_DISK, self.grow(max_bytes=9000 * MIB)), "volume_can_grow") is True

    def test_whether_the_cloud_is_quick_enough_is_told(self):
        assert holds(the(ActionKind.EXPAND_DISK, self.grow(growing_takes_ms=149_000)), "in_time") is True
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
        assert "100 MiB of 150 MiB is all that everything else frees" in actions[0].reason
        assert actions[0].expected["frees_bytes"] == int((150 * MIB + 1) / 0.7) + 1
