"""The kernel's errors find the directories on their devices."""

import pytest

from logdirwatch.collect.host.block_devices import devices_below
from logdirwatch.collect.host.records import host_record
from logdirwatch.collect.rounds.records import Origin
from logdirwatch.model.vocabulary import KernelTrouble
from logdirwatch.parse.kernel_log.lines import ERRORS_KEPT, KernelError, is_below, kernel_error, kernel_news, placed

MOUNTS = """\
22 1 8:2 / / rw,relatime shared:1 - ext4 /dev/sda2 rw
30 22 8:17 / /data/one rw,noatime shared:2 - xfs /dev/sdb1 rw
31 22 253:0 / /data/two\\040b rw,noatime - ext4 /dev/mapper/vg-two rw
32 22 0:45 / /data/three rw - nfs4 server:/x rw
33 22 259:1 / /data/four rw - xfs /dev/nvme0n1p1 rw
"""


@pytest.fixture
def system(tmp_path):
    """Linux's view of the devices: sdb1 on sdb, dm-0 on sdc1 on sdc, nvme0n1p1 on nvme0n1."""
    numbers, block = tmp_path / "dev", tmp_path / "block"
    for name, number in (
        ("sda/sda2", "8:2"),
        ("sdb/sdb1", "8:17"),
        ("sdc/sdc1", "8:33"),
        ("nvme0n1/nvme0n1p1", "259:1"),
    ):
        (block / name).mkdir(parents=True)
        (block / name / "partition").write_text("1\n")
        numbers.mkdir(exist_ok=True)
        (numbers / number).symlink_to(block / name)
    (block / "dm-0" / "slaves").mkdir(parents=True)
    (block / "dm-0" / "slaves" / "sdc1").symlink_to(block / "sdc/sdc1")
    (numbers / "253:0").symlink_to(block / "dm-0")
    mounts = tmp_path / "mountinfo"
    mounts.write_text(MOUNTS)
    return mounts, numbers


def test_a_directory_lies_on_its_partition_its_disk_and_what_its_volume_is_made_of(system):
    paths = ("/data/one/kafka", "/data/two b/kafka", "/data/three", "/data/four/x", "/data/oneself", "/")
    below = devices_below(dict.fromkeys(paths), *system)
    assert below == {
        "/data/one/kafka": {"sdb1", "sdb"},
        "/data/two b/kafka": {"dm-0", "vg-two", "sdc1", "sdc"},
        "/data/three": {"server", "server:/x"},
        "/data/four/x": {"nvme0n1p1", "nvme0n1"},
        "/data/oneself": {"sda2", "sda"},
        "/": {"sda2", "sda"},
    }


def test_the_device_that_the_directory_itself_named_goes_before_the_mount_table(system):
    assert devices_below({"/link/to/one": "8:17"}, *system)["/link/to/one"] == {"sdb1", "sdb"}


def test_of_two_mounts_on_one_point_the_later_one_holds(system):
    mounts, numbers = system
    mounts.write_text(MOUNTS + "40 22 8:33 / /data/one rw - xfs /dev/sdc1 rw\n")
    assert devices_below({"/data/one": None}, mounts, numbers)["/data/one"] == {"sdc1", "sdc"}


def test_a_controller_stands_for_its_disks_only():
    assert is_below("nvme0", frozenset({"nvme0n1", "nvme0n1p1"}))
    assert not is_below("nvme0", frozenset({"nvme01n1"}))
    assert not is_below("sd", frozenset({"sdb"}))


def test_a_path_of_a_multipath_disk_and_what_hangs_on_a_port_are_below_it():
    assert is_below("nvme0c3n1", frozenset({"nvme0n1"}))
    assert not is_below("nvme0c3n1", frozenset({"nvme3n1"}))
    assert is_below("ata7.00", frozenset({"ata7"}))
    assert not is_below("ata7.00", frozenset({"ata70"}))


@pytest.fixture
def tree(tmp_path):
    """Linux's view of a host: SATA, iSCSI by two paths, LVM on a thin pool, NVMe by two controllers, btrfs of two."""
    sys = tmp_path / "sys"

    def disk(place, number, slaves=(), mapped=None, is_partition=False):
        home = sys / "devices" / place
        home.mkdir(parents=True)
        (home / "dev").write_text(f"{number}\n")
        if is_partition:
            (home / "partition").write_text("1\n")
        if mapped:
            (home / "dm").mkdir()
            (home / "dm" / "name").write_text(f"{mapped}\n")
        if slaves:
            (home / "slaves").mkdir()
        for slave in slaves:
            (home / "slaves" / slave.rpartition("/")[2]).symlink_to(sys / "devices" / slave)
        for folder, name in (("dev/block", number), ("class/block", home.name)):
            (sys / folder).mkdir(parents=True, exist_ok=True)
            (sys / folder / name).symlink_to(home)

    sata = "pci0000:00/0000:00:1f.2/ata7/host6/target6:0:0/6:0:0:0/block/sdq"
    disk(sata, "65:0")
    disk(f"{sata}/sdq2", "65:2", is_partition=True)
    (sys / "devices/pci0000:00/0000:00:1f.2/ata7/host6/scsi_host/host6").mkdir(parents=True)
    (sys / "devices/pci0000:00/0000:00:1f.2/ata7/host6/scsi_host/host6/proc_name").write_text("mpt3sas\n")
    disk("rbd/0/block/rbd0", "251:0")
    disk("virtual/block/drbd0", "147:0")
    paths = [f"platform/host{n}/session{n}/target{n}:0:0/{n}:0:0:0/block/sd{name}" for n, name in ((4, "d"), (5, "e"))]
    disk(paths[0], "8:48")
    disk(paths[1], "8:64")
    disk("virtual/block/dm-2", "253:2", slaves=paths, mapped="mpathk")
    disk("virtual/block/dm-4", "253:4", slaves=["virtual/block/dm-2"], mapped="vg-pool-tpool")
    disk("virtual/block/dm-5", "253:5", slaves=["virtual/block/dm-4"], mapped="vg-kafka")
    disk("virtual/nvme-subsystem/nvme-subsys0/nvme0n1", "259:0")
    for controller in ("nvme1", "nvme2"):
        (sys / "devices/virtual/nvme-subsystem/nvme-subsys0" / controller).mkdir()
    for name, number in (("sdx", "65:112"), ("sdy", "65:128")):
        disk(f"virtual/block/{name}", number)
        (sys / "fs/btrfs/1c9e/devices").mkdir(parents=True, exist_ok=True)
        (sys / f"fs/btrfs/1c9e/devices/{name}").symlink_to(sys / f"class/block/{name}")
    mounts = tmp_path / "mountinfo"
    mounts.write_text(
        "30 22 65:2 / /data/sata rw - xfs /dev/sdq2 rw\n"
        "31 22 253:5 / /data/thin rw shared:7 master:2 - xfs /dev/mapper/vg-kafka rw\n"
        "32 22 259:0 / /data/nvme rw - ext4 /dev/nvme0n1 rw\n"
        "33 22 0:61 / /data/btrfs rw - btrfs /dev/sdx rw\n"
        "34 22 0:62 / /data/nfs rw - nfs4 filer3.example.org:/vol/kafka rw\n"
        "35 22 0:63 / /data/cifs rw - cifs //filer4/kafka rw\n"
        "36 22 0:64 / /data/zfs rw - zfs tank/kafka rw\n"
        "37 22 0:65 / /data/nfs6 rw - nfs4 [fd00::7]:/vol rw\n"
        "38 22 251:0 / /data/rbd rw - xfs /dev/rbd0 rw\n"
        "39 22 147:0 / /data/drbd rw - ext4 /dev/drbd0 rw\n"
    )
    return mounts, sys / "dev/block"


DIRS = ("sata", "thin", "nvme", "btrfs", "nfs", "cifs", "zfs", "nfs6", "rbd", "drbd")


@pytest.mark.parametrize(
    ("line", "place"),
    [
        ("critical medium error, dev sdq, sector 7", "sata"),
        ("XFS (sdq2): log I/O error -5", "sata"),
        ("ata7.00: failed command: READ FPDMA QUEUED", "sata"),
        ("ata7: COMRESET failed (errno=-16)", "sata"),
        ("sd 6:0:0:0: rejecting I/O to offline device", "sata"),
        ("XFS (dm-5): Corruption detected. Unmount and run xfs_repair", "thin"),
        ("device-mapper: thin: 253:4: switching pool to out-of-data-space (queue IO) mode", "thin"),
        ("device-mapper: multipath: 253:2: Failing path 8:64.", "thin"),
        ("multipathd[771]: mpathk: remaining active paths: 0", "thin"),
        ("Buffer I/O error on dev dm-2, logical block 61, lost async page write", "thin"),
        (" connection5:0: detected conn error (1020)", "thin"),
        ("I/O error, dev sde, sector 7", "thin"),
        ("INFO: task kworker/u16:3+flush-253:5:991 blocked for more than 122 seconds.", "thin"),
        ("nvme nvme2: I/O 331 QID 9 timeout, aborting", "nvme"),
        ("block nvme0n1: no usable path - requeuing I/O", "nvme"),
        ("nvme0c2n1: Read(0x2) @ LBA 9, 8 blocks, Unrecovered Read Error (sct 0x2 / sc 0x81)", "nvme"),
        ("BTRFS error (device sdx): bdev /dev/sdy errs: wr 1, rd 0, flush 0, corrupt 0, gen 0", "btrfs"),
        ("BTRFS critical (device sdx state EA): corrupt leaf", "btrfs"),
        ("nfs: server filer3.example.org not responding, still trying", "nfs"),
        ("nfs: server fd00::7 not responding, still trying", "nfs6"),
        ("CIFS: VFS: \\\\filer4 has not responded in 180 seconds. Reconnecting...", "cifs"),
        ("WARNING: Pool 'tank' has encountered an uncorrectable I/O failure and has been suspended.", "zfs"),
        ("mpt3sas_cm0: SAS host is non-operational !!!!", "sata"),
        ("arcmsr0: abort device command of scsi id = 0 lun = 0", None),
        ("dmeventd[411]: WARNING: Thin pool vg-pool data is now 85.02% full.", "thin"),
        ("libceph: cluster is full (osdmap FULL)", "rbd"),
        ("block drbd0: disk( UpToDate -> Failed )", "drbd"),
        ("drbd r0/0 drbd0 kafka-2: pdsk( UpToDate -> DUnknown )", "drbd"),
        ("I/O error, dev sdf, sector 7", None),
        ("nfs: server filer9 not responding, still trying", None),
    ],
)
def test_a_line_reaches_the_directory_that_it_concerns(tree, line, place):
    devices = devices_below({f"/data/{name}": None for name in DIRS}, *tree)
    by_dir, unplaced = placed([kernel_error(line)], devices)
    assert list(by_dir) == ([f"/data/{place}"] if place else [])
    assert bool(unplaced) == (place is None)


def test_a_number_that_the_look_told_finds_its_mount_and_that_of_a_subvolume_its_path(tree):
    told = devices_below({"/elsewhere": "253:5", "/data/btrfs/kafka": "0:99", "/x": "0:62", "/y": "7:7"}, *tree)
    assert {"dm-5", "dm-4", "sdd", "vg-kafka", "8:48", "session4", "4:0:0:0"} <= told["/elsewhere"]
    assert {"sdx", "sdy"} <= told["/data/btrfs/kafka"]
    assert told["/x"] == {"filer3.example.org", "filer3.example.org:/vol/kafka"}
    assert told["/y"] == frozenset()


def error(device, text, trouble=KernelTrouble.DEVICE_ERROR, **fields):
    return KernelError(device, text, trouble, **fields)


def test_errors_go_to_the_directories_on_the_device_and_the_rest_is_kept_bounded():
    devices = {"/a": frozenset({"sdb1", "sdb"}), "/b": frozenset({"sdb2", "sdb"}), "/c": frozenset({"sdc"})}
    errors = [error("sdb", "disk"), error("sdb2", "part"), error(None, "nobody"), error("sdz", "z"), None]
    by_dir, unplaced = placed(errors, devices)
    assert {path: [one.text for one in news] for path, news in by_dir.items()} == {
        "/a": ["disk"],
        "/b": ["disk", "part"],
    }
    assert [one.text for one in unplaced] == ["nobody", "z"]
    many = [error(None, str(number)) for number in range(50)] + [error(None, "49")]
    assert [one.text for one in placed(many, devices)[1]] == [str(number) for number in range(50 - ERRORS_KEPT, 50)]
    of_one = [error(f"sdc{number}", str(number)) for number in range(50)]
    by_dir, _ = placed(of_one, {"/c": frozenset(f"sdc{number}" for number in range(50))})
    assert [one.text for one in by_dir["/c"]] == [str(number) for number in range(50 - ERRORS_KEPT, 50)]


def test_of_each_trouble_and_device_the_last_news_holds():
    lines = [
        "nfs: server nas1 not responding, still trying",
        "device-mapper: multipath: 253:2: Failing path 8:16.",
        "device-mapper: multipath: 253:2: Failing path 8:32.",
        "nfs: server nas1 OK",
        "device-mapper: multipath: 253:2: Reinstating path 8:16.",
        "nfs: server nas9 OK",
    ]
    news = [one for line in lines for one in kernel_news(line)]
    by_dir, unplaced = placed(news, {"/a": frozenset({"nas1", "8:16", "8:32"})})
    assert [(one.device, one.is_over) for one in by_dir["/a"]] == [("8:32", False), ("nas1", True), ("8:16", True)]
    assert unplaced == [], "that it is over is no trouble of a place nobody knows"


def test_only_hung_tasks_of_no_device_concern_the_broker_as_a_whole():
    unplaced = [
        error(None, "java hangs", KernelTrouble.HUNG),
        error("sdz", "jbd2 hangs", KernelTrouble.HUNG),
        error(None, "read-only", KernelTrouble.REMOUNTED_READ_ONLY),
    ]
    record = host_record(Origin("prod", "host", 10_000), 7, "b7", [], unplaced, 1)
    assert record.errors == ["java hangs", "jbd2 hangs", "read-only"]
    assert [one.text for one in record.kernel] == ["java hangs"]


@pytest.mark.parametrize(
    "line",
    [
        "",
        "garbage",
        "30 22 8:17 /",
        "30 22 8:17 / /data/one",
        "30 22 8:17 / /data/one rw - xfs",
        "30 22 8:17 / - xfs /dev/sdb1 rw",
        "- xfs /dev/sdb1 rw",
    ],
)
def test_a_line_of_the_mount_table_that_is_none_is_passed_over(system, line):
    mounts, numbers = system
    mounts.write_text(f"{line}\n22 1 8:2 / / rw - ext4 /dev/sda2 rw\n")
    assert devices_below({"/data/one": None}, mounts, numbers)["/data/one"] == {"sda2", "sda"}


def test_the_shortest_line_of_the_mount_table_is_one(system):
    mounts, numbers = system
    mounts.write_text("30 22 8:17 / /data/one - xfs /dev/sdb1\n")
    assert devices_below({"/data/one": None}, mounts, numbers)["/data/one"] == {"sdb1", "sdb"}
