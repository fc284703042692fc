"""Directories on a RAID array, which keeps working as long as enough of its disks do.

The kernel then names the disk, not the volume, and what is done to that disk must not be done to the directory. The
data is on the other members: the array is checked and the failed member replaced, and nothing is formatted. Only an
array with too few members left is lost like a single disk.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import NamedTuple

from logdirwatch.model.vocabulary import Cause
from logdirwatch.plan.actions.parts import check, host_notes
from logdirwatch.plan.availability.offline_log_dirs import OfflineEvidence, OfflineLogDirs
from logdirwatch.plan.capacity.timing import place_target
from logdirwatch.plan.cluster.snapshot import LogDir
from logdirwatch.plan.proposal import Precondition, ProposedAction

STEP = "array"
_LINE = re.compile(r"\b(?:(?:md/raid\d*|raid\d+):?(?P<name>md[\w-]+)?: |md: |mdadm\b)", re.IGNORECASE)
_MAPPED = re.compile(r"device-mapper: raid", re.IGNORECASE)
_LOST = re.compile(
    r"not enough operational|cannot continue|failed to run|failing array|has failed|continuing on 0 devices"
    # RAID 0 has no redundancy: whatever the kernel reports of it is a loss.
    r"|md/raid0|\braid0:",
    re.IGNORECASE,
)
_GOES_ON = re.compile(
    r"disabling device|continuing on [1-9]|active with|exceeded read_error|failing raid device|failing device"
    r"|kicking|mdadm\b",
    re.IGNORECASE,
)
_VOLUME = re.compile(r"dev 9:(?P<minor>\d+)")
"""The host source's name for the volume of a directory on an array: 9 is the major number of md (Linux devices.txt)."""
_ARRAY = re.compile(r"md[\w-]*\d+(?:p\d+)?")


class Array(NamedTuple):
    """The array below a directory: its name and its failed member, if known.

    ``is_lost``: the kernel reports that the array stopped, or the array itself fails.
    """

    name: str | None
    member: str | None
    is_lost: bool

    @property
    def device(self) -> str:
        """The device file of the array."""
        return f"/dev/{self.name or 'ARRAY'}"

    def __str__(self) -> str:
        return "the array" if self.name is None else f"the array {self.name}"


def array_of(directory: LogDir, proof: OfflineEvidence) -> Array | None:
    """Return the array below a directory, from the kernel's messages or its volume; None if there is none."""
    return array_in((proof.said, proof.kernel_error), proof.device, directory)


def array_in(texts: Iterable[str | None], device: str | None, directory: LogDir) -> Array | None:
    """Return the array named by the lines and the device that an alert holds against a directory."""
    lines = [text for text in texts if text]
    named = [found for line in lines if (found := _LINE.search(line)) is not None]
    by_volume = _VOLUME.fullmatch(directory.volume or "")
    devices = device.split(", ") if device else []
    itself = [one for one in devices if _ARRAY.fullmatch(one)]
    if not named and not by_volume and not itself and not any(map(_MAPPED.search, lines)):
        return None
    # The device of the alert is exact; a line may be about another array, and a volume only has the minor number.
    names = [*itself, *(found["name"] for found in named), f"md{by_volume['minor']}" if by_volume else None]
    member = ", ".join(one for one in devices if one not in itself) or None
    # An error of the array's own device means that it is lost, unless a line says that it goes on without a member.
    is_lost = any(map(_LOST.search, lines)) or (bool(itself) and not any(map(_GOES_ON.search, lines)))
    return Array(next((name for name in names if name), None), member, is_lost)


def apart_from_lost(away: OfflineLogDirs) -> tuple[OfflineLogDirs, Mapping[str, Array]]:
    """Return the offline directories without those that only lost a member of their array.

    These are returned in the mapping, by array: the array may still work, and then no data is lost.
    """
    found = {
        directory.path: array
        for directory in away.of_cause(Cause.FAILED)
        if (array := array_of(directory, away.proofs[directory.path])) is not None and not array.is_lost
    }
    if not found:
        return away, found
    # FAILED would have the disk below the directory formatted, and the data on the healthy members with it.
    judged = tuple(replace(d, cause=Cause.UNKNOWN) if d.path in found else d for d in away.directories)
    return replace(away, directories=judged, snapshot=away.snapshot.with_directories(judged)), found


def look_at_array(directory: LogDir, array: Array, proof: OfflineEvidence) -> ProposedAction:
    """Return the check of an array with a failed member: the state of the array decides what to do next."""
    line = next((text for text in (proof.kernel_error, proof.said) if text), None)
    reason = f"{looked_at(directory, array)}{f' ({line})' if line else ''}"
    steps = host_notes(directory.broker, *array_steps(array))
    return check(place_target(directory), STEP, reason, steps, array=array.name, member=array.member)


def looked_at(directory: LogDir, array: Array) -> str:
    """Say what a failed member means, and that it is no reason to format anything."""
    member = "a member" if array.member is None else f"its member {array.member}"
    return (
        f"look at {array} below {directory.path} of broker {directory.broker}: {member} failed, and an array with "
        "enough other members goes on without it. Replace the member of the array, which copies its data itself; the "
        f"data of {directory.path} is on the others, so nothing is formatted"
    )


def is_active(arrays: Iterable[Array]) -> tuple[Precondition, ...]:
    """Return the precondition that arrays are active before a broker starts on them."""
    return tuple(
        Precondition("array_is_active", f"{array} is active, if degraded, and its file system is mounted", None)
        for array in arrays
    )


def array_steps(array: Array) -> list[str]:
    """Return the manual steps on the host, read-only ones first."""
    member = "MEMBER" if array.member is None else " ".join(f"/dev/{one}" for one in array.member.split(", "))
    return [
        (
            f"cat /proc/mdstat; mdadm --detail {array.device} (active and degraded, or failed?); lvs -a for LVM; "
            "storcli /call show, zpool status or drbdadm status for others"
        ),
        f"smartctl -x {member}",
        (
            f"while the array is active: mdadm --manage {array.device} --fail {member} --remove {member}, change the "
            f"disk, mdadm --manage {array.device} --add NEW_MEMBER; lvconvert --repair VG/LV for LVM"
        ),
        "where it stopped although enough members are well: mdadm --assemble --scan, then mount it again",
    ]
