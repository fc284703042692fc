"""Situations beside the known ones, each of which once got a wrong answer."""

import pytest

from logdirwatch.model.vocabulary import Cause, Rule
from logdirwatch.parse.kernel_log.lines import kernel_error
from logdirwatch.parse.kernel_log.log_dirs import with_kernel_errors
from tests.unit.detect.builders import host_dir, log_dir
from tests.unit.plan.builders import MIB, alert, directory, facts, offline, replica, space_alert, topic
from tests.unit.situations.table import Advice, Conclusion, check_advice, check_conclusion

MEDIUM = "blk_update_request: critical medium error, dev sdb, sector 31231 op 0x1:(WRITE) flags 0x800"
DEVICE = "blk_update_request: I/O error, dev sdb, sector 1234 op 0x1:(WRITE) flags 0x800"
ABORTED = "Aborting journal on device sdb1-8."
READ_ONLY = "EXT4-fs (sdb1): Remounting filesystem read-only"
CORRUPT = "XFS (sdb1): Metadata corruption detected at xfs_agf_read_verify+0x7b/0xe0 [xfs], xfs_agf block 0x1"
POOL = "device-mapper: thin: 253:4: switching pool to out-of-data-space (error IO) mode"
LOST_WRITE = "Buffer I/O error on dev dm-4, logical block 12, lost async page write"
NO_BLOCKS = (
    "EXT4-fs (sdb1): Delayed block allocation failed for inode 12 at logical offset 7 with max blocks 3 with error 28"
)
LOST = "EXT4-fs (sdb1): This should not happen!! Data will be lost"
BTRFS_FULL = "BTRFS: error (device sdb1) in btrfs_run_delayed_refs:2127: errno=-28 No space left"
BITMAP = "EXT4-fs error (device sdb1): ext4_validate_block_bitmap:384: comm java: bg 32: bad block bitmap checksum"
GONE = "nvme nvme3: Device not ready; aborting reset, CSTS=0x1"
LOG_ERROR = "XFS (nvme3n1): log I/O error -5"
LOST_PATH = "device-mapper: multipath: 253:2: Failing path 8:16."
RF_1 = {"min.insync.replicas": "1"}


def _look(*lines, **seen):
    """One look of the host source, with what the kernel said since the last one."""
    well = {"volume": "dev 8:16", "is_root_volume": False, "is_read_only": False, "probe_ms": 2.0}
    told = [error for line in lines if (error := kernel_error(f"Jan 11 05:55:54 host kernel: {line}"))]
    return with_kernel_errors([host_dir("/d1", **(well | seen))], {"/d1": told})


def _fails(cause, *lines, detail="append failed", used=0.4, is_first=False, **seen):
    """/d1 goes offline; the broker's log says a cause, the kernel its lines, before the failure or after it."""

    def given(driver):
        for _ in range(4):
            driver.poll(log_dir("/d1", used), log_dir("/d2", 0.31))
            driver.host(*_look())
        if is_first:
            driver.host(*_look(*lines, **seen))
        if cause is not None:
            driver.event(log_dir="/d1", cause=cause, detail=detail)
        for _ in range(2):
            driver.poll(log_dir("/d1", error_code=56), log_dir("/d2", 0.31))
        if not is_first:
            driver.host(*_look(*lines, **seen))

    return given


def _kernel_says(*lines, quiet_ms=0, **seen):
    """The kernel speaks of the disk of /d1, which goes on serving and is probed."""

    def given(driver):
        for _ in range(4):
            driver.poll(log_dir("/d1", 0.4), log_dir("/d2", 0.31))
        driver.host(*_look(*lines, **seen))
        driver.at_ms += quiet_ms
        if quiet_ms:
            for _ in range(3):
                driver.poll(log_dir("/d1", 0.4), log_dir("/d2", 0.31))
                driver.host(*_look())

    return given


def _halts(cause, *lines, used=0.4, is_first=False, detail="java.io.IOException: Input/output error", **seen):
    """The broker's only directory fails by its log, and the broker halts; its host goes on looking."""

    def given(driver):
        for _ in range(4):
            driver.poll(log_dir("/d1", used))
            driver.host(*_look(*(lines if is_first else ()), **seen))
        driver.event(log_dir="/d1", cause=cause, detail=f"append failed: {detail}")
        for number in range(9):
            driver.poll(status="timeout", error="connection refused")
            driver.host(*_look(*(lines if number == 1 and not is_first else ()), **seen))

    return given


def _three_io_errors(driver):
    serving = [log_dir(path, used) for path, used in (("/d1", 0.4), ("/d2", 0.35), ("/d3", 0.3), ("/d4", 0.25))]
    for _ in range(4):
        driver.poll(*serving)
    for path in ("/d1", "/d2", "/d3"):
        driver.event(log_dir=path, cause="failed", detail="java.io.IOException: Input/output error")
    for _ in range(2):
        driver.poll(*(log_dir(path, error_code=56) for path in ("/d1", "/d2", "/d3")), serving[3])


FAILED, FULL = {"log_dir_offline": "failed"}, {"log_dir_offline": "full"}
HALTED = {"broker_unknown": None}
CONCLUSIONS = [
    Conclusion("unreadable sectors behind a file system that turned read-only",
               _fails("read_only", MEDIUM, ABORTED, READ_ONLY, is_read_only=True), FAILED, says=("device sdb",)),
    Conclusion("the same, and the kernel spoke before the broker's log",
               _fails("read_only", MEDIUM, ABORTED, READ_ONLY, is_read_only=True, is_first=True), FAILED),
    Conclusion("the same without a broker's log", _fails(None, MEDIUM, ABORTED, READ_ONLY, is_read_only=True), FAILED),
    Conclusion("unreadable sectors behind a corrupt file system", _fails("file_system", MEDIUM, CORRUPT), FAILED),
    Conclusion("a journal that was aborted, and no error of the disk",
               _fails("read_only", ABORTED, READ_ONLY, is_read_only=True), {"log_dir_offline": "read_only"}),
    Conclusion("an I/O error that may be of a path that was lost condemns no disk below a read-only mount",
               _fails("read_only", DEVICE, READ_ONLY, is_read_only=True), {"log_dir_offline": "read_only"}),
    Conclusion("a thin pool without room, which the broker meets as an I/O error",
               _fails("failed", POOL, LOST_WRITE, detail="java.io.IOException: Input/output error"), FULL,
               says=("the pool below the volume (device 253:4) has no space left", "253:4")),
    Conclusion("a thin pool without room, which the broker meets as no space", _fails("full", POOL), FULL,
               says=("the pool below the volume (device 253:4) has no space left",)),
    Conclusion("no space left where a moment before 1 in 1,000 bytes was free", _fails("full", used=0.999), FULL,
               says=("no space left (99.9 %",), never_says=("may have run out",)),
    Conclusion("three disks with I/O errors at once have more in common than bad luck", _three_io_errors, FAILED,
               says=("3 log directories went offline together (/d1, /d2, /d3): I/O error", "a common cause")),
    Conclusion("a file system that met no space, which the broker meets as an I/O error",
               _fails("failed", NO_BLOCKS, LOST, detail="java.io.IOException: Input/output error"), FULL,
               says=("no space left for the broker",), never_says=("corrupt", "pool below the volume")),
    Conclusion("btrfs without space that turned read-only, without a broker's log",
               _fails(None, BTRFS_FULL, "BTRFS info (device sdb1 state EA): forced readonly", is_read_only=True), FULL),
    Conclusion("a mount that is read-only while nobody wrote yet", _kernel_says(is_read_only=True),
               {"log_dir_suspect": None}, severity={"log_dir_suspect": "critical"}, says=("the next write takes",)),
    Conclusion("a file system that met no space while its directory serves", _kernel_says(NO_BLOCKS),
               {"log_dir_suspect": None}, severity={"log_dir_suspect": "critical"}, says=("until there is space",)),
    Conclusion("a file system that met no space, and hours in which it was written again",
               _kernel_says(NO_BLOCKS, quiet_ms=3 * 3_600_000), {}),
    Conclusion("a damaged file system that the kernel mounted read-only, whatever it says last",
               _fails("read_only", BITMAP, ABORTED, READ_ONLY, is_read_only=True), {"log_dir_offline": "file_system"},
               says=("repair it",)),
    Conclusion("btrfs without space that turned read-only, as the broker's log says too",
               _fails("read_only", BTRFS_FULL, "BTRFS info (device sdb1 state EA): forced readonly", is_read_only=True),
               FULL),
    Conclusion("a device that is gone, and the file system that shut itself down for it",
               _fails("failed", GONE, LOG_ERROR, detail="java.io.IOException: Input/output error"), FAILED,
               says=("device nvme3",), never_says=("the disk may be fine",)),
    Conclusion("the same without a broker's log", _fails(None, GONE, LOG_ERROR), FAILED),
    Conclusion("a path that was lost and is back within one look, which the broker meets as an I/O error",
               _fails("failed", LOST_PATH, DEVICE, LOST_PATH.replace("Failing", "Reinstating"),
                      detail="java.io.IOException: Input/output error"), {"log_dir_offline": "remount"}),
    Conclusion("a block device of Ceph whose client was blocklisted",
               _fails("failed", "rbd: rbd0: write 1000 at 0 result -108", "I/O error, dev rbd0, sector 9",
                      detail="java.io.IOException: Input/output error"), {"log_dir_offline": "remount"}),
    Conclusion("a broker that halted with its only directory: the kernel names the disk afterwards",
               _halts("failed", MEDIUM), HALTED | FAILED, says=("device sdb",), never_says=("is suspect", "not named")),
    Conclusion("or it had named the pool below before", _halts("failed", POOL, is_first=True), HALTED | FULL,
               says=("the pool below the volume",), never_says=("not named",)),
    Conclusion("or the host sees what ran out", _halts("full", total_inodes=900, free_inodes=0), HALTED | FULL,
               says=("no inodes left",), never_says=("may have run out",)),
    Conclusion("or nearly all of its space was used", _halts("full", used=0.999), HALTED | FULL,
               says=("no space left (99.9 %",), never_says=("may have run out",)),
    Conclusion("an error that ext4 has on record since its last check, which it repeats every day",
               _kernel_says("EXT4-fs (sdb1): last error at time 1699000000: ext4_find_entry:1455: inode 2"),
               {"log_dir_suspect": None}, severity={"log_dir_suspect": "warning"}, says=("is an earlier one",)),
    Conclusion("a probe that meets a quota, as the next write will",
               _kernel_says(probe_ms=None, probe_error="probe: Disk quota exceeded"), {"log_dir_suspect": None},
               severity={"log_dir_suspect": "critical"}, says=("no, because the next write takes",)),
    Conclusion("a probe that meets an I/O error, which may be of one place",
               _kernel_says(probe_ms=None, probe_error="probe: Input/output error"), {"log_dir_suspect": None},
               severity={"log_dir_suspect": "warning"}, never_says=("still serves",)),
    Conclusion("no space left where most is free", _fails("full", used=0.3), FULL, says=("may have run out",)),
]  # fmt: skip


@pytest.mark.parametrize("row", CONCLUSIONS, ids=lambda row: row.name)
def test_conclusion(row):
    check_conclusion(row)


def _only_copies(*others):
    """Broker 1 fills up with replicas that nobody else holds; the growth leaves an hour."""
    source = directory(1, used=900 * MIB, growth_bytes_per_s=100 * MIB / 3600)
    mine = [replica(1, "/d1", "one", number, 440 * MIB) for number in (0, 1)]
    made = topic("one", (1,), (1,), configs=RF_1, unread={0: 0.0, 1: 0.0})
    return lambda: (space_alert("critical"), facts(source, made, *mine, *others))


def _only_copy_on_a_dying_disk():
    made = topic("one", (1,), configs=RF_1)
    found = facts(directory(1, is_suspect=True), directory(2, used=300 * MIB), made, replica(1, "/d1", "one"))
    why = {"medium_error": "the kernel says of sdb: critical medium error"}
    evidence = {"why": why, "device": "sdb"}
    return alert(Rule.LOG_DIR_SUSPECT, to="online", cause=None, evidence=evidence), found


def _degraded_array():
    made = topic("one", (1, 2), (2, 1))
    found = facts(
        directory(1, is_suspect=True), directory(2, used=300 * MIB), directory(3), made, replica(1, "/d1", "one")
    )
    told = "the kernel says of sdb1: md/raid1:md0: Disk failure on sdb1, disabling device."
    evidence = {"why": ["device_error"], "device_error": told, "device": "sdb1"}
    return alert(Rule.LOG_DIR_SUSPECT, to="online", cause=None, evidence=evidence), found


def _suspect(*why, device="sdb1"):
    made = topic("one", (2, 1))
    found = facts(
        directory(1, is_suspect=True), directory(2, used=300 * MIB), directory(3), made, replica(1, "/d1", "one")
    )
    evidence = {"why": list(why), "device": device}
    return lambda: (alert(Rule.LOG_DIR_SUSPECT, to="online", cause=None, evidence=evidence), found)


def _compacted(cleanup_policy):
    source = directory(1, used=900 * MIB, growth_bytes_per_s=100 * MIB / 86_400)
    kept = topic("kv", (1, 2), configs={"cleanup.policy": cleanup_policy}, unread={0: 0.0})
    places = [replica(number, "/d1", "kv", 0, 800 * MIB) for number in (1, 2)]
    return lambda: (space_alert("critical"), facts(source, directory(2, used=820 * MIB), kept, *places))


def _only_copy_in_a_full_directory():
    made = topic("one", (1, 2, 3), leaderless=(0,), isr={0: (1,)}, configs={"min.insync.replicas": "2"})
    full = offline(1, cause=Cause.FULL)
    evidence = {"full_by": "space"}
    return alert(cause=Cause.FULL, evidence=evidence), facts(
        full, directory(1, "/d2"), directory(2), directory(3), made, *(replica(n, "/d1", "one") for n in (1, 2, 3))
    )


def _several_unknown():
    gone = [offline(1, path, Cause.UNKNOWN) for path in ("/d1", "/d2")]
    evidence = {"log_dirs": {one.path: {"cause": "unknown"} for one in gone}}
    found = facts(*gone, directory(1, "/d3"), directory(2), topic("t", (1, 2)), replica(1, "/d1", "t"))
    return alert(cause=Cause.UNKNOWN, evidence=evidence), found


ADVICE = [
    Advice("an array that lost a member goes on: the member is replaced, nothing is moved away", _degraded_array,
           first="investigate", never=("reassign", "replace_disk"), lossless=True,
           says=("look at the array md0 below /d1", "mdadm --manage /dev/md0", "alerts healthy alert")),
    Advice("a file system that met no space gets room, and no disk is condemned",
           _suspect("no_space", "file_system_error"), first="investigate", never=("reassign", "replace_disk"),
           lossless=True, says=("see what ran out in /d1", "df -i"), never_says=("xfs_repair",)),
    Advice("one that the kernel had no memory for is not repaired, and no disk is condemned",
           _suspect("no_memory", "file_system_error"), first="investigate", never=("reassign", "replace_disk"),
           lossless=True, says=("no memory for the file system of /d1", "MemoryMax"), never_says=("max_map_count",)),
    Advice("compacted topics have no retention", _compacted("compact"), first="investigate",
           says=("which no retention limit reaches",)),
    Advice("topics of compact,delete have one", _compacted("compact,delete"), first="investigate",
           says=("in compacted topics (kv);",), never_says=("no retention limit reaches",)),
    Advice("the restart brings back a leader whose partition takes no writes before and after",
           _only_copy_in_a_full_directory, ready=("restart_broker",), lossless=True),
    Advice("why several directories are offline is not known", _several_unknown, first="investigate",
           says=("find out why /d1, /d2 of broker 1 are offline",), never=("replace_disk",), lossless=True),
    Advice("what only a dying disk holds is copied from it while it can be read", _only_copy_on_a_dying_disk,
           first="reassign", lossless=True),
    Advice("a topic with one replica leaves a directory that serves, and nothing is deleted",
           _only_copies(directory(2, used=300 * MIB)), first="reassign", never=("lower_retention",), lossless=True),
    Advice("so it does where only the third broker has the room",
           _only_copies(directory(2, used=800 * MIB), directory(3, used=200 * MIB)), first="reassign",
           never=("lower_retention",), lossless=True),
]  # fmt: skip


@pytest.mark.parametrize("row", ADVICE, ids=lambda row: row.name)
def test_advice(row):
    check_advice(row)
