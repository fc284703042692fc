"""The cause of a directory's failure, from its exception. Pure.

An exception without an error of the operating system (a missing file, a closed channel, a lost lock) says nothing about
the disk: the cause stays unknown. Two say what else is wrong: a rename that was refused, and a file of Kafka's own that
cannot be parsed.
"""

import posixpath

from logdirwatch.model.vocabulary import Cause, FullBy
from logdirwatch.parse.os_errors import os_error_in
from logdirwatch.parse.patterns import compiled

_SUPPRESSED = compiled(r"\s*Suppressed: ")
# So does Java word a rename: the error of the system follows, or is the class of the exception.
_RENAMED = compiled(r"\w+Exception: .{1,4096}? -> ")
# What a share answers while a file in the folder is open, though its owner and mode permit the rename.
_REFUSES_RENAME = frozenset({"EACCES", "EPERM", "EBUSY"})
DAMAGED_FILES = (
    "leader-epoch-checkpoint",
    "partition.metadata",
    "recovery-point-offset-checkpoint",
    "replication-offset-checkpoint",
    "log-start-offset-checkpoint",
    "cleaner-offset-checkpoint",
    "meta.properties",
    "quorum-state",
)
"""Kafka's own small files, which it parses at each start; the last two are those of the node, not of a replica."""
_DAMAGED_FILE = compiled(rf"(?P<file>(?:(?:/[^/:()'\n]{{1,512}}){{0,64}}/)?(?:{'|'.join(DAMAGED_FILES)}))(?![\w.-])")
# CheckpointFile, PartitionMetadataFile, MetaPropertiesEnsemble and FileQuorumStateStore of Kafka 2.4 to 4.3.
_CANNOT_BE_PARSED = compiled(
    r"Malformed line in|Invalid format of|Unrecognized version of|[Uu]nexpected version in"
    r"|Invalid topic ID|[Cc]orrupt|Expected \d+ entries in|but found only|EOFException|For input string|Malformed \\u"
    r"|(?:NumberFormat|InvalidFormat|JsonParse|JsonEOF|UnrecognizedProperty|MismatchedInput|MalformedInput)Exception"
)


def cause_of(text: str) -> Cause:
    """Return the cause in an exception's text; suppressed exceptions came later and do not count."""
    thrown = "\n".join(line for line in text.splitlines() if not _SUPPRESSED.match(line))
    error = os_error_in(thrown)
    if (error is None or error.name in _REFUSES_RENAME) and _RENAMED.search(thrown):
        return Cause.RENAME_REFUSED if error is not None else Cause.UNKNOWN
    if error is not None and error.cause is not Cause.UNKNOWN:
        return error.cause
    return Cause.UNKNOWN if damaged_file(thrown) is None else Cause.DAMAGED_FILE


def damaged_file(text: str) -> str | None:
    """Return the file of Kafka's own that a text calls unreadable by its content, with its path if that is written."""
    named = [found["file"] for found in _DAMAGED_FILE.finditer(text)]
    if not named or not _CANNOT_BE_PARSED.search(text):
        return None
    return max(named, key=lambda file: (posixpath.isabs(file), len(file)))


def full_by(text: str, cause: Cause) -> FullBy | None:
    """Return what ran out; space and inodes have one error (ENOSPC), which only the host's observation tells apart."""
    if cause is not Cause.FULL:
        return None
    return FullBy.QUOTA if is_of_quota(text) else FullBy.SPACE


def is_of_quota(text: str | None) -> bool:
    """Tell whether a text says that a quota is used up."""
    error = os_error_in(text or "")
    return error is not None and error.name == "EDQUOT"
