"""A member of an array that failed is no failed directory: the array is looked at, and only a lost one is lost."""

import pytest

from logdirwatch.model.vocabulary import ActionKind, Cause
from logdirwatch.plan.actions.brokers.raid_arrays import (
    Array,
    apart_from_lost,
    array_in,
    array_of,
    array_steps,
    is_active,
    look_at_array,
)
from logdirwatch.plan.availability.offline_log_dirs import OfflineEvidence, offline_log_dirs_of
from tests.unit.plan.builders import alert, directory, facts, offline

DEGRADED = "md/raid1:md0: Disk failure on sdb1, disabling device."


@pytest.mark.parametrize(
    ("lines", "device", "volume", "found"),
    [
        ([DEGRADED], "sdb1", None, Array("md0", "sdb1", False)),
        ([DEGRADED], None, None, Array("md0", None, False)),
        (["MD/RAID1:MD0: Disk failure"], None, None, Array("MD0", None, False)),
        (["raid5: Disk failure on sdc, disabling device"], "sdc", None, Array(None, "sdc", False)),
        (["md: super_written gets error=-5"], "sdb", None, Array(None, "sdb", False)),
        ([None, "", DEGRADED], None, None, Array("md0", None, False)),
        (["device-mapper: raid: Device 0 failed"], "sda", None, Array(None, "sda", False)),
        (["I/O error, dev sdb"], "sdb", "dev 9:127", Array("md127", "sdb", False)),
        (["I/O error, dev md0"], "md0", None, Array("md0", None, True)),
        (["I/O error, dev md0p1"], "md0p1, sdb", None, Array("md0p1", "sdb", True)),
        ([DEGRADED], "sdb, sdc", "dev 9:1", Array("md0", "sdb, sdc", False)),
        (["md/raid1:md0: not enough operational mirrors"], None, None, Array("md0", None, True)),
        (["md/raid0:md3: Disk failure on sdb"], "sdb", None, Array("md3", "sdb", True)),
        (["md/raid:md0: Cannot continue operation (2/3 failed)."], None, None, Array("md0", None, True)),
        (["I/O error, dev sdb"], "sdb", "dev 8:17", None),
        (["I/O error, dev sdb"], "sdb", "dev 9:1 and more", None),
        (["cmd: it failed"], "nvme0n1", None, None),
        ([], None, None, None),
    ],
)
def test_the_kernels_words_or_the_volume_show_the_array(lines, device, volume, found):
    assert array_in(lines, device, directory(1, volume=volume)) == found


def test_both_the_log_and_the_kernel_may_speak_of_it():
    for proof in (OfflineEvidence(said=DEGRADED), OfflineEvidence(kernel_error=DEGRADED)):
        assert array_of(directory(1), proof) == Array("md0", None, False)
    assert array_of(directory(1), OfflineEvidence(device="md7")) == Array("md7", None, True)


@pytest.mark.parametrize(
    ("array", "device", "said"),
    [(Array("md0", None, False), "/dev/md0", "the array md0"), (Array(None, None, False), "/dev/ARRAY", "the array")],
)
def test_an_array_is_named_as_far_as_it_is_known(array, device, said):
    assert (array.device, str(array)) == (device, said)


class TestApartFromLost:
    def apart(self, cause=Cause.FAILED, **evidence):
        parts = [offline(1, "/d1", cause), offline(1, "/d2"), directory(2)]
        seen = facts(*parts)
        shown = {"/d1": {"cause": str(cause), **evidence}, "/d2": {"cause": "failed", "said": "I/O error"}}
        away = offline_log_dirs_of(alert(cause=cause, evidence={"log_dirs": shown}), seen)
        after, arrays = apart_from_lost(away)
        assert after.names == away.names
        return away, after, arrays

    def test_one_on_an_array_that_goes_on_is_called_failed_no_more(self):
        _, after, arrays = self.apart(said=DEGRADED, device="sdb1")
        assert arrays == {"/d1": Array("md0", "sdb1", False)}
        assert [found.cause for found in after.directories] == [Cause.UNKNOWN, Cause.FAILED]
        assert [after.snapshot.directories[1, path].cause for path in after.names] == [Cause.UNKNOWN, Cause.FAILED]
        assert (2, "/d1") in after.snapshot.directories

    @pytest.mark.parametrize(
        ("cause", "evidence"),
        [
            (Cause.FAILED, {"said": "md/raid1:md0: not enough operational mirrors"}),
            (Cause.FAILED, {"said": "I/O error"}),
            (Cause.FILE_SYSTEM, {"said": DEGRADED}),
        ],
    )
    def test_a_lost_array_a_plain_disk_and_another_cause_stay(self, cause, evidence):
        away, after, arrays = self.apart(cause, **evidence)
        assert (after, arrays) == (away, {})


class TestTheLook:
    def test_it_changes_nothing_first_and_formats_nothing(self):
        proof = OfflineEvidence(said="said", kernel_error=DEGRADED)
        found = look_at_array(directory(1), Array("md0", "sdb1", False), proof)
        assert found.kind is ActionKind.INVESTIGATE
        assert found.target == {"broker": 1, "log_dir": "/d1", "step": "array"}
        assert (found.expected["array"], found.expected["member"]) == ("md0", "sdb1")
        assert not found.data_loss
        assert "its member sdb1 failed" in found.reason
        assert "nothing is formatted" in found.reason
        assert found.reason.endswith(f"({DEGRADED})")
        assert all(command.startswith("# On broker 1's host: ") for command in found.commands)
        assert "cat /proc/mdstat; mdadm --detail /dev/md0" in found.commands[0]
        assert not any("mkfs" in command for command in found.commands)

    @pytest.mark.parametrize(
        ("proof", "end"),
        [(OfflineEvidence(said="said"), "(said)"), (OfflineEvidence(), "so nothing is formatted")],
    )
    def test_the_logs_line_is_told_where_the_kernel_has_none(self, proof, end):
        found = look_at_array(directory(1), Array(None, None, False), proof)
        assert found.reason.endswith(end)
        assert "a member failed" in found.reason

    @pytest.mark.parametrize(
        ("member", "named"), [(None, "MEMBER"), ("sdb1", "/dev/sdb1"), ("sdb, sdc", "/dev/sdb /dev/sdc")]
    )
    def test_only_the_member_is_taken_out(self, member, named):
        _, smart, replace_it, assemble = array_steps(Array("md0", member, False))
        assert smart == f"smartctl -x {named}"
        assert f"mdadm --manage /dev/md0 --fail {named} --remove {named}" in replace_it
        assert "mdadm --manage /dev/md0 --add NEW_MEMBER" in replace_it
        assert "mdadm --assemble --scan" in assemble

    def test_before_a_start_every_array_is_to_be_active(self):
        found = is_active([Array("md0", None, False), Array("md1", None, False)])
        assert [(one.name, one.holds) for one in found] == [("array_is_active", None)] * 2
        assert [one.text.split(" is active")[0] for one in found] == ["the array md0", "the array md1"]
