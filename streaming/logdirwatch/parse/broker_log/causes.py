"""The cause of a directory's failure, from its exception. Pure.

Java words an error of the operating system as the C library does (``strerror``): glibc, or musl in images of Alpine
Linux, such as Kafka's own. An exception without such an error (a missing file, a closed channel, a lost lock) says
nothing about the disk: the cause stays unknown.
"""

import re
from collections.abc import Mapping, Sequence

from logdirwatch.model.vocabulary import Cause, FullBy
from logdirwatch.parse.patterns import compiled

_QUOTA = ("[Qq]uota exceeded", "EDQUOT")

# The first match decides: a text may name a second error as its consequence.
_CAUSES: Mapping[Cause, Sequence[str]] = {
    Cause.FULL: ["No space left on device", "not enough space on the disk", "ENOSPC", *_QUOTA],
    Cause.LIMIT: [
        "Too many open files",
        "No file descriptors available",
        "Map failed",
        "Cannot allocate memory",
        "Out of memory",
        "Not enough space",
        "File too large",
        "Too many links",
        "unable to create (?:new )?native thread",
        "E[MN]FILE",
        "ENOMEM",
        "EFBIG",
    ],
    Cause.READ_ONLY: ["Read-only file system", "ReadOnlyFileSystemException", "media is write protected", "EROFS"],
    Cause.PERMISSION: [
        "Permission denied",
        "AccessDeniedException",
        "Operation not permitted",
        "Access is denied",
        "Required key not available",
        "Key has (?:expired|been revoked)",
        "EACCES",
        "EPERM",
    ],
    Cause.FILE_SYSTEM: [
        "Structure needs cleaning",
        "Data consistency error",
        "Bad message",
        "(?:disk structure|file or directory) is corrupted",
        "Filesystem is corrupt",
        "EUCLEAN",
        "EBADMSG",
        "EFSCORRUPTED",
        "EFSBADCRC",
    ],
    Cause.REMOUNT: [
        "Stale (?:NFS )?file handle",
        "(?:Transport endpoint is|Socket is|Socket) not connected",
        "No such device",
        "No medium found",
        "Host is (?:down|unreachable)",
        "No route to host",
        "Network (?:is )?(?:down|unreachable)",
        "(?:Connection|Operation) timed out",
        "Connection (?:refused|reset|aborted)",
        "Software caused connection abort",
        "Cannot send after (?:transport|socket)",
        "network (?:path was not found|name is no longer)",
        "device is not ready",
        "Link has been severed",
        "ESTALE",
        "ENOTCONN",
        "ENODEV",
        "ENXIO",
        "EHOSTDOWN",
    ],
    Cause.FAILED: [
        "(?:Input/output|Remote I/O|I/O device) error",
        r"[:(] ?I/O error",
        "cyclic redundancy check",
        # ENODATA is what Linux makes of an unreadable sector (BLK_STS_MEDIUM).
        "No data available",
        "EIO",
        "EREMOTEIO",
        "ENODATA",
    ],
}


def _any_of(patterns: Sequence[str]) -> "re.Pattern[str]":
    """Compile alternatives; the bare name of an error does not count as a part of a path."""
    return compiled("|".join(rf"(?<![\w/.-]){p}(?![\w/.-])" if p.startswith("E") else p for p in patterns))


_TABLE = {cause: _any_of(patterns) for cause, patterns in _CAUSES.items()}
_BY_QUOTA = _any_of(_QUOTA)
_SUPPRESSED = compiled(r"\s*Suppressed: ")


def cause_of(text: str) -> Cause:
    """Return the cause in an exception's text; suppressed exceptions came later and do not count."""
    lines = text.splitlines()
    thrown = "\n".join(line for line in lines if not _SUPPRESSED.match(line))
    return next((cause for cause, pattern in _TABLE.items() if pattern.search(thrown)), Cause.UNKNOWN)


def full_by(text: str, cause: Cause) -> FullBy | None:
    """Return what ran out; space and inodes have one error (ENOSPC), which only the host's observation tells apart."""
    if cause is not Cause.FULL:
        return None
    return FullBy.QUOTA if _BY_QUOTA.search(text) else FullBy.SPACE
