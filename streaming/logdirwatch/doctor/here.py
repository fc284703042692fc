"""The machine that it runs on: Java, Spark's task slots, the folders. Pure but for :func:`folder`."""

import re
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from logdirwatch.doctor.findings import Finding
from logdirwatch.errors import UserError
from logdirwatch.jobs import checks
from logdirwatch.text.units import human_bytes

LEAST_FREE_BYTES = 1 << 30
LEAST_FREE_RATIO = 0.05
_SCHEME = re.compile(r"(?!file:)[A-Za-z][A-Za-z0-9+.-]*:")


@dataclass(frozen=True)
class Folder:
    """A folder: ``error`` says why it is not writable, sizes are those of its file system."""

    name: str
    path: str
    setting: str
    error: str | None
    free_bytes: int
    total_bytes: int


def is_local(path: str) -> bool:
    """Whether a path is one of this machine's, not an object store's URL."""
    return _SCHEME.match(path) is None


def folder(name: str, path: str, setting: str) -> Folder:
    """Check a folder, or the parent of a missing one, by writing and removing a file. Never raises."""
    place = Path(path.removeprefix("file://").removeprefix("file:")).expanduser().absolute()
    try:
        there = next(found for found in (place, *place.parents) if found.exists())
        usage = shutil.disk_usage(there)
    except OSError as error:
        return Folder(name, str(place), setting, _reason(error), 0, 0)
    return Folder(name, str(place), setting, _write_error(there), usage.free, usage.total)


def _write_error(place: Path) -> str | None:
    try:
        with tempfile.NamedTemporaryFile(dir=place, prefix=".logdirwatch-doctor-") as probe:
            probe.write(b"doctor")
            probe.flush()
    except OSError as error:
        return _reason(error)
    return None


def _reason(error: OSError) -> str:
    return error.strerror or type(error).__name__


def judge_folder(found: Folder) -> Iterator[Finding]:
    """Judge a folder: whether it is writable and has free space."""
    where = f"{found.name} {found.path}"
    if found.error is not None:
        yield Finding(
            "folders",
            where,
            f"cannot be written: {found.error}",
            f"make it writable for this user (chown, or mount it read-write), or change {found.setting}",
        )
    elif found.free_bytes < LEAST_FREE_BYTES or found.free_bytes < LEAST_FREE_RATIO * found.total_bytes:
        yield Finding(
            "folders",
            where,
            f"only {human_bytes(found.free_bytes)} of {human_bytes(found.total_bytes)} are free",
            f"free space or set {found.setting} to a larger disk; logdirwatch stops when it is full",
        )


def judge_java(error: UserError | None) -> Iterator[Finding]:
    """Judge the result of the search for Java."""
    if error is not None:
        yield Finding(
            "java",
            "this machine",
            str(error),
            "install it (Debian, Ubuntu: apt install openjdk-17-jre-headless), or set JAVA_HOME to one",
        )


def judge_slots(master: str | None, events_partitions: int) -> Iterator[Finding]:
    """Judge Spark's slots against the partitions that the fast lane occupies; only local masters can be checked."""
    slots = checks.local_slots(master) if master else None
    if slots is None:
        return
    needed = events_partitions + checks.SLOTS_FOR_OTHERS
    try:
        checks.check_slots(slots, events_partitions, others=True)
    except UserError as error:
        yield Finding(
            "task_slots",
            f"stream.master {master}",
            str(error).removeprefix("stream: ").partition(";")[0],
            f"set stream.master to local[{max(8, needed)},4] or more; slots may outnumber the cores",
        )
