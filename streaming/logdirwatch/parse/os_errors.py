"""The operating system's errors, recognised in any log: one table for every reader. Pure.

A program prints an error by its number (``errno=12``, ``os error 28``, ``error -5``), by its name (``ENOSPC``), or in
the words of the C library, which are those of the system's language: Java takes its messages from ``strerror``.
``os_error_words.tsv`` has the words of glibc in every language that its catalogues have, one line per error;
``make os-error-words`` writes it. ``others`` are the words of Java, musl (Alpine Linux), macOS, Windows and other
releases of glibc.
"""

import re
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from importlib import resources
from typing import NamedTuple

from logdirwatch.model.vocabulary import Cause


class Limit(NamedTuple):
    """A limit of the operating system: its name, a command that shows how near it is, and how it is raised.

    ``raised_by`` is None for a limit that the file system itself has.
    """

    name: str
    shown_by: str
    raised_by: str | None


def _of_unit(setting: str) -> str:
    return (
        "mkdir -p /etc/systemd/system/kafka.service.d; "
        f"printf '[Service]\\n{setting}\\n' > /etc/systemd/system/kafka.service.d/limit.conf; systemctl daemon-reload"
    )


OPEN_FILES = Limit(
    "open files of the broker's process (LimitNOFILE, ulimit -n)",
    "grep 'open files' /proc/PID/limits; ls /proc/PID/fd | wc -l",
    _of_unit("LimitNOFILE=1000000"),
)
ALL_OPEN_FILES = Limit(
    "the kernel's open files (sysctl fs.file-max)", "cat /proc/sys/fs/file-nr", "sysctl -w fs.file-max=N"
)
MEMORY_MAPS = Limit(
    "memory maps (sysctl vm.max_map_count)",
    "sysctl vm.max_map_count; wc -l /proc/PID/maps (Kafka maps two files of each segment); free -m",
    "sysctl -w vm.max_map_count=N if the lines are close to it; add memory only if free -m shows that none is left",
)
MEMORY = Limit(
    "memory of the host or the container",
    "free -m; dmesg -T | grep -iE 'out of memory|oom|slub'; findmnt (is it read-only now?)",
    "add memory, or raise MemoryMax of the unit or resources.limits.memory of the pod; then unmount the file system, "
    "run fsck or xfs_repair, and mount it again if it turned read-only or shut itself down",
)
THREADS = Limit(
    "threads and processes (LimitNPROC, TasksMax, sysctl kernel.threads-max and kernel.pid_max)",
    "grep processes /proc/PID/limits; ls /proc/PID/task | wc -l; systemctl show kafka -p TasksMax",
    _of_unit("LimitNPROC=infinity\\nTasksMax=infinity"),
)
FILE_SIZE = Limit(
    "the size of a file (LimitFSIZE, ulimit -f)", "grep 'file size' /proc/PID/limits", _of_unit("LimitFSIZE=infinity")
)
FOLDERS = Limit(
    "folders in one folder (the file system's own limit)", "find DIR -mindepth 1 -maxdepth 1 -type d | wc -l", None
)
_UNFIT = (
    "the file system refuses what Kafka needs (a lock, a memory map, a rename), as shares and FUSE do: findmnt names "
    "it; put the directory on ext4 or XFS on a block device"
)


class OsError(NamedTuple):
    """An error: its name, its number on Linux, the class of causes, and the limit that was reached, if it is one.

    ``remedy`` is what the error itself asks for, where its class does not say it: a restart alone meets it again.
    ``likely`` is what is mostly behind it, where a restart alone may help.
    """

    name: str
    number: int
    cause: Cause
    others: tuple[str, ...] = ()
    limit: Limit | None = None
    is_translated: bool = True
    """Whether the C library's words for it say enough: those of EAGAIN are also those of a held lock."""
    remedy: str | None = None
    likely: str | None = None


# In the order in which a text is judged, since it may name a second error as the consequence of the first.
ERRORS = (
    OsError("EDQUOT", 122, Cause.FULL, ("Quota exceeded", "Disc quota exceeded", "超出磁盘配额", "quota 滿了")),
    OsError("ENOSPC", 28, Cause.FULL, ("not enough space on the disk", "На устройстве кончилось место")),
    OsError("ENFILE", 23, Cause.LIMIT, ("Too many open files in system",), ALL_OPEN_FILES),
    OsError("EMFILE", 24, Cause.LIMIT, ("No file descriptors available",), OPEN_FILES),
    # Before EFBIG, whose words in Portuguese are the end of these.
    OsError(
        "ENAMETOOLONG",
        36,
        Cause.UNKNOWN,
        ("Filename too long",),
        remedy="its file system takes only shorter names than Kafka makes (a deletion adds 40 characters; eCryptfs "
        "takes 143 in all): put the directory on one that takes 255",
    ),
    OsError("EFBIG", 27, Cause.LIMIT, (), FILE_SIZE),
    OsError(
        "EMLINK",
        31,
        Cause.LIMIT,
        ("过多的连接",),
        FOLDERS,
        remedy="fewer partitions in one directory: its file system has no room for another folder (ext3 takes 32,000), "
        "and nobody can raise that. Move partitions to other directories, or enable dir_nlink (ext4)",
    ),
    OsError(
        "ENOMEM",
        12,
        Cause.LIMIT,
        ("Map failed", "Out of memory", "Not enough space", "(mmap) failed", "os::commit_memory"),
        MEMORY_MAPS,
    ),
    OsError(
        "EAGAIN",
        11,
        Cause.LIMIT,
        ("unable to create native thread", "unable to create new native thread", "fork: retry: Resource temporarily"),
        THREADS,
        is_translated=False,
    ),
    OsError("EROFS", 30, Cause.READ_ONLY, ("ReadOnlyFileSystemException", "media is write protected")),
    OsError("EACCES", 13, Cause.PERMISSION, ("AccessDeniedException", "Access is denied")),
    OsError("EPERM", 1, Cause.PERMISSION),
    OsError("ENOKEY", 126, Cause.PERMISSION),
    OsError("EKEYEXPIRED", 127, Cause.PERMISSION),
    OsError("EKEYREVOKED", 128, Cause.PERMISSION),
    OsError(
        "EUCLEAN",
        117,
        Cause.FILE_SYSTEM,
        ("Data consistency error", "is corrupted and unreadable", "Filesystem is corrupt", "EFSCORRUPTED"),
    ),
    OsError("EBADMSG", 74, Cause.FILE_SYSTEM, ("EFSBADCRC",)),
    OsError("ESTALE", 116, Cause.REMOUNT, ("Stale NFS file handle", "过旧的文件句柄", "古いファイルハンドル")),
    OsError("ENOTCONN", 107, Cause.REMOUNT, ("Socket not connected", "Socket is not connected")),
    OsError("ENXIO", 6, Cause.REMOUNT, ("Device not configured", "device is not ready")),
    OsError("ENODEV", 19, Cause.REMOUNT, ("Operation not supported by device",)),
    OsError("ENOMEDIUM", 123, Cause.REMOUNT),
    OsError("EHOSTDOWN", 112, Cause.REMOUNT),
    OsError("EHOSTUNREACH", 113, Cause.REMOUNT, ("Host is unreachable",)),
    OsError("ENETDOWN", 100, Cause.REMOUNT, ("Network is down",)),
    OsError("ENETUNREACH", 101, Cause.REMOUNT, ("Network unreachable", "network path was not found")),
    OsError("ETIMEDOUT", 110, Cause.REMOUNT, ("Operation timed out",)),
    OsError("ECONNREFUSED", 111, Cause.REMOUNT),
    OsError("ECONNRESET", 104, Cause.REMOUNT, ("Connection reset", "network name is no longer")),
    OsError("ECONNABORTED", 103, Cause.REMOUNT, ("Connection aborted",)),
    OsError("ESHUTDOWN", 108, Cause.REMOUNT, ("Cannot send after socket shutdown",)),
    OsError("ENOLINK", 67, Cause.REMOUNT),
    OsError(
        "EIO", 5, Cause.FAILED, (": I/O error", ":I/O error", "(I/O error", "I/O device error", "redundancy check")
    ),
    OsError("EREMOTEIO", 121, Cause.FAILED),
    # What Linux makes of an unreadable sector (BLK_STS_MEDIUM).
    OsError("ENODATA", 61, Cause.FAILED),
    OsError("EBUSY", 16, Cause.UNKNOWN, ("Resource busy", "being used by another process")),
    OsError("ENOTDIR", 20, Cause.UNKNOWN),
    OsError(
        "ENOENT",
        2,
        Cause.UNKNOWN,
        ("NoSuchFileException",),
        likely="A file is gone that Kafka needs: see that its volume is mounted (findmnt). If it is, somebody removed "
        "the file: a cleaner of temporary files (systemd-tmpfiles, tmpwatch) where log.dirs is below /tmp, a script, a "
        "person, or a second broker on the directory. Stop that, and put log.dirs elsewhere than /tmp; until 3.6 Kafka "
        "itself did so when it deleted a topic during a flush (KAFKA-15391)",
    ),
    OsError(
        "ENOLCK",
        37,
        Cause.UNKNOWN,
        remedy="its file system grants no locks: on NFS see that lockd and rpc.statd run here and on the server, or "
        "use NFS 4; on a local file system see lslocks",
    ),
    OsError("EOPNOTSUPP", 95, Cause.UNKNOWN, ("Not supported",), remedy=_UNFIT),
    OsError("ENOSYS", 38, Cause.UNKNOWN, remedy=_UNFIT),
    OsError("EINVAL", 22, Cause.UNKNOWN, remedy=_UNFIT),
)
_BY_NUMBER = {error.number: error for error in ERRORS}
# Of a path the bare name of an error is no error.
_NAMED = re.compile(r"(?<![\w/.-])E[A-Z]{2,11}(?![\w/.-])")
_NUMBERED = re.compile(
    r"(?:\b(?:errno|os error)[ =:]{1,3}|\bunknown error[ =:]{1,3}|\berror[ =:]{1,3}-)(\d{1,3})\b", re.IGNORECASE
)


def os_error_in(text: str, *, is_end: bool = False) -> OsError | None:
    """Return the error that ``text`` names, by number, name or words; ``is_end``: its words are the end of it."""
    if not text:
        return None
    if not is_end and (found := next(_by_number(text), None)) is not None:
        return found
    plain = normalised(text)
    is_in = plain.endswith if is_end else plain.__contains__
    named = set() if is_end else set(_NAMED.findall(text))
    known = ((error, _words_of(error, is_ascii=plain.isascii())) for error in ERRORS)
    return next((error for error, words in known if error.name in named or any(map(is_in, words))), None)


@cache
def _words_of(error: OsError, *, is_ascii: bool) -> tuple[str, ...]:
    """Return the words that a text can contain, which are few for one in ASCII."""
    return tuple(filter(str.isascii, words_of(error))) if is_ascii else words_of(error)


def _by_number(text: str) -> Iterator[OsError]:
    return (_BY_NUMBER[number] for found in _NUMBERED.findall(text) if (number := int(found)) in _BY_NUMBER)


def numbers_of(*which: Cause | str) -> str:
    """Return the alternatives of a pattern for the numbers of errors, by class or by name, as the kernel prints."""
    return f"(?:{'|'.join(str(error.number) for error in ERRORS if error.cause in which or error.name in which)})"


@cache
def words_of(error: OsError) -> tuple[str, ...]:
    """Return all words for an error, normalised."""
    others = tuple(normalised(words) for words in error.others)
    return (*_catalogue().get(error.name, ()), *others) if error.is_translated else others


def decoded_line(line: bytes) -> str:
    """Return a line of a log; one that is not UTF-8, as Java writes it in an older locale, keeps each byte."""
    try:
        return line.decode()
    except UnicodeDecodeError:
        return line.decode("latin-1")


_ENCODINGS = ("iso8859_2", "iso8859_5", "iso8859_7", "iso8859_9", "koi8_r", "gb18030", "big5", "euc_jp", "euc_kr")
"""Of locales that are not UTF-8; ISO 8859-1 is how such a line is read."""


def _as_read(words: str) -> Iterator[str]:
    """Yield words as a line in another encoding has them; their first letter may be a capital there."""
    yield words
    if not words.isascii():
        for encoding in _ENCODINGS:
            with suppress(UnicodeEncodeError):
                yield normalised(words[1:].encode(encoding).decode("latin-1"))


def normalised(text: str) -> str:
    """Return a text with plain spaces and apostrophes, and without the difference of upper and lower case."""
    return text.replace("\u00a0", " ").replace("\u202f", " ").replace("\u2019", "'").casefold()


@cache
def _catalogue() -> dict[str, tuple[str, ...]]:
    text = resources.files(__package__).joinpath("os_error_words.tsv").read_text(encoding="utf-8")
    lines = (line.split("\t") for line in text.splitlines())
    return {name: tuple(read for one in words for read in _as_read(one)) for name, *words in lines}
