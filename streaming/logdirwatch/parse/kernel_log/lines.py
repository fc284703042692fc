"""Lines of the kernel's log about failing disks, lost paths and file systems. Pure.

A line that matches no pattern, or a pattern known to be benign, is no evidence.
"""

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from itertools import chain

import msgspec

from logdirwatch.model.records import KernelNews
from logdirwatch.model.vocabulary import KernelTrouble
from logdirwatch.parse.broker_log.heads import cleaned
from logdirwatch.parse.decoding import Decoder, NotReadableError
from logdirwatch.parse.kernel_log import devices as kernel_devices
from logdirwatch.parse.kernel_log import file_systems
from logdirwatch.parse.os_errors import MEMORY, Limit, os_error_in
from logdirwatch.parse.patterns import LINE_CHARACTERS, compiled

ERRORS_KEPT = 20
ERROR_CHARACTERS = 200

_BENIGN = [compiled(pattern, re.IGNORECASE) for pattern in (*file_systems.BENIGN, *kernel_devices.BENIGN)]
_TROUBLES = [
    (trouble, compiled(pattern, re.IGNORECASE))
    for trouble, pattern in chain(
        kernel_devices.BLOCK,
        kernel_devices.SCSI,
        kernel_devices.ATA,
        kernel_devices.NVME,
        kernel_devices.VOLUMES,
        kernel_devices.PATHS,
        file_systems.SPACE,
        file_systems.NO_MEMORY,
        file_systems.OTHERS,
        file_systems.EXT,
        file_systems.XFS,
        file_systems.BTRFS,
        file_systems.SERVERS,
        file_systems.HANGS,
    )
]
_ENDS = [
    (troubles, compiled(pattern, re.IGNORECASE)) for troubles, pattern in (*kernel_devices.ENDS, *file_systems.ENDS)
]

_DATE = (
    r"(?:(?:\d{4} )?\w{3} +\d+ (?:\d{4} )?\d\d:\d\d:\d\d(?:\.\d+)?(?: \d{4})?"  # syslog
    r"|\w{3} ?\d+ \d\d:\d\d(?=\])"  # dmesg -H
    r"|[\w.]{1,6} [\w.]{1,6} +\d+ \d\d:\d\d:\d\d \d{4}(?=\])"  # dmesg -T, in the words of any locale
    r"|\d{10}\.\d+"  # journalctl -o short-unix
    r"|(?:\w{3} )?\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d\S*(?: (?:UTC|GMT|[A-Z]{2,3}T)(?=\s))?)"  # ISO 8601
)
_TAG = (
    r"(?:\w+\.\w+\s+)?(?:kernel(?:\[\d+\])?(?::| - - (?:-|\[[^\]]*\]))"
    r"|(?=(?:multipathd?|iscsid|smartd|dmeventd|lvm|zed|mdadm|MR_MONITOR)\b))\s*"
)
_PREFIX = compiled(
    rf"\s*(?:<\d+>(?:1 )?|\d+,\d+,\d+,[^;]*;)?\s*(?:[a-z]+ *:[a-z]+ *: )?(?:\[?{_DATE}\]?\s+)?"
    rf"(?:\[\s*\+?[\d.]+\s*\]\s*)?(?:(?:[\w.-]+\s+)?{_TAG})?(?:message repeated \d+ times: \[\s*)?"
    r"(?:\[\s*[\d.]+\s*\]\s*)?(?:\[\s*[TC]\d+\]\s*)?",
    re.IGNORECASE,
)
"""Priority (``<3>``, or what /dev/kmsg writes), date or time since the start, host, and the tag of who wrote it."""


_DAMAGE = compiled(
    r"corrupt|checksum|\bcsum|\bcrc\b|inconsistent|inconsistency|\b(?:bad|invalid) (?!journal)|xfs_repair",
    re.IGNORECASE,
)


def tells_damage(text: str) -> bool:
    """Tell whether a file system's line reports damage, not only a consequence of an I/O error.

    An aborted journal, or a superblock that was not written, is such a consequence.
    """
    return _DAMAGE.search(text) is not None


_IO_ERROR = compiled(
    r"I/?O (?:error|failure)|lost (?:async )?page write|rejecting I/O|device offline error", re.IGNORECASE
)


def is_io_error(text: str) -> bool:
    """Tell whether a line only says that I/O failed, as it also does without a path and in a full pool."""
    return _IO_ERROR.search(text) is not None


def limit_in(said: str) -> Limit | None:
    """Return the limit that a line of the kernel's or the broker's log reports as reached.

    To a process no memory (ENOMEM) mostly means no more memory maps, to a file system what it says.
    """
    told, error = kernel_error(said), os_error_in(said)
    if told is not None and told.trouble is KernelTrouble.NO_MEMORY:
        return MEMORY
    return None if error is None else error.limit


def is_no_answer(kinds: Collection[str], error: str | None) -> bool:
    """Tell whether a device's error only says that I/O failed which the storage had not answered in time."""
    return KernelTrouble.TIMED_OUT in kinds and is_io_error(error or "")


@dataclass(frozen=True)
class KernelError:
    """A trouble and the device in the line, None if it names none; ``is_over``: it has ended."""

    device: str | None
    text: str
    trouble: KernelTrouble = KernelTrouble.DEVICE_ERROR
    is_over: bool = False

    @property
    def heals(self) -> bool:
        """Whether it ends by itself."""
        return self.trouble.heals

    @property
    def news(self) -> KernelNews:
        """The form of it in a host record."""
        return KernelNews(trouble=str(self.trouble), device=self.device, text=self.text, is_over=self.is_over)


def kernel_error(line: str) -> KernelError | None:
    """Return the trouble that ``line`` reports, None for any other line."""
    text = _message(line)
    if any(pattern.match(text) for pattern in _BENIGN):
        return None
    for trouble, pattern in _TROUBLES:
        if match := pattern.match(text):
            return KernelError(_device(match), text[:ERROR_CHARACTERS], trouble)
    return None


def kernel_news(line: str) -> list[KernelError]:
    """Return the trouble that ``line`` reports, or those that it says have ended."""
    error = kernel_error(line)
    if error is not None:
        return [error]
    text = _message(line)
    for troubles, pattern in _ENDS:
        if match := pattern.match(text):
            device = _device(match)
            return [KernelError(device, text[:ERROR_CHARACTERS], trouble, is_over=True) for trouble in troubles]
    return []


def _message(line: str) -> str:
    """Return the kernel's message; those of other programs do not begin like it."""
    if line.startswith("{"):
        line = _of_journal(line)
    line = cleaned(line[:LINE_CHARACTERS])
    prefix = _PREFIX.match(line)
    return line[prefix.end() if prefix else 0 :].strip()


def _of_journal(line: str) -> str:
    """Return a journal entry as JSON (``journalctl -o json``) as one line of syslog, without its date."""
    try:
        entry = _ENTRY.decode(line)
    except NotReadableError:
        return line
    return f"{entry.SYSLOG_IDENTIFIER}: {entry.MESSAGE}"


class _JournalEntry(msgspec.Struct):
    MESSAGE: str
    SYSLOG_IDENTIFIER: str = "kernel"


_ENTRY = Decoder(_JournalEntry)


_CONNECTION = compiled(r"connection(\d+):\d+", re.IGNORECASE)
_NVME_PATH = compiled(r"(nvme\d+)c\d+(n\d+)")
_NAMESPACE = compiled(r"n\d+")


def _device(match: re.Match[str]) -> str | None:
    named = {key: value for key, value in match.groupdict().items() if value is not None and key != "task"}
    name = named.get("device") or next(iter(named.values()), None)
    if name is not None and (connection := _CONNECTION.fullmatch(name)):
        return f"session{connection[1]}"  # what Linux calls its parent, see iscsi_conn_setup
    if "pool" in named:
        return f"{name}-tpool"  # the device below a thin volume, see lvm2's LVs that are hidden
    return f"session{name}" if "connection" in named else name


def is_below(device: str, names: frozenset[str]) -> bool:
    """Tell whether a trouble of ``device`` concerns a directory on the devices ``names``.

    A controller (nvme0) stands for its disks (nvme0n1), a port (ata3) for the devices attached to it (ata3.00).
    """
    if device in names or (device.startswith("ata") and device.partition(".")[0] in names):
        return True
    path = _NVME_PATH.fullmatch(device)
    if path:
        return f"{path[1]}{path[2]}" in names
    return any(name.startswith(device) and _NAMESPACE.fullmatch(name, len(device)) for name in names)


def says_more(before: str, after: str) -> bool:
    """Tell whether an earlier line explains more than a later one of the same kind and device.

    Damage explains more than its consequences, a fault in a device more than the error itself, and the member that an
    array lost more than the number of those left.
    """
    if tells_damage(before) or tells_damage(after):
        return not tells_damage(after)
    return _is_consequence(after) and not _is_consequence(before)


_GOES_ON = compiled(r"Operation continuing on \d|DegradedArray|Device #", re.IGNORECASE)


def _is_consequence(text: str) -> bool:
    return is_io_error(text) or _GOES_ON.search(text) is not None


Placed = dict[str, list[KernelError]]


def placed(
    errors: Iterable[KernelError | None], devices: Mapping[str, frozenset[str]]
) -> tuple[Placed, list[KernelError]]:
    """Return the last message of each trouble and device by directory, and the troubles of no known directory.

    An earlier message stays if it explains more. Both are limited to the latest. ``devices`` are the names of the block
    devices below each directory. None in ``errors`` stands for a line without a trouble.
    """
    by_dir: dict[str, dict[tuple[KernelTrouble, str | None], KernelError]] = {}
    unplaced: dict[str, KernelError] = {}
    for error in errors:
        if error is None:
            continue
        below = [path for path, names in devices.items() if error.device is not None and is_below(error.device, names)]
        for path in below:
            known = by_dir.setdefault(path, {})
            before = known.pop((error.trouble, error.device), None)
            is_less = (
                before is not None and not (before.is_over or error.is_over) and says_more(before.text, error.text)
            )
            known[error.trouble, error.device] = before if before is not None and is_less else error
        if not below and not error.is_over:
            unplaced[error.text] = error
    return (
        {path: list(known.values())[-ERRORS_KEPT:] for path, known in by_dir.items()},
        list(unplaced.values())[-ERRORS_KEPT:],
    )
