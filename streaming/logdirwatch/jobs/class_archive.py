"""The archive of Spark's loaded classes (JEP 350): Java starts in half of the time with it, and takes less memory.

The first stream of an installation writes it as it ends; whatever starts Spark later uses it. Java itself checks
whether an archive fits, and starts without it if not.
"""

import fcntl
import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import IO

import pyspark

from logdirwatch import jars as installed

_QUIET = "-Xlog:cds=off -Xlog:cds+dynamic=off"
_SUFFIX = ".jsa"
_recording: dict[Path, IO[str]] = {}
"""The archives that a JVM of this process writes as it ends, with the locks that keep others from it."""


def java_options(jars: Sequence[Path], *, records: bool) -> str:
    """Return the options of a driver that uses the archive for these connectors or, with ``records``, writes one.

    There are none if the archive does not exist and cannot be written, or another process is to write it.
    """
    folder = jars[0].parent.parent
    archive = folder / f"spark-classes-{_place(folder)}-{_fingerprint(jars)}{_SUFFIX}"
    if archive.exists():
        return f"-XX:SharedArchiveFile={archive} {_QUIET}"
    if not records or not _is_locked(archive):
        return ""
    return f"-XX:ArchiveClassesAtExit={_part(archive)} {_QUIET}"


def is_recording() -> bool:
    """Tell whether a JVM of this process writes an archive as it ends."""
    return bool(_recording)


def keep(*, is_whole: bool = True) -> None:
    """Keep what a JVM that has ended wrote, instead of the archives of earlier releases in the same place.

    A JVM that was killed leaves a part of it, which is not kept.
    """
    for archive, lock in _recording.items():
        if not is_whole:
            _part(archive).unlink(missing_ok=True)
        if _part(archive).exists():
            place = archive.name.rpartition("-")[0]
            for older in archive.parent.glob(f"{place}-*{_SUFFIX}"):
                older.unlink()
            _part(archive).replace(archive)
        lock.close()
    _recording.clear()


def _is_locked(archive: Path) -> bool:
    """Tell whether this process may write an archive; the lock lasts until it ends."""
    try:
        lock = archive.with_suffix(".lock").open("w")
    except OSError:
        return False
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        lock.close()
        return False
    _recording[archive] = lock
    return True


def _part(archive: Path) -> Path:
    return archive.with_suffix(".part")


def _place(folder: Path) -> str:
    """Return a name for an installation; several may share a home folder."""
    return _hash(f"{_pyspark()}\n{folder}")


def _fingerprint(jars: Sequence[Path]) -> str:
    """Return what changes with the Java or any of the jars; Java compares their times and sizes too."""
    stats = [(path, path.stat()) for path in (_java(), *sorted(_pyspark().glob("jars/*.jar")), *jars)]
    return _hash("\n".join(f"{path} {found.st_mtime_ns} {found.st_size}" for path, found in stats))


def _pyspark() -> Path:
    return Path(pyspark.__file__).parent


def _java() -> Path:
    """Return the Java that Spark starts; where there is none, something else that exists, since Spark says so."""
    found = installed.java_program()
    return Path(found).resolve() if found and Path(found).exists() else _pyspark()


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:12]
