"""Offline directories: what must be advised for each cause, and what must never be."""

import pytest
from msgspec.structs import replace as changed

from logdirwatch.model.vocabulary import BrokerStatus, Cause, Lane, Rule
from logdirwatch.plan.recommend import recommend
from tests.unit.plan import builders as b
from tests.unit.situations.table import Advice, check_advice

ELSEWHERE = (b.directory(2, used=10 * b.MIB), b.directory(3, used=20 * b.MIB))


def _lost(cause, *parts, evidence=None, used=400 * b.MIB, copies=True, volume=None, **fields):
    """One directory of broker 1 is offline; its one replica has another copy, or none."""

    def given():
        replicas = (1, 2) if copies else (1,)
        held = b.topic("t", replicas, isr=None if copies else {0: (1,)}, leaderless=() if copies else (0,))
        known = b.facts(
            b.offline(1, "/d1", cause, used=used, volume=volume),
            b.directory(1, "/d2"),
            *ELSEWHERE,
            held,
            *(b.replica(number, "/d1", "t") for number in replicas),
            *parts,
        )
        return b.alert(cause=cause, evidence=evidence or {}, **fields), known

    return given


def _together(causes, *parts, cause=Cause.UNKNOWN, evidence=None):
    """Several directories of broker 1 are offline in one alert; each held a replica of a topic of two."""
    paths = [f"/d{number}" for number in range(1, len(causes) + 1)]

    def given():
        listed = {path: {"cause": str(one), "decided_by": "x"} for path, one in zip(paths, causes, strict=True)}
        known = b.facts(
            *(
                b.offline(1, path, one, used=(300 + n) * b.MIB)
                for n, (path, one) in enumerate(zip(paths, causes, strict=True))
            ),
            b.directory(1, "/serves"),
            *ELSEWHERE,
            b.topic("t", *[(1, 2)] * len(paths)),
            *(b.replica(1, path, "t", number) for number, path in enumerate(paths)),
            *(b.replica(2, "/d1", "t", number) for number in range(len(paths))),
            *parts,
        )
        told = {"log_dirs": listed} | (evidence or {})
        return b.alert(cause=cause, evidence=told), known

    return given


def _two_full_disks():
    listed = {path: {"cause": "full", "decided_by": "broker_log", "full_by": "space"} for path in ("/d1", "/d2")}
    known = b.facts(
        *(b.offline(1, path, Cause.FULL, used=b.SIZE) for path in ("/d1", "/d2")),
        b.directory(1, "/serves"),
        *ELSEWHERE,
        b.topic("t", (1, 2), (1, 2)),
        *(b.replica(1, path, "t", number, size=900 * b.MIB) for number, path in enumerate(("/d1", "/d2"))),
    )
    return b.alert(cause=Cause.FULL, evidence={"log_dirs": listed}), known


DEVICE = {"decided_by": "kernel_log", "device": "sdd", "said": "critical medium error, dev sdd, sector 31231"}
QUOTA = {"decided_by": "broker_log", "full_by": "quota", "said": "append failed: Disk quota exceeded"}
INODES = {"decided_by": "host_inodes", "full_by": "inodes", "used_inodes_ratio": 1.0}
NEEDED = b.topic("u", (1, 2), isr={0: (1,)})
AWAY = b.broker(3, BrokerStatus.OFFLINE)
POOL = "device-mapper: thin: 253:4: switching pool to out-of-data-space (error IO) mode"
LEG = {"decided_by": "kernel_log", "device": "sdb1", "said": "md/raid1:md0: Disk failure on sdb1, disabling device."}
BELOW = {"decided_by": "kernel_log", "device": "sdb", "said": "I/O error, dev sdb, sector 9 op 0x1:(WRITE)"}
ARRAY = {
    "decided_by": "kernel_log",
    "device": "md9",
    "said": "md/raid5:md9: not enough operational devices (2/5 failed)",
}
STRIPES = LEG | {"said": "md/raid0:md0: Disk failure on sdb1 detected, failing array."}
MEMBER_ROWS = [
    Advice(
        "a failed leg of a mirror is replaced in its array, and nothing is formatted",
        _lost(Cause.FAILED, evidence=LEG),
        first="investigate",
        order=("investigate", "restart_broker", "reassign"),
        ready=("restart_broker", "reassign"),
        never=("replace_disk",),
        says=("look at the array md0 below /d1 of broker 1: its member sdb1 failed", "mdadm --manage /dev/md0 --fail"),
        never_says=("kafka-storage.sh format", "format it", "mount it empty", "mkfs"),
        lossless=True,
    ),
    Advice(
        "the only copy on an array with a failed leg is no copy on a dead disk",
        _lost(Cause.FAILED, evidence=LEG, copies=False),
        first="investigate",
        ready=("restart_broker",),
        never=("replace_disk",),
        never_says=("kafka-storage.sh format", "is lost with it", "ddrescue /dev/sdb1"),
        lossless=True,
    ),
    Advice(
        "a disk that is a part of the array by its volume alone",
        _lost(Cause.FAILED, evidence=BELOW, volume="dev 9:127"),
        first="investigate",
        ready=("restart_broker",),
        never=("replace_disk",),
        says=("look at the array md127 below /d1", "its member sdb failed"),
    ),
    Advice(
        "an array with too few members left is lost, and made again as a whole",
        _lost(Cause.FAILED, evidence=ARRAY),
        order=("reassign", "replace_disk"),
        vetoes={"restart_broker": ("known_sick_disk",)},
        says=("replace the failed members of the array md9 and make it again under /d1",),
        never_says=("replace the disk md9",),
    ),
    Advice(
        "of stripes every member is needed",
        _lost(Cause.FAILED, evidence=STRIPES),
        order=("reassign", "replace_disk"),
        says=("replace the failed members (sdb1) of the array md0 and make it again under /d1",),
    ),
]
ROWS = [
    Advice(
        "nobody knows why: look, then restart",
        _lost(Cause.UNKNOWN),
        first="investigate",
        order=("investigate", "restart_broker"),
        ready=("restart_broker",),
        never=("replace_disk", "reassign"),
        says=("nothing proves that a disk broke", "ls -la -- /d1", "findmnt --target /d1", "dmesg -T", "broker's log"),
        never_says=("mkfs", "whether it is full or failed is not known yet"),
        lossless=True,
    ),
    Advice(
        "files vanished below it",
        _lost(Cause.UNKNOWN, evidence={"said": "delete failed: NoSuchFileException: /d1/t-0/1.log"}),
        first="investigate",
        ready=("restart_broker",),
        never=("replace_disk",),
        says=("NoSuchFileException",),
    ),
    Advice(
        "nobody knows why, and the broker is needed: copies elsewhere meanwhile",
        _lost(Cause.UNKNOWN, NEEDED),
        first="investigate",
        order=("investigate", "reassign", "restart_broker"),
        ready=("reassign",),
        never=("restart_broker", "replace_disk"),
        vetoes={"restart_broker": ("last_in_sync_replica",)},
        lossless=True,
    ),
    Advice(
        "nobody knows why, and another broker is down",
        _lost(Cause.UNKNOWN, AWAY),
        first="investigate",
        vetoes={"restart_broker": ("other_broker_down",)},
        never=("restart_broker", "replace_disk"),
    ),
    Advice(
        "the only copy lies there, and nobody knows why it is offline",
        _lost(Cause.UNKNOWN, copies=False),
        first="investigate",
        ready=("restart_broker",),
        never=("replace_disk", "elect_leaders"),
        lossless=True,
    ),
    Advice(
        "the fast lane knows nothing yet",
        _lost(Cause.UNKNOWN, lane=Lane.FAST, revision=0),
        first="investigate",
        never=("restart_broker", "replace_disk", "reassign"),
    ),
    Advice(
        "the kernel names a dying device",
        _lost(Cause.FAILED, evidence=DEVICE),
        first="reassign",
        order=("reassign", "replace_disk"),
        never=("restart_broker",),
        vetoes={"restart_broker": ("known_sick_disk",)},
        says=("replace the disk sdd under /d1 of broker 1", "critical medium error, dev sdd"),
    ),
    Advice(
        "the log says I/O error",
        _lost(Cause.FAILED, evidence={"decided_by": "broker_log", "said": "append failed: Input/output error"}),
        first="investigate",
        order=("investigate", "reassign", "replace_disk"),
        says=("evidence: append failed: Input/output error", "the server of a share", "nothing has to be copied"),
    ),
    Advice(
        "the log and the host's own probe say I/O error, and no kernel line names a device",
        _lost(Cause.FAILED, evidence={"decided_by": "host_io_error", "said": "probe: [Errno 5] Input/output error"}),
        first="investigate",
        order=("investigate", "reassign", "replace_disk"),
    ),
    Advice(
        "the log says I/O error, and the kernel names the device",
        _lost(Cause.FAILED, evidence={"decided_by": "broker_log", "said": "Input/output error", "device": "sdd"}),
        first="reassign",
        order=("reassign", "replace_disk"),
        never_says=("nothing names the device",),
    ),
    Advice(
        "no space left where half is free: metadata chunks of btrfs may be what ran out",
        _lost(Cause.FULL, evidence={"said": "roll failed: No space left on device"}),
        says=("btrfs filesystem usage /d1", "chunks for metadata"),
    ),
    Advice(
        "the only copy lies on a dying disk: saved before it is replaced",
        _lost(Cause.FAILED, evidence=DEVICE, copies=False),
        first="investigate",
        order=("investigate", "replace_disk"),
        says=("save the data that only /d1 of broker 1 holds", "ddrescue /dev/sdd", "mount -o remount,ro", "t-0"),
    ),
    Advice(
        "some of it has no other copy",
        _lost(Cause.FAILED, b.topic("solo", (1,), leaderless=(0,)), b.replica(1, "/d1", "solo"), evidence=DEVICE),
        first="reassign",
        order=("reassign", "investigate", "replace_disk"),
        says=("solo-0",),
    ),
    Advice(
        "the log says I/O error, nothing names a device, and no broker has room: somebody looks before a format",
        _lost(
            Cause.FAILED,
            b.directory(2, used=900 * b.MIB),
            b.directory(3, used=900 * b.MIB),
            evidence={"decided_by": "broker_log", "said": "append failed: Input/output error"},
        ),
        first="investigate",
        order=("investigate", "replace_disk"),
        says=("nothing names the device", "Replace only a device that the kernel's log or SMART condemns", "dmesg -T"),
    ),
    Advice(
        "a dying device below a mapped volume",
        _lost(Cause.FAILED, evidence={"device": "dm-4", "said": "Buffer I/O error on dev dm-4, logical block 8"}),
        says=("replace the disk below dm-4 (lsblk -s shows which) under /d1",),
        never_says=("the disk dm-4",),
    ),
    Advice(
        "a dying device, and nothing may be done to its broker yet",
        _lost(Cause.FAILED, NEEDED, b.directory(3, used=900 * b.MIB), evidence=DEVICE),
        first="investigate",
        never=("replace_disk", "restart_broker"),
        says=("first fix what the vetoes name",),
        never_says=("whether the disk is full or broken",),
    ),
    Advice(
        "a thin pool without room, which the kernel names",
        _lost(Cause.FULL, evidence={"decided_by": "kernel_log", "device": "253:4", "said": POOL}),
        first="investigate",
        ready=("restart_broker",),
        never=("expand_disk", "replace_disk"),
        says=("extend the thin pool below /d1 of broker 1", "lvextend"),
        never_says=("inodes, a quota",),
    ),
    Advice(
        "a damaged btrfs",
        _lost(Cause.FILE_SYSTEM, evidence={"device": "sdc", "said": "BTRFS warning (device sdc): csum failed root 5"}),
        first="restart_broker",
        says=("btrfs check --readonly /dev/sdc", "btrfs scrub"),
        never_says=("xfs_repair", "fsck -f"),
    ),
    Advice(
        "a limit that the log of one directory names, and others that went with it",
        _together([Cause.UNKNOWN, Cause.LIMIT, Cause.UNKNOWN], cause=Cause.LIMIT),
        first="raise_limit",
        order=("raise_limit", "restart_broker"),
        ready=("restart_broker",),
        never=("replace_disk",),
        never_says=("look for a common cause", "find out why"),
    ),
    Advice(
        "a read-only mount",
        _lost(Cause.READ_ONLY, evidence={"decided_by": "host_read_only"}),
        first="investigate",
        ready=("restart_broker",),
        never=("replace_disk", "reassign"),
        says=("check the mount of /d1", "do not format it", "delete the pod"),
        lossless=True,
    ),
    Advice(
        "a stale handle",
        _lost(Cause.REMOUNT, evidence={"said": "look: Stale file handle"}),
        first="investigate",
        ready=("restart_broker",),
        never=("replace_disk",),
        says=("check the mount of /d1", "Stale file handle", "do not format it"),
    ),
    Advice(
        "a lost mount, and the broker must not stop",
        _lost(Cause.REMOUNT, NEEDED),
        first="investigate",
        vetoes={"restart_broker": ("last_in_sync_replica",)},
        ready=("reassign",),
        never=("replace_disk",),
    ),
    Advice(
        "a corrupt file system",
        _lost(Cause.FILE_SYSTEM, evidence={"device": "sdd1", "said": "Structure needs cleaning"}),
        first="restart_broker",
        order=("restart_broker", "reassign"),
        ready=("restart_broker", "reassign"),
        never=("replace_disk",),
        says=("xfs_repair -n /dev/sdd1", "fsck -f /dev/sdd1", "nothing is formatted", "-L throws data away"),
        never_says=("kafka-storage.sh format", "mkfs"),
        lossless=True,
    ),
    Advice(
        "a corrupt file system on a broker that is needed",
        _lost(Cause.FILE_SYSTEM, NEEDED),
        vetoes={"restart_broker": ("last_in_sync_replica",)},
        ready=("reassign",),
        never=("restart_broker", "replace_disk"),
    ),
    Advice(
        "too many open files",
        _lost(Cause.LIMIT, evidence={"said": "roll failed: Too many open files"}),
        first="raise_limit",
        order=("raise_limit", "restart_broker"),
        ready=("restart_broker",),
        never=("replace_disk", "reassign"),
        says=("LimitNOFILE",),
        never_says=("vm.max_map_count",),
    ),
    Advice(
        "no memory map left",
        _lost(Cause.LIMIT, evidence={"said": "roll failed: Map failed"}),
        first="raise_limit",
        says=("vm.max_map_count",),
        never_says=("LimitNOFILE",),
    ),
    Advice(
        "a file too large",
        _lost(Cause.LIMIT, evidence={"said": "append failed: File too large"}),
        first="raise_limit",
        says=("LimitFSIZE",),
    ),
    Advice(
        "the broker's user may not write",
        _lost(Cause.PERMISSION, evidence={"said": "Permission denied"}),
        first="grant_permission",
        order=("grant_permission", "restart_broker"),
        ready=("grant_permission", "restart_broker"),
        never=("replace_disk",),
        says=("namei -l /d1", "its disk is fine"),
    ),
    Advice(
        "a quota at 40 % use",
        _lost(Cause.FULL, evidence=QUOTA),
        first="raise_limit",
        order=("raise_limit", "restart_broker"),
        never=("expand_disk", "replace_disk"),
        says=("raise the disk quota of /d1", "while 40.0 % of the volume's space is used", "ceph.quota.max_bytes"),
        never_says=("by 2 B", "grow the volume", "is full"),
    ),
    Advice(
        "a quota that only the log's line names",
        _lost(Cause.FULL, evidence={"event_detail": "checkpoint failed: java.io.IOException: Disk quota exceeded"}),
        first="raise_limit",
        never=("expand_disk",),
        never_says=("grow the volume",),
    ),
    Advice(
        "a quota on a volume that is nearly full as well",
        _lost(Cause.FULL, evidence=QUOTA, used=990 * b.MIB),
        first="raise_limit",
        never=("expand_disk",),
    ),
    Advice(
        "no inodes at 40 % use",
        _lost(Cause.FULL, evidence=INODES),
        first="investigate",
        order=("investigate", "restart_broker"),
        never=("expand_disk", "replace_disk"),
        says=("free inodes in /d1", "100.0 % of the inodes used", "df -i -- /d1"),
        never_says=("grow the volume", "by 2 B"),
    ),
    Advice(
        "no space at 40 % use, and nobody knows of what",
        _lost(Cause.FULL, evidence={"said": "append failed: No space left on device"}),
        first="investigate",
        order=("investigate", "restart_broker"),
        never=("expand_disk", "replace_disk"),
        says=("find out what ran out in /d1", "df -i -- /d1", "lvs -a"),
        never_says=("by 2 B",),
    ),
    Advice(
        "no space left",
        _lost(Cause.FULL, used=1000 * b.MIB, evidence={"full_by": "space"}),
        first="expand_disk",
        order=("expand_disk", "investigate", "restart_broker"),
        never=("replace_disk",),
    ),
    Advice(
        "two directories at once, of no known cause",
        _together([Cause.UNKNOWN] * 2),
        first="investigate",
        order=("investigate", "restart_broker", "reassign"),
        ready=("restart_broker", "reassign"),
        never=("replace_disk",),
        says=(
            "2 directories of broker 1 are offline at once: look for a common cause first",
            "(controller, bus, mount, limit)",
            "rebuild 2 replicas lost in /d1, /d2 of broker 1",
            "only that brings /d1, /d2 back",
        ),
        lossless=True,
    ),
    Advice(
        "twelve directories at once",
        _together([Cause.UNKNOWN] * 12),
        first="investigate",
        ready=("restart_broker", "reassign"),
        never=("replace_disk",),
        says=("12 directories of broker 1", "rebuild 8 replicas lost in /d1, /d2, /d3, /d4, /d5 and 7 more"),
    ),
    Advice(
        "twelve directories at a limit: raised once, restarted once",
        _together([Cause.LIMIT] * 12, cause=Cause.LIMIT),
        first="raise_limit",
        order=("raise_limit", "restart_broker"),
        never=("replace_disk",),
        never_says=("look for a common cause",),
    ),
    Advice(
        "one of three directories has a dying disk, the others are not explained",
        _together([Cause.FAILED, Cause.UNKNOWN, Cause.UNKNOWN]),
        first="investigate",
        order=("investigate", "reassign", "replace_disk"),
        vetoes={"restart_broker": ("known_sick_disk",)},
        says=("3 directories of broker 1 are offline at once", "rebuild 1 replica"),
    ),
    Advice(
        "two directories of one full volume",
        _together([Cause.FULL] * 2, cause=Cause.FULL),
        first="investigate",
        ready=("restart_broker",),
        never=("replace_disk",),
    ),
    Advice(
        "two disks of one kind, each full to the last byte with its own replicas",
        _two_full_disks,
        says=("grow the volume under /d1", "grow the volume under /d2", "/d2 of broker 1 is full: free space there"),
        never=("replace_disk",),
    ),
    Advice(
        "all directories with I/O errors: something before the disks",
        _together([Cause.FAILED] * 4, cause=Cause.FAILED),
        says=("4 directories of broker 1 are offline at once: look for a common cause first",),
        first="reassign",
        never=("replace_disk",),
        vetoes={"replace_disk": ("common_cause",)},
    ),
    Advice(
        "disks of three brokers at once",
        _lost(Cause.FAILED, b.offline(2, "/d9"), b.offline(3, "/d9"), evidence=DEVICE),
        says=("3 directories of brokers 1, 2, 3 are offline at once: look for a common cause first (storage network",),
    ),
    Advice(
        "directories of two brokers, last seen well within minutes of each other",
        _lost(
            Cause.UNKNOWN,
            b.offline(1, "/d1", Cause.UNKNOWN, sample_at_ms=b.NOW_MS),
            b.offline(2, "/d9", sample_at_ms=b.NOW_MS - 600_000),
        ),
        says=("2 directories of brokers 1, 2 are offline at once",),
    ),
    Advice(
        "directories of two brokers, last seen well a little farther apart",
        _lost(
            Cause.UNKNOWN,
            b.offline(1, "/d1", Cause.UNKNOWN, sample_at_ms=b.NOW_MS),
            b.offline(2, "/d9", sample_at_ms=b.NOW_MS - 600_001),
        ),
        never_says=("look for a common cause",),
    ),
    Advice(
        "directories of two brokers, and nobody knows when they failed",
        _lost(Cause.UNKNOWN, b.offline(2, "/d9")),
        never_says=("look for a common cause",),
    ),
    Advice(
        "another directory that failed a day ago is no common cause",
        _lost(
            Cause.UNKNOWN,
            b.offline(1, "/d1", Cause.UNKNOWN, sample_at_ms=b.NOW_MS),
            b.offline(2, "/d9", sample_at_ms=b.NOW_MS - 86_400_000),
        ),
        never_says=("look for a common cause",),
    ),
]


def _runs_out_of_inodes():
    known = b.facts(
        b.directory(1, "/d1", 400 * b.MIB, status="saturated"),
        b.directory(1, "/d2"),
        *ELSEWHERE,
        b.topic("t", (2, 1)),
        b.replica(1, "/d1", "t"),
        b.replica(2, "/d1", "t"),
    )
    return b.space_alert("saturated", evidence={"decided_by": "inodes", "used_inodes_ratio": 0.97}), known


def _broker_away(cause, volume=None, **fields):
    def given():
        unseen = b.directory(1, "/d1", 400 * b.MIB, status="unknown", cause=cause, volume=volume)
        known = b.facts(b.broker(1, BrokerStatus.OFFLINE), unseen, *ELSEWHERE, b.topic("t", (1, 2)))
        about = b.alert(Rule.BROKER_OFFLINE, log_dir=None, cause=None, **fields)
        return about, known

    return given


AWAY_ROWS = [
    Advice(
        "inodes run out at 40 % use",
        _runs_out_of_inodes,
        first="investigate",
        never=("expand_disk", "lower_retention", "delete_records"),
        says=("free inodes in /d1", "few are left (97.0 % of the inodes used)", "df -i -- /d1"),
        never_says=("grow the volume",),
        lossless=True,
    ),
    Advice(
        "a broker halted on a corrupt file system",
        _broker_away(Cause.FILE_SYSTEM),
        first="restart_broker",
        vetoes={"restart_broker": ("unrepaired_file_system",)},
        never=("replace_disk",),
        says=("repair the file system of /d1",),
    ),
    Advice(
        "a broker halted on a full quota",
        _broker_away(Cause.FULL),
        never=("expand_disk", "replace_disk"),
        never_says=("by 2 B",),
    ),
    Advice(
        "a broker halted on an array of which a disk failed",
        _broker_away(Cause.FAILED, volume="dev 9:0"),
        first="investigate",
        never=("replace_disk",),
        says=("look at the array md0 below /d1 of broker 1: a member failed",),
        never_says=("kafka-storage.sh format",),
    ),
    Advice(
        "a broker halted at a limit",
        _broker_away(Cause.LIMIT),
        first="restart_broker",
        never=("replace_disk",),
        says=("raise the limit that /d1 ran into first",),
    ),
    Advice(
        "a broker halted without its mount",
        _broker_away(Cause.REMOUNT),
        first="restart_broker",
        says=("see that /d1 is mounted first",),
    ),
    Advice(
        "a broker halted on a read-only mount",
        _broker_away(Cause.READ_ONLY),
        first="restart_broker",
        never=("replace_disk",),
    ),
]


def test_each_of_several_disks_that_are_named_is_replaced_once_nothing_common_explains_it():
    """The kernel may name each device, and the controller be what failed."""
    about, known = _together([Cause.FAILED] * 3, cause=Cause.FAILED)()
    listed = {
        path: {"cause": "failed", "decided_by": "x", "device": f"sd{path[-1]}"} for path in about.evidence.log_dirs
    }
    found = recommend(changed(about, evidence={"log_dirs": listed}), known, b.policy(), b.NOW_MS)
    replaced = [action for action in found if action.kind == "replace_disk"]
    assert len(replaced) == 3
    for action in replaced:
        assert action.preconditions[0]["name"] == "no_common_cause"
        assert "(controller, bus, mount, limit)" in action.preconditions[0]["text"]
        assert not action.vetoes


@pytest.mark.parametrize("row", [*ROWS, *MEMBER_ROWS, *AWAY_ROWS], ids=lambda row: row.name)
def test_what_is_advised_for_an_offline_directory(row):
    found = check_advice(row)
    assert len({action.action_id for action in found}) == len(found)
