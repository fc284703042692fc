"""How much a volume is grown by, and what may be removed on a host."""

import pytest

from logdirwatch.model.vocabulary import ActionKind, BrokerStatus, LogDirStatus
from logdirwatch.plan.actions.brokers.expand_disk import expand_disk
from logdirwatch.plan.actions.brokers.investigate import free_inodes, free_while_stopped
from logdirwatch.plan.availability.offline_log_dirs import OfflineEvidence
from logdirwatch.plan.settings import LogDirRule, ToolSettings
from tests.unit.plan.answers import holds
from tests.unit.plan.builders import MIB, broker, directory, facts, offline, policy, replica, topic


class TestInodes:
    def test_an_offline_directory_has_none_left_and_does_not_come_back_by_itself(self):
        proof = OfflineEvidence(used_inodes_ratio=1.0, said="No space left on device")
        found = free_inodes(offline(1, "/d 1", used=400 << 20), proof)
        assert found.kind is ActionKind.INVESTIGATE
        assert found.target == {"broker": 1, "log_dir": "/d 1", "step": "free_inodes"}
        assert found.expected["full_by"] == "inodes"
        assert found.reason.startswith(
            "free inodes in /d 1 of broker 1: none are left (100.0 % of the inodes used) while 40.0 %"
        )
        assert found.reason.endswith("do not bring it back (No space left on device)")
        assert found.commands[0].startswith(
            "# On broker 1's host: df -i -- '/d 1'; du --inodes -x --max-depth=2 -- '/d 1' "
        )
        assert len(found.commands) == 3

    def test_a_serving_one_has_few(self):
        found = free_inodes(directory(1), OfflineEvidence())
        assert "few are left while 10.0 %" in found.reason
        assert found.reason.endswith("without inodes no segment can be made")


SAFE = topic("safe", (1, 2, 3))
PARTS = [
    offline(1),
    *(directory(number) for number in (2, 3)),
    SAFE,
    topic("thin", (1, 2)),
    *(replica(number, "/d1", "safe") for number in (1, 2, 3)),
    *(replica(number, "/d1", "thin") for number in (1, 2)),
]
DOWN = [broker(1, BrokerStatus.OFFLINE)]


class TestWhileStopped:
    def found(self, *parts, tools=None, **what):
        seen = facts(*PARTS, *parts)
        return free_while_stopped(seen.directories[1, "/d1"], seen, policy(tools=tools), **what)

    def test_only_what_two_others_have_is_spare(self):
        found = self.found(*DOWN)
        assert found.expected["spare_replicas"] == ["safe-0"]
        assert "their other replicas are in sync: safe-0)" in found.commands[-1]

    @pytest.mark.parametrize(
        "parts",
        [
            [topic("safe", (1, 2, 3), isr={0: (2,)})],
            [topic("safe", (1, 2, 3), isr={0: (1, 2)})],
            [directory(3, status=LogDirStatus.UNKNOWN)],
        ],
        ids=["one in sync", "itself and one", "one not seen"],
    )
    def test_nothing_is_spare_where_one_good_copy_would_be_left(self, parts):
        found = self.found(*DOWN, *parts)
        assert found.expected["spare_replicas"] == []
        assert found.commands[-1].endswith("(none).")

    def test_the_step_names_the_directory_and_what_is_wrong_with_it(self):
        found = self.found(*DOWN)
        assert found.target == {"broker": 1, "log_dir": "/d1", "step": "free_space_while_stopped"}
        assert found.reason.startswith("/d1 of broker 1 is full: free space there")
        assert self.found(*DOWN, what="has no quota left").reason.startswith("/d1 of broker 1 has no quota left: ")

    def test_a_broker_that_is_down_needs_no_stop_and_nothing_speaks_against_it(self):
        found = self.found(*DOWN)
        assert found.vetoes == ()
        assert found.commands[0].startswith("# First lower the retention")
        assert all(command.startswith("# ") for command in found.commands)
        assert len(found.commands) == 4

    def test_one_that_runs_is_stopped_first_if_nothing_speaks_against_it(self):
        assert self.found().commands[0] == "# Stop broker 1."
        stop = ToolSettings(stop_command="stop-it {broker}")
        assert self.found(tools=stop).commands[0] == "stop-it 1"
        assert self.found(broker(3, BrokerStatus.OFFLINE)).vetoes != ()


NEARLY_ENOUGH = 2


def grown(needed, *, maximum=None, used=900):
    rules = () if maximum is None else (LogDirRule(max_bytes=maximum * MIB),)
    return expand_disk(directory(1, "/d1", used * MIB), policy(log_dirs=rules), needed)


@pytest.mark.parametrize(("needed", "more"), [(NEARLY_ENOUGH, 100), (7 * MIB, 100), (140 * MIB, 200)])
def test_a_volume_is_grown_by_what_is_needed_but_never_by_a_few_bytes(needed, more):
    draft = grown(needed)
    assert draft.expected["frees_bytes"] == pytest.approx(more * MIB, abs=MIB)
    assert f"by {more} MiB" in draft.reason


def test_a_maximum_below_a_tenth_more_is_enough_where_less_is_needed():
    draft = grown(NEARLY_ENOUGH, maximum=1050)
    assert draft.expected["frees_bytes"] == 50 * MIB
    assert "allows no more" not in draft.reason
    assert holds(draft, "volume_can_grow") is True


def test_a_maximum_below_what_is_needed_is_said():
    draft = grown(140 * MIB, maximum=1050)
    assert "200 MiB are needed; its maximum allows no more" in draft.reason
    assert holds(draft, "volume_can_grow") is False
