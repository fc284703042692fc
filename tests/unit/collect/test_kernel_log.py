"""The kernel's errors find the directories on their devices."""

import pytest

from logdirwatch.collect.block_devices import devices_below
from logdirwatch.collect.kernel_log import ERROR_CHARACTERS, ERRORS_KEPT, KernelError, is_below, kernel_error, placed

MOUNTS = """\
22 1 8:2 / / rw,relatime shared:1 - ext4 /dev/sda2 rw
30 22 8:17 / /data/one rw,noatime shared:2 - xfs /dev/sdb1 rw
31 22 253:0 / /data/two\\040b rw,noatime - ext4 /dev/mapper/vg-two rw
32 22 0:45 / /data/three rw - nfs4 server:/x rw
33 22 259:1 / /data/four rw - xfs /dev/nvme0n1p1 rw
"""


@pytest.mark.parametrize(
    ("line", "device"),
    [
        ("Mar  1 16:22:07 b1 kernel: [123.456789] blk_update_request: I/O error, dev sdb, sector 2048", "sdb"),
        ("6,1234,5678,-;I/O error, dev nvme0n1, sector 8 op 0x1:(WRITE) flags 0x800 phys_seg 1", "nvme0n1"),
        ("kernel: blk_update_request: critical medium error, dev sdb, sector 2048", "sdb"),
        ("Buffer I/O error on dev sdb1, logical block 3, lost async page write", "sdb1"),
        ("sd 2:0:0:0: [sdb] tag#0 Sense Key : Medium Error [current]", "sdb"),
        ("nvme nvme0: I/O 123 QID 5 timeout, aborting", "nvme0"),
        ("EXT4-fs error (device sdb1): ext4_find_entry:1463: inode #2: comm java: reading directory", "sdb1"),
        ("EXT4-fs (sdb1): Remounting filesystem read-only", "sdb1"),
        ("EXT4-fs warning (device dm-0): ext4_end_bio:343: I/O error 10 writing to inode 12", "dm-0"),
        ("JBD2: Detected IO errors while flushing file data on sdb1-8", "sdb1"),
        ("Aborting journal on device sdb1-8.", "sdb1"),
        ('XFS (sdb1): metadata I/O error in "xfs_trans_read_buf_map" at daddr 0x2 len 1 error 5', "sdb1"),
        ("XFS (dm-1): Corruption of in-memory data detected.  Shutting down filesystem", "dm-1"),
        ("XFS (sdb1): Filesystem has been shut down due to log error (0x2).", "sdb1"),
        ("BTRFS error (device sdb1): bdev /dev/sdb1 errs: wr 1, rd 0, flush 0, corrupt 0, gen 0", "sdb1"),
        ("md/raid1:md0: Disk failure on sdc1, disabling device.", "sdc1"),
        ("Remounting filesystem read-only", None),
    ],
)
def test_lines_of_failing_disks_name_their_device(line, device):
    found = kernel_error(line)
    assert found.device == device
    assert "kernel:" not in found.text
    assert found.text in line


@pytest.mark.parametrize(
    "line",
    [
        "",
        "usb 1-1: new high-speed USB device number 2 using xhci_hcd",
        "EXT4-fs (sdb1): mounted filesystem with ordered data mode",
        "XFS (sdb1): Mounting V5 Filesystem",
        "BTRFS info (device sdb1): disk space caching is enabled",
    ],
)
def test_other_lines_mean_nothing(line):
    assert kernel_error(line) is None


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
        "/data/two b/kafka": {"dm-0", "sdc1", "sdc"},
        "/data/three": frozenset(),
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


def test_errors_go_to_the_directories_on_the_device_and_the_rest_is_kept_bounded():
    devices = {"/a": frozenset({"sdb1", "sdb"}), "/b": frozenset({"sdb2", "sdb"}), "/c": frozenset({"sdc"})}
    errors = [
        KernelError("sdb", "disk"),
        KernelError("sdb2", "part"),
        KernelError(None, "nobody"),
        KernelError("sdz", "z"),
    ]
    assert placed(errors, devices) == ({"/a": "disk", "/b": "part"}, ["nobody", "z"])
    many = [KernelError(None, str(number)) for number in range(50)] + [KernelError(None, "49")]
    assert placed(many, devices)[1] == [str(number) for number in range(50 - ERRORS_KEPT, 50)]


def test_a_long_line_is_cut():
    assert len(kernel_error("I/O error, dev sdb, " + "x" * 1_000).text) == ERROR_CHARACTERS
