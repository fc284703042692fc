"""What the kernel says of disks, paths and file systems: what is concluded of it, and what is advised."""

from dataclasses import replace

import pytest

from logdirwatch.model.records import DecisionRecord
from logdirwatch.model.vocabulary import Decision, Rule
from logdirwatch.parse.kernel_log.lines import kernel_news, placed
from logdirwatch.parse.kernel_log.log_dirs import with_kernel_errors
from tests.unit.detect.builders import POLL_MS, host_dir, log_dir
from tests.unit.plan import builders as b
from tests.unit.situations.table import Advice, Conclusion, check_advice, check_conclusion

HOUR_MS = 3_600_000
DAY_MS = 24 * HOUR_MS
BELOW = frozenset(
    {
        "sdd",
        "sdd1",
        "sde",
        "sde1",
        "sdf1",
        "md0",
        "vg-kafka",
        "ata3",
        "2:0:0:0",
        "session1",
        "dm-4",
        "253:4",
        "8:16",
        "8:32",
        "nas1",
        "nvme3n1",
        "0000:3b:00.0",
    }
)
MEDIUM = "blk_update_request: critical medium error, dev sdd, sector 31231 op 0x0:(READ) flags 0x80700"
THIN = "device-mapper: thin: 253:4: switching pool to out-of-data-space (queue IO) mode"
FAILING_PATH = "device-mapper: multipath: 253:2: Failing path 8:16."
REINSTATED = FAILING_PATH.replace("Failing", "Reinstating")
EXTENDED = THIN.replace("out-of-data-space (queue IO)", "write")
IO_ERROR = "blk_update_request: I/O error, dev sdd, sector 9 op 0x1:(WRITE)"
HARDWARE = "sd 2:0:0:0: [sdd] tag#1 Sense Key : Hardware Error [current] "
SUSPECT = {"log_dir_suspect": None}
LOST_SDD = "md/raid1:md0: Disk failure on sdd1, disabling device."
LOST_SDE = LOST_SDD.replace("sdd1", "sde1")
CONTINUES = "md/raid1:md0: Operation continuing on 1 devices."
REBUILT = "md: md0: recovery done."
LVM = "dmeventd[9]: WARNING: Device #1 of raid1 array, vg-kafka, has failed."
LVM_WHOLE = "dmeventd[9]: raid1 array, vg-kafka, is now in-sync."
OFFLINE_DISK = "sd 2:0:0:0: rejecting I/O to offline device"
DRIVE = "megaraid_sas 0000:3b:00.0: 12 (7s/0x0001/CRIT) - VD 00/1 is now DEGRADED"
TIMEOUT = "nvme nvme3: I/O 331 QID 9 timeout, aborting"
UNANSWERED = IO_ERROR.replace("sdd", "nvme3n1")
ABSENT = "nvme nvme3: Device not ready; aborting reset, CSTS=0x1"
GOES_ON = "can wait until morning: yes, because the array goes on"


def look(*lines, **fields):
    """A look at /d1 whose probe passed, with what the kernel said."""
    by_dir, _ = placed([news for line in lines for news in kernel_news(line)], {"/d1": BELOW})
    well = {"volume": "dev 8:49", "is_root_volume": False, "is_read_only": False, "probe_ms": 1.0}
    return with_kernel_errors([host_dir("/d1", **well | fields)], by_dir)


def shown(*looks, quiet_ms=0, every_ms=10 * 60_000):
    """Return what drives a machine through looks, then through time in which nothing more is said."""

    def drive(driver):
        driver.poll(log_dir("/d1", 0.4), log_dir("/d2", 0.41))
        for seen in looks:
            driver.poll(log_dir("/d1", 0.4), log_dir("/d2", 0.41)).host(*seen)
        for _ in range(quiet_ms // every_ms):
            driver.at_ms += every_ms - POLL_MS - 1
            driver.poll(log_dir("/d1", 0.4), log_dir("/d2", 0.41)).host(*look())

    return drive


def said_good(driver):
    shown(look(MEDIUM))(driver)
    driver.at_ms += 1
    driver.show(
        DecisionRecord(
            version=1,
            id="prod/7//d1",
            decision=Decision.HEALTHY,
            by="ada",
            reason="tested",
            at_ms=driver.at_ms,
            cluster="prod",
            broker=7,
            log_dir="/d1",
        )
    )
    driver.host(*look())


def suspect_of(name, *lines, severity="warning", says=()):
    return Conclusion(name, shown(look(*lines)), SUSPECT, {"log_dir_suspect": severity}, says=says)


def degraded(name, *looks, says=(GOES_ON,), **more):
    """An array below goes on without a member: an early warning that names both, and no failed disk."""
    return Conclusion(
        name, shown(*looks, **more), SUSPECT, {"log_dir_suspect": "warning"}, says, ("disk that behaves like this",)
    )


def offline_after(*lines, used=0.4):
    """The directory goes offline, with what the kernel said just before."""

    def drive(driver):
        driver.poll(log_dir("/d1", used), log_dir("/d2", 0.41)).host(*look())
        driver.poll(log_dir("/d1", used), log_dir("/d2", 0.41)).host(*look(*lines))
        driver.poll(log_dir("/d1", error_code=56), log_dir("/d2", 0.41))

    return drive


def nothing_of(name, *lines):
    return Conclusion(name, shown(look(*lines)), {})


CONCLUSIONS = [
    Conclusion("an unreadable sector and a quiet day", shown(look(MEDIUM), quiet_ms=DAY_MS), SUSPECT, says=("sdd",)),
    Conclusion(
        "an unreadable sector hit every 25 minutes does not flap",
        shown(*[look(MEDIUM), look(), look(), look()] * 6),
        SUSPECT,
        never_says=("resolved", "flapping"),
    ),
    Conclusion("an unreadable sector, and three weeks", shown(look(MEDIUM), quiet_ms=22 * DAY_MS, every_ms=DAY_MS), {}),
    Conclusion("an unreadable sector, and somebody says that the disk is good", said_good, {}),
    suspect_of("a failing sense key", "sd 2:0:0:0: [sdd] tag#1 Sense Key : Medium Error [current] ", says=("sdd",)),
    suspect_of("a disk taken offline", "sd 2:0:0:0: rejecting I/O to offline device", severity="critical"),
    suspect_of(
        "an NVMe controller that stays away",
        ABSENT,
        severity="critical",
    ),
    suspect_of("an NVMe command that timed out", TIMEOUT, says=("no disk is suspect",)),
    suspect_of(
        "I/O fails because commands got no answer",
        TIMEOUT,
        UNANSWERED,
        severity="critical",
        says=("while the storage does not answer; there is no evidence against the disk itself",),
    ),
    Conclusion("it ends with a quiet morning", shown(look(TIMEOUT, UNANSWERED), quiet_ms=3 * HOUR_MS), {}),
    Conclusion(
        "a volume that stalls takes its directory offline",
        offline_after(TIMEOUT),
        {"log_dir_offline": "remount"},
        says=("the storage does not answer", "nvme3"),
    ),
    Conclusion(
        "so it does by the I/O errors that follow, and a file system that turns read-only",
        offline_after(TIMEOUT, UNANSWERED, "EXT4-fs (nvme3n1): Remounting filesystem read-only"),
        {"log_dir_offline": "remount"},
        never_says=("disk failure",),
    ),
    Conclusion(
        "a file system turns read-only for the device below it, in one look",
        offline_after(
            IO_ERROR, "Aborting journal on device sdd1-8.", "EXT4-fs (sdd1): Remounting filesystem read-only"
        ),
        {"log_dir_offline": "failed"},
    ),
    Conclusion(
        "a drive that does not come back has failed",
        offline_after(TIMEOUT, ABSENT, UNANSWERED),
        {"log_dir_offline": "failed"},
        says=("disk failure", "nvme3"),
    ),
    Conclusion(
        "without memory a journal ends: the disk is fine, and so is the file system once it is mounted again",
        offline_after(
            "Aborting journal on device sdd1-8.",
            "EXT4-fs error (device sdd1) in ext4_do_update_inode:4711: Journal has aborted",
            "EXT4-fs error (device sdd1) in ext4_setattr:5009: Out of memory",
            "EXT4-fs (sdd1): Remounting filesystem read-only",
        ),
        {"log_dir_offline": "limit"},
        says=("memory of the host", "the disk is fine"),
        never_says=("max_map_count", "repair it"),
    ),
    Conclusion(
        "damage is none for lack of memory",
        offline_after("BTRFS: error (device sdd1) in x:1: errno=-12 Out of memory", "XFS (sdd1): Corruption detected!"),
        {"log_dir_offline": "file_system"},
    ),
    suspect_of(
        "a file system without memory, before anything goes offline",
        'XFS (dm-4): metadata I/O error in "x" at daddr 0x80 len 32 error 12',
        severity="critical",
        says=("no memory for it", "the disk is fine"),
    ),
    suspect_of("XFS shut down", "XFS (dm-4): I/O Error Detected. Shutting down filesystem", severity="critical"),
    suspect_of("ext4 loses data", "EXT4-fs (dm-4): This should not happen!! Data will be lost", severity="critical"),
    suspect_of("a full thin pool", THIN, severity="critical", says=("until the pool has space",)),
    suspect_of(
        "a controller that is reset",
        "megaraid_sas 0000:3b:00.0: Found FW in FAULT state, will reset adapter",
        says=("0000:3b:00.0", "check the path to it first"),
    ),
    suspect_of("a lost path", FAILING_PATH, says=("8:16", "check the path to it first")),
    suspect_of("an iSCSI session in trouble", " connection1:0: detected conn error (1022)", says=("session1",)),
    suspect_of("a silent NFS server", "nfs: server nas1 not responding, still trying", says=("nas1",)),
    suspect_of("a SATA link that is slow to respond", "ata3: link is slow to respond, please be patient (ready=0)"),
    Conclusion(
        "a path that is back", shown(look(FAILING_PATH), look(FAILING_PATH.replace("Failing", "Reinstating"))), {}
    ),
    Conclusion("I/O errors of a lost path end with it", shown(look(IO_ERROR, FAILING_PATH), look(REINSTATED)), {}),
    Conclusion("so they do where it is lost and back in one look", shown(look(FAILING_PATH, IO_ERROR, REINSTATED)), {}),
    Conclusion("and with a quiet morning", shown(look(IO_ERROR, FAILING_PATH), quiet_ms=3 * HOUR_MS), {}),
    Conclusion("those of a full pool end with it", shown(look(THIN, IO_ERROR), look(EXTENDED)), {}),
    Conclusion("an I/O error after the path is back", shown(look(FAILING_PATH, REINSTATED, IO_ERROR)), SUSPECT),
    Conclusion(
        "an I/O error long before a path was lost is of the disk",
        shown(look(IO_ERROR), *[look()] * 1500, look(FAILING_PATH), look(REINSTATED)),
        SUSPECT,
        never_says=("resolved",),
    ),
    Conclusion(
        "an unreadable sector stays when the path is back", shown(look(MEDIUM, FAILING_PATH), look(REINSTATED)), SUSPECT
    ),
    Conclusion(
        "a failed part of the device stays when the path is back",
        shown(look(HARDWARE, IO_ERROR, FAILING_PATH), look(REINSTATED)),
        SUSPECT,
        says=("Hardware Error",),
    ),
    Conclusion(
        "a server that answers again",
        shown(look("nfs: server nas1 not responding, still trying"), look("nfs: server nas1 OK")),
        {},
    ),
    Conclusion(
        "a pool that was extended", shown(look(THIN), look(THIN.replace("out-of-data-space (queue IO)", "write"))), {}
    ),
    Conclusion("a full pool and a probe that passes", shown(look(THIN), quiet_ms=DAY_MS), SUSPECT),
    Conclusion("a lost path and an hour", shown(look(FAILING_PATH), quiet_ms=HOUR_MS), SUSPECT),
    Conclusion("a lost path and a quiet morning", shown(look(FAILING_PATH), quiet_ms=3 * HOUR_MS), {}),
    degraded("an array lost a member", look(LOST_SDD), says=("sdd1", "raid1:md0", GOES_ON)),
    degraded("and says how many are left", look(LOST_SDD, CONTINUES), says=("Disk failure on sdd1", "md0", GOES_ON)),
    degraded("the lines of two looks", look(LOST_SDD), look(CONTINUES), says=("Disk failure on sdd1", GOES_ON)),
    degraded("only the number of those left was read", look(CONTINUES), says=("md0: Operation continuing", GOES_ON)),
    degraded("the errors of the member that the array gave up", look(MEDIUM, IO_ERROR, HARDWARE, LOST_SDD, CONTINUES)),
    degraded(
        "errors of the member before, in another look",
        look(MEDIUM, IO_ERROR),
        look(LOST_SDD, CONTINUES),
        says=("because the array goes on",),
    ),
    degraded("errors of the member afterwards", look(LOST_SDD), look(IO_ERROR, OFFLINE_DISK), look(MEDIUM)),
    degraded("it stays degraded through a quiet day", look(LOST_SDD), quiet_ms=DAY_MS),
    degraded("an array that was assembled without a member", look("md: kicking non-fresh sdd1 from array!")),
    degraded("an array that was degraded at boot", look("md/raid:md0: raid level 5 active with 2 out of 3 devices")),
    degraded("mdadm tells it", look("mdadm[7]: Fail event detected on md device /dev/md0, component device /dev/sdd1")),
    degraded("two of three members, one restored", look(LOST_SDD, LOST_SDE), look(REBUILT), says=("sde1", GOES_ON)),
    degraded("another array is whole again", look(LOST_SDD), look(REBUILT.replace("md0", "md1"))),
    degraded("a resync that was interrupted", look(LOST_SDD), look("md: md0: recovery interrupted.")),
    degraded("a degraded drive of a controller", look(DRIVE), says=("VD 00/1", GOES_ON), quiet_ms=DAY_MS),
    degraded(
        "another drive of the controller is whole",
        look(DRIVE),
        look(DRIVE.replace("CRIT", "INFO").replace("00/1 is now DEGRADED", "01/2 is now OPTIMAL")),
    ),
    Conclusion(
        "the drive is whole", shown(look(DRIVE), look(DRIVE.replace("CRIT", "INFO").replace("DEGRADED", "OPTIMAL"))), {}
    ),
    degraded("an array of LVM", look(LOST_SDD.replace("md0", "mdX"), LVM), says=("Disk failure on sdd1", GOES_ON)),
    Conclusion("it is whole again", shown(look(LOST_SDD.replace("md0", "mdX"), LVM), look(LVM_WHOLE)), {}),
    Conclusion("the member was replaced", shown(look(LOST_SDD, CONTINUES), look(REBUILT)), {}),
    Conclusion("so it was in one look", shown(look(IO_ERROR, LOST_SDD, CONTINUES, REBUILT)), {}),
    Conclusion("two members, two recoveries", shown(look(LOST_SDD, LOST_SDE), look(REBUILT), look(REBUILT)), {}),
    Conclusion(
        "a start found every member", shown(look(LOST_SDD), look("md/raid1:md0: active with 2 out of 2 mirrors")), {}
    ),
    suspect_of(
        "too many members are lost",
        LOST_SDD,
        "md/raid:md0: Cannot continue operation (2/3 failed).",
        severity="critical",
        says=("Cannot continue",),
    ),
    suspect_of(
        "an array without redundancy",
        "md/raid0:md0: Disk failure on sdd1 detected, failing array.",
        severity="critical",
        says=("failing array", "sdd1"),
    ),
    suspect_of(
        "an unreadable sector of the member that is left", LOST_SDD, MEDIUM.replace("sdd", "sde"), says=("sde",)
    ),
    suspect_of("the array itself fails", LOST_SDD, IO_ERROR.replace("sdd", "md0"), severity="critical", says=("md0",)),
    suspect_of("errors before the array gave a member up", IO_ERROR, severity="critical", says=("sdd",)),
    Conclusion(
        "errors of a new disk under the name of the old one",
        shown(look(LOST_SDD), look(REBUILT), look(IO_ERROR)),
        SUSPECT,
        {"log_dir_suspect": "critical"},
    ),
    Conclusion(
        "a member that the array gave up explains no failure of the directory",
        offline_after(IO_ERROR, LOST_SDD, CONTINUES),
        {"log_dir_offline": "unknown"},
    ),
    Conclusion(
        "nor does it hide that the directory was full",
        offline_after(IO_ERROR, LOST_SDD, used=1.0),
        {"log_dir_offline": "full"},
    ),
    Conclusion(
        "an array that cannot go on does",
        offline_after(LOST_SDD, "md/raid:md0: Cannot continue operation (2/3 failed)."),
        {"log_dir_offline": "failed"},
        says=("md0",),
    ),
    nothing_of("an array of another volume", LOST_SDD.replace("sdd1", "sdz1").replace("md0", "md9")),
    nothing_of("an array is checked", "md: data-check of RAID array md0", "md: md0: data-check done."),
    nothing_of("completion polled", "nvme nvme3: I/O 978 QID 3 timeout, completion polled"),
    nothing_of("mounted", "XFS (dm-4): Ending clean mount"),
    nothing_of("recovered cleanly", "EXT4-fs (dm-4): recovery complete"),
    nothing_of("a link that came up", "ata3: SATA link up 6.0 Gbps (SStatus 133 SControl 300)", "ata3: EH complete"),
    nothing_of(
        "a discard that the disk does not know", "blk_update_request: I/O error, dev sdd, sector 0 op 0x3:(DISCARD)"
    ),
    nothing_of("a path that is back, of which nobody knew that it was lost", REINSTATED),
    nothing_of("a disk attached", "sd 2:0:0:0: [sdd] Attached SCSI disk"),
    nothing_of("a sector that a mirror corrected", "md/raid1:md0: read error corrected (8 sectors at 4096 on sdd1)"),
    nothing_of("another disk of the host", "I/O error, dev sdz, sector 7"),
    Conclusion(
        "the paths of another mount namespace", shown([host_dir("/d1", config_error="does not exist on this host")]), {}
    ),
]


def facing(why, device="sdd", **fields):
    """A suspect directory that follows only; another broker leads, a third has room."""

    def given():
        texts = {kind: fields[kind] for kind in ("probe", "array_degraded", "device_error") if kind in fields}
        evidence = {"why": why, "device": device, **texts}
        about = b.alert(Rule.LOG_DIR_SUSPECT, log_dir="/d1", to="online", cause=None, evidence=evidence)
        return about, b.facts(
            replace(b.directory(1, "/d1", 400 * b.MIB), is_suspect=True),
            b.directory(1, "/d2", 410 * b.MIB),
            b.directory(2, "/d1", used=10 * b.MIB),
            b.directory(3, used=20 * b.MIB),
            b.topic("t", fields.get("replicas", (2, 1))),
            b.replica(1, "/d1", "t"),
            b.replica(2, "/d1", "t"),
        )

    return given


def only_copy(*others):
    """A suspect directory holds the only replica of a topic."""

    def given():
        evidence = {"why": ["medium_error"], "device": "sdd"}
        about = b.alert(Rule.LOG_DIR_SUSPECT, log_dir="/d1", to="online", cause=None, evidence=evidence)
        suspect = replace(b.directory(1, "/d1"), is_suspect=True)
        return about, b.facts(suspect, *others, b.topic("solo", (1,)), b.replica(1, "/d1", "solo", size=300 * b.MIB))

    return given


def hanging():
    evidence = {"why": ["hung"], "device": None}
    about = b.alert(Rule.LOG_DIR_SUSPECT, log_dir=None, to="online", cause=None, evidence=evidence)
    return about, b.facts(b.directory(1, "/d1"), b.directory(2, "/d1"), b.topic("t", (2, 1)), b.replica(1, "/d1", "t"))


ALL_MOVES = ("reassign", "move_log_dir", "replace_disk")
ADVICE = [
    Advice(
        "an unreadable sector", facing(["medium_error"]), first="reassign", says=("disk sdd", "plan to replace sdd")
    ),
    Advice("a failed device", facing(["device_error"], "nvme3"), first="reassign", says=("plan to replace nvme3",)),
    Advice(
        "an unreadable sector where the directory leads",
        facing(["medium_error"], replicas=(1, 2)),
        first="demote_leaders",
        says=("plan to replace sdd", "logdirwatch alerts healthy"),
    ),
    Advice(
        "an unreadable sector below the only copy, for which only the broker itself has room",
        only_copy(b.directory(1, "/d2", 50 * b.MIB), b.directory(2, used=950 * b.MIB)),
        first="move_log_dir",
        ready=("move_log_dir",),
        lossless=True,
        says=("/d1 is about to fail, and no other broker can take this: move 300 MiB",),
        never_says=("nothing can be moved off it",),
    ),
    Advice(
        "an unreadable sector below the only copy, and no room anywhere",
        only_copy(b.directory(2, used=950 * b.MIB)),
        first="investigate",
        never=("move_log_dir", "reassign"),
        says=("nothing can be moved off it now",),
    ),
    Advice("a lost path", facing(["path_lost"], "8:16"), first="investigate", never=ALL_MOVES, says=("multipath -ll",)),
    Advice(
        "I/O errors beside a lost path are of the path",
        facing(["device_error", "path_lost"], "8:16, sdd"),
        first="investigate",
        never=ALL_MOVES,
        never_says=("replace",),
    ),
    Advice(
        "an unreadable sector beside a lost path is of the disk",
        facing(["medium_error", "path_lost"]),
        first="reassign",
        says=("plan to replace sdd",),
    ),
    Advice(
        "a silent server",
        facing(["server_not_responding"], "nas1"),
        first="investigate",
        never=ALL_MOVES,
        says=("nas1",),
    ),
    Advice(
        "a silent server, and the probe hangs",
        facing(["probe", "server_not_responding"], "nas1"),
        first="investigate",
        never=ALL_MOVES,
    ),
    Advice(
        "commands that time out",
        facing(["command_failed"], "nvme3"),
        first="investigate",
        never=ALL_MOVES,
        says=("the controller",),
    ),
    Advice(
        "commands that get no answer, and I/O that fails for it",
        facing(["device_error", "timed_out"], "nvme3, nvme3n1", device_error=UNANSWERED),
        first="investigate",
        never=ALL_MOVES,
        says=("what the cloud says of the volume", "nvme_core.io_timeout"),
    ),
    Advice(
        "commands that get no answer until the device is gone",
        facing(["device_error", "timed_out"], "nvme3", device_error=ABSENT),
        first="reassign",
    ),
    Advice(
        "a task that hangs on a volume",
        facing(["hung"], "dm-4"),
        first="investigate",
        never=ALL_MOVES,
        says=("iostat -x",),
    ),
    Advice("a task of the broker that hangs", hanging, first="investigate", never=ALL_MOVES, says=("/proc/PID/stack",)),
    Advice(
        "a lost path where the directory leads",
        facing(["path_lost"], replicas=(1, 2)),
        first="investigate",
        order=("investigate", "demote_leaders"),
        never=ALL_MOVES,
    ),
    Advice(
        "a full pool",
        facing(["pool_full"], "253:4"),
        first="investigate",
        never=ALL_MOVES,
        says=("extend the thin pool 253:4", "lvextend"),
    ),
    Advice(
        "a full pool that makes writes fail",
        facing(["pool_full", "probe"], "253:4"),
        first="investigate",
        never=ALL_MOVES,
        says=("lvextend",),
    ),
    Advice(
        "a damaged file system",
        facing(["file_system_error"], "dm-4"),
        first="investigate",
        never=ALL_MOVES,
        says=("xfs_repair -n", "dm-4"),
    ),
    Advice(
        "a file system that a failed device damaged",
        facing(["device_error", "file_system_error", "remounted_read_only"]),
        first="reassign",
        says=("plan to replace sdd",),
    ),
    Advice(
        "mounted read-only by the kernel",
        facing(["read_only", "remounted_read_only"], "dm-4"),
        first="investigate",
        never=ALL_MOVES,
    ),
    Advice(
        "mounted read-only, and the kernel says nothing",
        facing(["read_only"], None),
        first="investigate",
        never=ALL_MOVES,
        says=("Mount it writable again", "do not format"),
    ),
    Advice(
        "a path where there is no directory any more",
        facing(["no_directory"], None),
        first="investigate",
        never=ALL_MOVES,
        says=("check the mount",),
    ),
    Advice(
        "a probe that meets a read-only mount",
        facing(["probe"], None, probe="the probe failed: Read-only file system"),
        first="investigate",
        never=ALL_MOVES,
        says=("check the mount",),
    ),
    Advice(
        "a probe that finds no space",
        facing(["probe"], None, probe="the probe failed: No space left on device"),
        first="investigate",
        never=ALL_MOVES,
        says=("see what ran out",),
    ),
    Advice(
        "a probe that may not write",
        facing(["probe"], None, probe="the probe failed: Permission denied"),
        first="investigate",
        never=ALL_MOVES,
    ),
    Advice(
        "a probe that meets an I/O error",
        facing(["probe"], None, probe="the probe failed: Input/output error"),
        first="reassign",
    ),
    Advice(
        "an array that lost a member",
        facing(["array_degraded"], "md0, sdd1", array_degraded=f"the kernel reports for sdd1: {LOST_SDD}"),
        first="investigate",
        never=ALL_MOVES,
        says=("the array md0", "its member sdd1 failed", "mdadm --manage /dev/md0", "alerts healthy"),
    ),
    Advice(
        "a degraded drive of a controller",
        facing(["array_degraded"], "0000:3b:00.0", array_degraded=f"the kernel reports for 0000:3b:00.0: {DRIVE}"),
        first="investigate",
        never=ALL_MOVES,
        says=("look at the array below /d1", "storcli"),
        never_says=("its member 0000:3b",),
    ),
    Advice(
        "an array that lost a member and then failed",
        facing(["array_degraded", "device_error"], "md0, sdd1", device_error="md/raid:md0: Cannot continue operation"),
        first="reassign",
        says=("plan to replace",),
    ),
    Advice("a slow disk", facing(["slow_probe"], None), first="investigate", never=ALL_MOVES, never_says=("replace",)),
    Advice("a failing probe as before", facing(["probe"], None), first="reassign", never_says=("plan to replace",)),
]


@pytest.mark.parametrize("row", CONCLUSIONS, ids=lambda row: row.name)
def test_what_is_concluded(row):
    check_conclusion(row)


@pytest.mark.parametrize("row", ADVICE, ids=lambda row: row.name)
def test_what_is_advised(row):
    check_advice(row)
