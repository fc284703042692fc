"""Which block devices lie below a directory, from what Linux tells: the mount table and the tree of devices."""

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

MOUNTS = Path("/proc/self/mountinfo")
DEVICES = Path("/sys/dev/block")
_OCTAL = re.compile(r"\\([0-7]{3})")


def devices_below(
    numbers: Mapping[str, str | None], mounts: Path = MOUNTS, devices: Path = DEVICES
) -> dict[str, frozenset[str]]:
    """Return the names of the devices below each directory; none for what is not on a block device.

    ``numbers`` are the directories with their device as ``major:minor``; where that is None the mount table tells. A
    partition (sdb1) brings its disk (sdb), a logical or mirrored volume (dm-0, md0) those that it is made of. Asks
    nothing of the directories themselves, whose disk may be dead. Raises OSError when the mount table cannot be read.
    """
    table = list(_mounts(mounts.read_text(encoding="utf-8", errors="replace")))
    return {path: frozenset(_names(devices / (number or _number(path, table)))) for path, number in numbers.items()}


def _mounts(text: str) -> Iterator[tuple[str, str]]:
    """Yield (mount point, major:minor), see proc(5)."""
    for line in text.splitlines():
        fields = line.split()
        if len(fields) > 4:
            yield _OCTAL.sub(lambda code: chr(int(code[1], 8)), fields[4]), fields[2]


def _number(path: str, table: list[tuple[str, str]]) -> str:
    """Return the device number of the deepest mount above ``path``; of two mounts on one point the later one hides."""
    found, deepest = "none", -1
    for point, number in table:
        if len(point) >= deepest and os.path.commonpath([point, path]) == point:
            found, deepest = number, len(point)
    return found


def _names(device: Path) -> Iterator[str]:
    if not device.exists():
        return
    home = device.resolve()
    yield home.name
    if (home / "partition").exists():
        yield home.parent.name
    slaves = home / "slaves"
    for slave in slaves.iterdir() if slaves.is_dir() else ():
        yield from _names(slave)
