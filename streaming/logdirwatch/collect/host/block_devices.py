"""The kernel's names for the devices below a directory, from the mount table and the tree of devices."""

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

MOUNTS = Path("/proc/self/mountinfo")
DEVICES = Path("/sys/dev/block")
_OCTAL = re.compile(r"\\([0-7]{3})")
_WAYPOINT = re.compile(
    r"ata\d+|nvme\d+|session\d+|rport-\d+:\d+-\d+|\d+:\d+:\d+:\d+"
    r"|[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-9a-f]|[0-9a-f]{8}-[0-9a-f-]{27}"
)
"""The parts of a disk's place in the tree by which the kernel names ports, controllers, sessions and SCSI addresses."""
_HOST = re.compile(r"host\d+")
CEPH = "ceph"
"""What the kernel calls the client of every Ceph cluster, whose messages name no device."""
_SERVER = re.compile(r"//(?P<share>[^/]+)/|\[?(?P<export>[^/\[\]]+?)\]?:/")


class Mount(NamedTuple):
    """One line of the mount table, see proc(5)."""

    point: str
    number: str
    source: str
    kind: str = ""


def devices_below(
    numbers: Mapping[str, str | None], mounts: Path = MOUNTS, devices: Path = DEVICES
) -> dict[str, frozenset[str]]:
    """Return the names of all devices below each directory.

    ``numbers`` are the directories with their device as ``major:minor``; None: taken from the mount table. A partition
    (sdb1) also gives its disk (sdb), a logical, mirrored or multipath volume (dm-0, md0) its members; each of them its
    number (8:16), its mapped name, and its controller, session or driver (ata3, 2:0:0:0, session1, nvme0, mpt3sas).
    A network mount gives the server. The directories themselves are not accessed, because their disk may be dead.
    Raises OSError when the mount table cannot be read.
    """
    table = list(_mounts(mounts.read_text(encoding="utf-8", errors="replace")))
    return {path: frozenset(_names_below(path, number, table, devices)) for path, number in numbers.items()}


def _mounts(text: str) -> Iterator[Mount]:
    for line in text.splitlines():
        fields, _, behind = line.partition(" - ")
        known, source = fields.split(), behind.split()
        if len(known) > 4 and len(source) > 1:
            yield Mount(_plain(known[4]), known[2], _plain(source[1]), source[0])


def _plain(text: str) -> str:
    return _OCTAL.sub(lambda code: chr(int(code[1], 8)), text)


def _names_below(path: str, number: str | None, table: list[Mount], devices: Path) -> Iterator[str]:
    mount = _mount_of(path, number, table)
    number = number or (mount.number if mount else None)
    if number is not None:
        yield from _names(devices / number)
    if mount is not None:
        yield from _names_of_source(mount.source, devices.parent.parent)
        if mount.kind == CEPH:
            yield CEPH


def _mount_of(path: str, number: str | None, table: list[Mount]) -> Mount | None:
    """Return the mount of a device, else the deepest one above ``path``; a later mount hides an earlier one.

    A number that no mount has is that of a subvolume (btrfs), which its path identifies.
    """
    if number is not None:
        known = [mount for mount in table if mount.number == number]
        if known or not number.startswith("0:"):
            return known[-1] if known else None
    above = [mount for mount in table if os.path.commonpath([mount.point, path]) == mount.point]
    return max(reversed(above), key=lambda mount: len(mount.point), default=None)


def _names_of_source(source: str, sys: Path) -> Iterator[str]:
    """Yield what a mount's source names: a device by its file, a server and its export, a pool."""
    if source.startswith("/dev/"):
        name = Path(os.path.realpath(source)).name
        yield from (Path(source).name, name)
        for device in {name, *_of_one_file_system(name, sys / "fs" / "btrfs")}:
            yield from _names(sys / "class" / "block" / device)
        return
    server = _SERVER.match(source)
    if server:
        yield from (source, server["share"] or server["export"])
    elif "/" in source:
        yield source.partition("/")[0]


def _of_one_file_system(device: str, file_systems: Path) -> Iterator[str]:
    """Yield the devices of the btrfs that ``device`` belongs to; the kernel names any of them."""
    for home in file_systems.glob(f"*/devices/{device}"):
        yield from (other.name for other in home.parent.iterdir())


def _names(device: Path) -> Iterator[str]:
    if not device.exists():
        return
    home = device.resolve()
    yield home.name
    yield from (text for text in (_text(home / "dev"), _text(home / "dm" / "name")) if text)
    yield from (part for part in home.parts if _WAYPOINT.fullmatch(part))
    for host in (parent for parent in home.parents if _HOST.fullmatch(parent.name)):
        yield from filter(None, [_text(host / "scsi_host" / host.name / "proc_name")])
    if home.name.startswith("rbd"):
        yield CEPH
    if (home / "partition").exists():
        yield from _names(home.parent)
    if home.parent.name.startswith("nvme-subsys"):
        yield from (other.name for other in home.parent.iterdir() if _WAYPOINT.fullmatch(other.name))
    slaves = home / "slaves"
    for slave in slaves.iterdir() if slaves.is_dir() else ():
        yield from _names(slave)


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""
