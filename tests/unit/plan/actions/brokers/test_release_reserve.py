"""The reserve file: when it is given up, and when nobody may count on it."""

import pytest

from logdirwatch.model.vocabulary import ActionKind, LogDirStatus
from logdirwatch.plan.settings import LogDirRule, ToolSettings
from tests.unit.plan.answers import kinds, recommended, the, vetoed
from tests.unit.plan.builders import (
    MIB,
    directory,
    policy,
)

SATURATED = directory(1, "/d1", 960 * MIB, growth_bytes_per_s=1.0 * MIB, status=LogDirStatus.SATURATED)


class TestReserve:
    RULE = LogDirRule(log_dir="/d*", reserve_file="it's reserve", reserve_bytes=40 * MIB)

    def release(self, source=SATURATED, **fields):
        return the(ActionKind.RELEASE_RESERVE, recommended(source, limits={"log_dirs": (self.RULE,)}, **fields))

    def test_the_reserve_is_given_up_when_nothing_is_in_time(self):
        action = self.release()
        assert action.expected["frees_bytes"] == 40 * MIB
        assert action.expected["time_to_full_after_ms"] == 80_000
        assert action.commands == ["# On broker 1's host: rm -- '/d1/it'\"'\"'s reserve'"]
        assert "fallocate -l 41943040" in action.undo["commands"][0]

    def test_the_way_to_the_host_is_configured(self, tmp_path):
        tools = ToolSettings(host_command="PATH=/usr/bin:/bin sh -s -- {broker}")
        (command,) = self.release(tools=tools).commands
        lines = command.splitlines()
        assert lines[0] == "PATH=/usr/bin:/bin sh -s -- 1 <<'LOGDIRWATCH_END'"
        assert lines[-2:] == ["rm -- '/d1/it'\"'\"'s reserve'", "LOGDIRWATCH_END"]

    def test_without_one_configured_there_is_nothing_to_release(self):
        assert "release_reserve" not in kinds(recommended(SATURATED))

    def test_a_reserve_that_cannot_be_there_is_not_counted_on(self):
        gone = directory(
            1, "/d1", 960 * MIB, status=LogDirStatus.SATURATED, growth_bytes_per_s=1e6, unaccounted_bytes=MIB
        )
        assert vetoed(self.release(gone)) == ["reserve_gone"]

    def test_a_directory_with_time_left_keeps_its_reserve(self):
        calm = directory(1, "/d1", 960 * MIB, status=LogDirStatus.SATURATED)
        assert "release_reserve" not in kinds(recommended(calm, limits={"log_dirs": (self.RULE,)}))

    def test_the_first_rule_for_the_directory_holds(self):
        limits = policy(log_dirs=(LogDirRule(broker=2), LogDirRule(log_dir="/x"), self.RULE)).limits
        assert limits.log_dir_rule(1, "/d1").reserve_bytes == 40 * MIB
        assert limits.log_dir_rule(2, "/d1").reserve_bytes is None

    def test_a_file_without_a_size_is_refused(self):
        with pytest.raises(ValueError, match="go together"):
            LogDirRule(reserve_file="reserve")
