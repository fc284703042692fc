"""Lines of the kernel's log that tell of failing disks and file systems. Pure: one line in, at most one error out."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

ERRORS_KEPT = 20
ERROR_CHARACTERS = 200

_DEVICE = r"(?P<device>[\w!-]+)"
# Block layer, buffer cache, SCSI, NVMe, ext4 with its journal, XFS, btrfs; the first that matches names the device.
_PATTERNS = tuple(
    re.compile(pattern)
    for pattern in (
        rf"\b(?:I/O|critical \w+(?: \w+)?) error, dev {_DEVICE}",
        rf"Buffer I/O error on dev(?:ice)? {_DEVICE}",
        r"\[(?P<device>sd\w+)\].*Sense Key : (?:Medium|Hardware) Error",
        r"\bnvme (?P<device>nvme\d+): (?:I/O .*timeout|controller is down|Removing after probe failure)",
        rf"EXT[234]-fs error \(device {_DEVICE}\)",
        rf"EXT[234]-fs (?:warning )?\((?:device )?{_DEVICE}\):.*(?:Remounting filesystem read-only|I/O error)",
        r"JBD2: .*IO error.* on (?P<device>\w+)(?:-\d+)?",
        r"Aborting journal on device (?P<device>[\w!]+)(?:-\d+)?",
        rf"XFS \({_DEVICE}\):.*(?:I/O error|[Cc]orruption|[Ss]hut(?:ting)? down)",
        rf"BTRFS:? (?:error|critical) \(device {_DEVICE}",
        r"Disk failure on (?P<device>\w+), disabling device",
    )
)
_NAMELESS = re.compile(r"Remounting filesystem read-only|\bI/O error\b")
_PREFIX = re.compile(r"^(?:<\d+>|\d+,\d+,\d+,[^;]*;)?\s*(?:.*?\bkernel: )?\s*(?:\[\s*\d+\.\d+\]\s*)?")


@dataclass(frozen=True)
class KernelError:
    """One error, and the device that it names, None where it names none."""

    device: str | None
    text: str


def kernel_error(line: str) -> KernelError | None:
    """Return the error that ``line`` tells of, None for anything else."""
    text = _PREFIX.sub("", line, count=1)[:ERROR_CHARACTERS].strip()
    for pattern in _PATTERNS:
        if match := pattern.search(line):
            return KernelError(match["device"], text)
    return KernelError(None, text) if _NAMELESS.search(line) else None


def is_below(device: str, names: frozenset[str]) -> bool:
    """Tell whether an error of ``device`` is one of a directory on the devices ``names``.

    A controller (nvme0) stands for its disks (nvme0n1).
    """
    return device in names or any(re.fullmatch(rf"{re.escape(device)}n\d+", name) for name in names)


def placed(errors: Sequence[KernelError], devices: Mapping[str, frozenset[str]]) -> tuple[dict[str, str], list[str]]:
    """Return the last error of each directory, and those of no known directory, bounded, the latest kept.

    ``devices`` are the names of the block devices below each directory.
    """
    by_dir: dict[str, str] = {}
    unplaced: dict[str, None] = {}
    for error in errors:
        below = [path for path, names in devices.items() if error.device is not None and is_below(error.device, names)]
        by_dir.update(dict.fromkeys(below, error.text))
        if not below:
            unplaced[error.text] = None
    return by_dir, list(unplaced)[-ERRORS_KEPT:]
