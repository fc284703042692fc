"""Arrays that lost a member and go on: which lines this explains, and which line ends it. Pure.

An array returns no error for a member that it gave up, so the errors of that member condemn no directory any more. If
the array cannot go on either, it has a line of its own about that.
"""

from collections.abc import Iterable, Mapping
from typing import Protocol

from logdirwatch.model.vocabulary import KernelTrouble
from logdirwatch.parse.kernel_log.lines import is_below
from logdirwatch.parse.patterns import compiled

_MEMBER = compiled(
    r"(?:Disk failure on |kicking (?:non-fresh|faulty) |failing device |component device /dev/|vdev=(?:/dev/)?)"
    r"(?P<member>[\w!-]+)"
)
_ARRAY = compiled(r"(?:raid\d*:?|md: |/dev/(?:md/)?)(?P<md>md\w+)|\bVD (?P<drive>[\w/]+) is\b")
_DISK = compiled(r"(nvme\d+n\d+|mmcblk\d+)p\d+|([a-z]+)\d+")
# A SCSI address, a SATA port, a PCI address: the line does not say which of an array's disks it means.
_ADDRESS = compiled(r"\d+:\d+:\d+:\d+|ata[\d.]+|[0-9a-f]{4}:[0-9a-f:.]+")
_OF_MEMBERS = frozenset(
    {
        KernelTrouble.MEDIUM_ERROR,
        KernelTrouble.DEVICE_ERROR,
        KernelTrouble.COMMAND_FAILED,
        KernelTrouble.TIMED_OUT,
        KernelTrouble.PATH_LOST,
    }
)
_OF_LVM = "mdX"
"""What the kernel calls every array of LVM; only dmeventd knows the volume's name."""
_ONE_MEMBER = "recovery done"


class Line(Protocol):
    """A line of the kernel, and the device that it names."""

    @property
    def device(self) -> str | None:
        """The device; None if the line names none."""

    @property
    def text(self) -> str:
        """The line."""


def given_up(lines: Iterable[tuple[str, str]]) -> frozenset[str]:
    """Return the members that arrays gave up, each with the disk that it is a part of.

    ``lines`` are the kinds of trouble and their texts.
    """
    degraded = (text for kind, text in lines if kind == KernelTrouble.ARRAY_DEGRADED)
    members = {found["member"] for text in degraded if (found := _MEMBER.search(text))}
    disks = {name for member in members if (found := _DISK.fullmatch(member)) for name in found.groups() if name}
    return frozenset(members | disks)


def is_explained(kind: str, device: str | None, members: frozenset[str]) -> bool:
    """Tell whether a trouble of ``device`` is one of members that an array gave up."""
    if not members or device is None or kind not in _OF_MEMBERS:
        return False
    return is_below(device, members) or _ADDRESS.fullmatch(device) is not None


def restored(degraded: Mapping[str, Line], over: Line) -> list[str]:
    """Return the keys of the lines about degraded arrays, the oldest first, that ``over`` reports as ended.

    A finished recovery restores at least one member: of several the oldest counts as restored.
    """
    whole = _array(over.text)
    meant = [
        key
        for key, line in degraded.items()
        if (
            line.device == over.device or _array(line.text) == _OF_LVM
            if whole is None
            else _array(line.text) in {whole, None}
        )
    ]
    members = [key for key in meant if _MEMBER.search(degraded[key].text)]
    return members[:1] if _ONE_MEMBER in over.text and len(members) > 1 else meant


def _array(text: str) -> str | None:
    found = _ARRAY.search(text)
    return None if found is None else found["md"] or found["drive"]
