"""The reserve file: when it is given up, and when it is made again."""

import pytest

from logdirwatch.model.vocabulary import ActionKind, ActionStatus, LogDirStatus
from logdirwatch.plan.actions.brokers.recreate_reserve import propose_recreation
from logdirwatch.plan.actions.brokers.release_reserve import propose_release
from logdirwatch.plan.lifecycle.transitions import progress
from logdirwatch.plan.settings import LogDirRule, ToolSettings
from tests.unit.plan.answers import kinds, recommended, the, vetoed
from tests.unit.plan.builders import MIB, action, directory, facts, policy

RULE = LogDirRule(log_dir="/d1", reserve_file="spare", reserve_bytes=40 * MIB)
LIMITS = policy(log_dirs=(RULE,), target_ratio=0.5)


def proposed(used=100 * MIB, after=None, **fields):
    return propose_recreation(directory(1, "/d1", used, **fields), LIMITS, after)


def test_the_file_takes_its_blocks_and_is_removed_to_undo_it():
    found = proposed(unaccounted_bytes=MIB)
    assert found.kind is ActionKind.RECREATE_RESERVE
    assert found.commands == ("# On broker 1's host: fallocate -l 41943040 -- /d1/spare",)
    assert found.undo == {"commands": ["# On broker 1's host: rm -- /d1/spare"]}
    assert found.expected["on"] == [{"broker": 1, "log_dir": "/d1", "bytes": -40 * MIB}]
    assert (found.expected["needs_ms"], found.expected["takes_bytes"]) == (0, 40 * MIB)
    assert found.expected["unaccounted_bytes_before"] == MIB
    assert found.vetoes == ()


def test_it_names_the_action_that_gave_it_up_where_one_did():
    assert proposed().target == {"broker": 1, "log_dir": "/d1"}
    assert proposed(after="one").target == {"broker": 1, "log_dir": "/d1", "after": "one"}


def test_without_a_reserve_configured_there_is_none_to_make():
    assert propose_recreation(directory(1, "/d2"), LIMITS) is None


@pytest.mark.parametrize(
    ("used", "fields", "vetoes"),
    [
        (460 * MIB, {}, []),
        (460 * MIB + 1, {}, ["not_enough_room"]),
        (100 * MIB, {"status": LogDirStatus.FILLING}, ["not_enough_room"]),
        (100 * MIB, {"status": LogDirStatus.OFFLINE}, ["not_enough_room"]),
        (None, {}, ["not_enough_room"]),
        (0, {"total": 0}, ["not_enough_room"]),
    ],
)
def test_it_may_fill_the_directory_to_its_target_and_no_further(used, fields, vetoes):
    assert [veto.name for veto in proposed(used, **fields).vetoes] == vetoes


@pytest.mark.parametrize(
    ("replicas", "advised", "is_said"),
    [(None, None, False), (4000, 40_000_000, False), (4194, 41_940_000, False), (4195, 41_950_000, True)],
)
def test_a_size_below_the_advice_is_told(replicas, advised, is_said):
    """KIP-928 advises 10 KB a partition; 40 MiB are 41,943,040 bytes."""
    found = proposed(replica_count=replicas)
    assert found.expected["advised_bytes"] == advised
    assert ("advised" in found.reason) is is_said


class TestProgress:
    def done(self, before, now, **expected):
        asked = action(
            ActionKind.RECREATE_RESERVE,
            status=ActionStatus.ACCEPTED,
            expected={"unaccounted_bytes_before": before, **expected},
        )
        seen = progress(asked, facts(directory(1, unaccounted_bytes=now)))
        return seen and seen.is_done

    @pytest.mark.parametrize(
        ("before", "now", "done"),
        [(10, 100, True), (10, 99, False), (10, 10, False), (100, 10, False), (None, 100, None), (10, None, None)],
    )
    def test_a_file_is_there_when_nine_tenths_of_it_show(self, before, now, done):
        assert self.done(before, now, takes_bytes=100, frees_bytes=None) is done

    @pytest.mark.parametrize(("before", "now", "done"), [(100, 10, True), (100, 11, False), (10, 100, False)])
    def test_it_is_gone_when_they_show_no_more(self, before, now, done):
        assert self.done(before, now, frees_bytes=100) is done

    def test_of_a_directory_that_nobody_reports_nothing_is_known(self):
        asked = action(ActionKind.RECREATE_RESERVE, expected={"unaccounted_bytes_before": 1, "takes_bytes": 1})
        assert progress(asked, facts(directory(2))) is None


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


@pytest.mark.parametrize(
    ("unaccounted", "found"), [(None, []), (40 * MIB, []), (40 * MIB - 1, ["reserve_gone"]), (0, ["reserve_gone"])]
)
def test_a_reserve_is_there_only_where_as_much_is_unexplained(unaccounted, found):
    (release,) = propose_release(directory(1, unaccounted_bytes=unaccounted), LIMITS)
    assert vetoed(release) == found
