"""A dying disk: what only it holds is saved first; its replacement says what is lost and copied."""

import pytest

from logdirwatch.model.vocabulary import ActionKind, BrokerStatus
from logdirwatch.plan.actions.brokers.replace_disk import leave_log_dirs, named, replace_disk, save_data
from logdirwatch.plan.availability.offline_log_dirs import OfflineEvidence
from logdirwatch.plan.reassignment.replacement_replicas import Repair
from logdirwatch.plan.settings import LogDirRule
from tests.unit.plan.answers import conditions
from tests.unit.plan.builders import MIB, broker, directory, facts, offline, policy, replica, topic

NOTHING = Repair(assignments=(), before=(), unplaced=(), bytes_in={}, bytes_per_broker={})
PROOF = OfflineEvidence(device="sdb", said="Input/output error", kernel_error="critical medium error, dev sdb")
PARTS = [
    offline(1, is_metadata_dir=False),
    directory(1, "/d2", 100 * MIB),
    directory(2),
    topic("safe", (1, 2), isr={0: (2,)}),
    *(replica(number, "/d1", "safe", size=170 * MIB) for number in (1, 2)),
]
ALONE = [topic("alone", (1,), leaderless=[0]), replica(1, "/d1", "alone", size=50 * MIB)]


def replaced(*parts, proof=PROOF, **limits):
    seen = facts(*PARTS, *parts)
    return replace_disk(seen.directories[1, "/d1"], NOTHING, seen, policy(**limits), proof)


def saved(*parts, proof=PROOF):
    seen = facts(*PARTS, *parts)
    return save_data(seen.directories[1, "/d1"], proof, seen)


def left(*parts):
    seen = facts(*PARTS, *parts)
    return leave_log_dirs(seen.directories[1, "/d1"], seen, policy())


class TestSaving:
    def test_what_others_have_needs_no_saving(self):
        assert saved() is None

    def test_what_only_it_holds_is_copied_off_a_disk_that_takes_no_more_writes(self):
        found = saved(*ALONE)
        assert found.kind is ActionKind.INVESTIGATE
        assert found.target == {"broker": 1, "log_dir": "/d1", "step": "save_data"}
        assert found.expected["saves"] == {"count": 1, "examples": ["alone-0"]}
        assert found.commands[0].startswith("# On broker 1's host: mount -o remount,ro /d1: ")
        assert "cp -a /d1/alone-0 OTHER_DISK/" in found.commands[1]
        assert "ddrescue /dev/sdb IMAGE MAPFILE" in found.commands[2]
        assert len(found.commands) == 4

    @pytest.mark.parametrize(
        ("proof", "device"),
        [
            (OfflineEvidence(), "DEVICE"),
            (OfflineEvidence(device="sdb", said="md/raid1:md0: not enough operational mirrors"), "/dev/md0"),
        ],
    )
    def test_it_is_read_from_the_device_or_the_array(self, proof, device):
        assert f"ddrescue {device} IMAGE" in saved(*ALONE, proof=proof).commands[2]

    def test_a_replica_elsewhere_that_is_away_saves_nothing(self):
        assert saved(broker(2, BrokerStatus.OFFLINE)).expected["saves"]["examples"] == ["safe-0"]


class TestReplacing:
    def test_it_names_the_disk_and_the_evidence(self):
        found = replaced()
        assert found.target == {"broker": 1, "log_dir": "/d1"}
        assert found.reason.startswith("replace the disk sdb under /d1 of broker 1, format it and restart: ")
        assert found.reason.endswith("; evidence: Input/output error and critical medium error, dev sdb")
        assert found.expected["device"] == "sdb"
        assert conditions(found)["disk_is_broken"] is None
        assert replaced(proof=OfflineEvidence()).reason.startswith("replace the disk under /d1 of broker 1")
        assert replaced(proof=OfflineEvidence()).expected["device"] is None
        assert "evidence" not in replaced(proof=OfflineEvidence()).reason

    @pytest.mark.parametrize(
        ("device", "text"),
        [
            ("sdb", "sdb"),
            ("dm-3", "below dm-3 (lsblk -s shows which)"),
            ("253:1", "below 253:1 (lsblk -s shows which)"),
            ("8:16", "8:16"),
        ],
    )
    def test_a_mapped_volume_is_no_disk(self, device, text):
        assert named(device) == text

    def test_what_only_it_holds_is_lost_with_it_and_is_to_be_saved(self):
        found = replaced(*ALONE)
        assert found.data_loss
        assert found.expected["lost_with_it"] == {"count": 1, "examples": ["alone-0"]}
        assert "the data that only this disk holds is lost with it: alone-0" in found.reason
        assert conditions(found)["last_copy_saved"] is None
        assert not replaced().data_loss
        assert "last_copy_saved" not in conditions(replaced())

    def test_what_others_have_is_copied_again_at_the_usual_rate(self):
        assert replaced(*ALONE, replication_throttle_bytes_per_s=17 * MIB).expected["copies_again"] == {
            "replicas": 1,
            "bytes": 170 * MIB,
            "needs_ms": 10_000,
        }
        unknown = [replica(number, "/d1", "safe", size=None) for number in (1, 2)]
        seen = facts(*PARTS[:4], *unknown)
        found = replace_disk(seen.directories[1, "/d1"], NOTHING, seen, policy())
        assert found.expected["copies_again"] == {"replicas": 1, "bytes": None, "needs_ms": None}
        assert "how large the new disk must be is not known" in found.reason

    @pytest.mark.parametrize(
        ("limits", "least", "is_larger"),
        [
            ({"destination_max_ratio": 0.85}, 200 * MIB, False),
            ({"destination_max_ratio": 0.17}, 1000 * MIB, False),
            ({"destination_max_ratio": 0.1}, 1700 * MIB, True),
            (
                {
                    "destination_max_ratio": 0.85,
                    "log_dirs": (LogDirRule(log_dir="/d1", reserve_file="spare", reserve_bytes=85 * MIB),),
                },
                300 * MIB,
                False,
            ),
        ],
    )
    def test_the_new_disk_holds_all_of_it_with_its_reserve(self, limits, least, is_larger):
        found = replaced(**limits)
        assert found.expected["new_disk"]["least_bytes"] == pytest.approx(least, abs=1)
        assert found.expected["new_disk"]["was_bytes"] == 1000 * MIB
        assert ("more than the old one's" in found.reason) is is_larger

    @pytest.mark.parametrize(("is_metadata_dir", "asked"), [(False, False), (None, True), (True, True)])
    def test_the_quorum_must_have_what_the_metadata_log_held(self, is_metadata_dir, asked):
        found = replaced(offline(1, is_metadata_dir=is_metadata_dir))
        assert ("quorum_caught_up" in conditions(found)) is asked

    def test_with_zookeeper_there_is_nothing_to_format_and_no_quorum(self):
        found = replaced(offline(1, is_metadata_dir=True), broker(1, BrokerStatus.DEGRADED, **{"process.roles": ""}))
        assert "format" not in found.reason
        assert "quorum_caught_up" not in conditions(found)
        assert not any("kafka-metadata-quorum" in command for command in found.commands)
        assert any("kafka-metadata-quorum" in command for command in replaced().commands)

    def test_an_array_must_be_lost_before_it_is_made_again(self):
        lost = OfflineEvidence(device="sdb", said="md/raid1:md0: not enough operational mirrors")
        found = replaced(proof=lost)
        assert "replace the failed members (sdb) of the array md0 and make it again under /d1" in found.reason
        assert next(iter(conditions(found))) == "array_is_lost"
        assert "array_is_lost" not in conditions(replaced())

    def test_a_broker_that_is_down_is_not_stopped(self):
        other_down = broker(3, BrokerStatus.OFFLINE)
        assert replaced(other_down).vetoes != ()
        assert any(command.startswith("# Stop broker 1") for command in replaced().commands)
        down = replaced(other_down, broker(1, BrokerStatus.OFFLINE))
        assert down.vetoes == ()
        assert not any(command.startswith("# Stop broker 1") for command in down.commands)

    def test_unfinished_copies_in_another_directory_are_named(self):
        copy = replica(1, "/d2", "safe", size=MIB, is_future=True)
        assert replaced(copy).expected["unfinished_copies"] == ["safe-0"]
        assert replaced().expected["unfinished_copies"] == []


class TestLeavingItOut:
    def test_the_broker_starts_without_it_where_its_others_have_the_room(self):
        found = left()
        assert found.kind is ActionKind.RESTART_BROKER
        assert found.target == {"broker": 1, "log_dir": "/d1", "step": "leave_log_dirs"}
        assert "its 1 replica (170 MiB) are copied again into its other directories" in found.reason
        assert any("take /d1 out of log.dirs of broker 1" in command for command in found.commands)
        assert "back into log.dirs" in found.undo["text"]
        assert not found.data_loss
        assert list(conditions(found)) == ["quorum_safe", "writes_go_on"]

    @pytest.mark.parametrize(
        "parts",
        [[directory(1, "/d2", 840 * MIB)], [offline(1, is_metadata_dir=True)], [directory(1, "/d2", None)]],
        ids=["no room", "the metadata log lies there", "room not known"],
    )
    def test_not_where_it_does_not_fit(self, parts):
        assert left(*parts) is None

    def test_not_where_nothing_was_lost(self):
        seen = facts(*PARTS[:3])
        assert leave_log_dirs(seen.directories[1, "/d1"], seen, policy()) is None

    def test_what_only_it_holds_is_lost_to_the_broker(self):
        assert left(*ALONE).data_loss
        assert left(*ALONE).expected["lost_with_it"]["examples"] == ["alone-0"]
