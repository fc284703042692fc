"""The texts of alerts about offline and unreported directories: which, why, and the replicas in them."""

from collections.abc import Sequence

from logdirwatch.detect import causes, predicates
from logdirwatch.detect.state.broker_state import BrokerMemory, LogDirMemory, Verdict
from logdirwatch.model.evidence.log_dirs import NOT_CONFIGURED
from logdirwatch.model.vocabulary import Cause, FullBy, KernelTrouble, Rule
from logdirwatch.parse.kernel_log.lines import limit_in
from logdirwatch.text.units import human_bytes, human_ratio
from logdirwatch.text.words import counted, short_id, shortened, some_of, until_morning, utc

NAMED = 3
SAID_CHARACTERS = 160
COMMON_CAUSE = "look for a common cause (controller, bus, mount, limit)"
UNNAMED = "I/O error, device not named: a disk, the path to it, or its mount"
"""What EIO says where neither the kernel nor the broker's log names a device."""

_CAUSES = {
    Cause.FAILED: "disk failure, not full",
    Cause.READ_ONLY: "the file system is mounted read-only",
    Cause.PERMISSION: "the broker may not write there",
    Cause.REMOUNT: (
        "the mount or the path to the storage is lost, or the storage does not answer; the data is presumably intact"
    ),
    Cause.RENAME_REFUSED: "the file system refused to rename what the broker wrote itself, as a share does",
    Cause.DAMAGED_FILE: "a small file of Kafka's own is damaged; the disk is fine, and a restart alone does not help",
    Cause.FILE_SYSTEM: "the file system is corrupt or shut itself down; repair it, the disk may be fine",
}
_NAMES = {Rule.LOG_DIR_SPACE: "space alert"}


def place_and_cause(memory: BrokerMemory, away: Sequence[str]) -> str:
    """Return the first half of the text; several directories are listed with their possible common cause."""
    verdicts = [causes.shown(memory.log_dirs[path]) for path in away]
    if len(away) == 1:
        return f"Broker {memory.broker} {away[0]} is offline: {_cause(memory.log_dirs[away[0]], verdicts[0])}"
    cause = causes.common(verdicts)
    if cause is Cause.UNKNOWN:
        known = [f"{path}: {verdict.cause}" for path, verdict in zip(away, verdicts, strict=True) if _is_known(verdict)]
        why = "".join(f"{text}; " for text in known[:NAMED]) + COMMON_CAUSE
    else:
        why = _cause(memory.log_dirs[away[0]], next(v for v in verdicts if v.cause is cause))
        why += f"; {COMMON_CAUSE}" if cause is Cause.FAILED else ""
    return f"Broker {memory.broker}: {len(away)} log directories went offline together ({some_of(away, NAMED)}): {why}"


def why_offline(log_dir: LogDirMemory) -> str | None:
    """Return why a directory was offline when last seen, None if unknown."""
    verdict = causes.shown(log_dir)
    return _cause(log_dir, verdict) if _is_known(verdict) else None


def replicas_there(memory: BrokerMemory, away: Sequence[str]) -> str:
    """Say how many replicas are unavailable."""
    counts = [memory.log_dirs[path].replica_count for path in away]
    if None in counts:
        return "an unknown number of replicas unavailable there"
    return f"{counted(sum(count or 0 for count in counts), 'replica')} unavailable there"


def ignored(memory: BrokerMemory, away: Sequence[str]) -> str:
    """Say which failures are only in the broker's log, because Kafka did not act on them; empty if none."""
    since = {path: causes.ignored_since_ms(memory, memory.log_dirs[path]) for path in away}
    told = [(path, at_ms) for path, at_ms in since.items() if at_ms is not None]
    if not told:
        return ""
    paths = some_of([path for path, _ in told], NAMED)
    return (
        f"; the broker's log says so, but Kafka did not act on it: DescribeLogDirs has called {paths} online since "
        f"{utc(min(at_ms for _, at_ms in told))}"
    )


def closed(memory: BrokerMemory, path: str, rule: Rule) -> str:
    """Say that an alert was replaced by the one about the directory's failure."""
    log_dir = memory.log_dirs[path]
    holder = memory.log_dirs.get(log_dir.carrier or path, log_dir)
    alert = holder.alerts.get(Rule.LOG_DIR_OFFLINE)
    see = "" if alert is None else f" (see {short_id(alert.alert_id)})"
    return f"{_NAMES.get(rule, 'alert')} closed: the directory is now offline{see}"


def _is_known(verdict: Verdict) -> bool:
    return verdict.cause is not Cause.UNKNOWN


def _cause(log_dir: LogDirMemory, verdict: Verdict) -> str:
    """Return why a directory is offline, with the observed device or number."""
    if verdict.cause is Cause.FULL:
        return _full(log_dir, verdict)
    if verdict.cause is Cause.UNKNOWN:
        return _unknown(log_dir, verdict)
    if verdict.cause is Cause.LIMIT:
        return _limit(verdict)
    is_named = verdict.device is not None or verdict.decided_by == causes.KERNEL_LOG
    text = UNNAMED if verdict.cause is Cause.FAILED and not is_named else _CAUSES[verdict.cause]
    what, separator, rest = text.partition("; ")
    return text if verdict.device is None else f"{what} (device {verdict.device}){separator}{rest}"


def _full(log_dir: LogDirMemory, verdict: Verdict) -> str:
    ratio = predicates.used_ratio(log_dir.total_bytes, log_dir.usable_bytes)
    used = "" if ratio is None else f" ({human_ratio(ratio)} of the volume used)"
    if verdict.full_by is FullBy.QUOTA:
        return f"disk quota reached{used}"
    if verdict.full_by is FullBy.INODES:
        if (inodes := log_dir.used_inodes_ratio) is None:
            return "no inodes left"
        return f"no inodes left ({human_ratio(inodes)} of the inodes used{_of_volume(ratio)})"
    if verdict.full_by is FullBy.SPACE:
        return f"no space left{used}"
    kernel = log_dir.kernel
    is_pool = any(trouble.kind == KernelTrouble.POOL_FULL for trouble in log_dir.troubles.values())
    if kernel is not None and kernel.cause is Cause.FULL and is_pool:
        return f"the pool below the volume (device {kernel.device or 'unknown'}) has no space left{used}"
    more = "inodes, " if log_dir.used_inodes_ratio is None else ""
    return (
        f"no space left for the broker{used}: {more}a quota, a thin pool below or, on btrfs, the chunks for metadata "
        "may have run out"
    )


def _limit(verdict: Verdict) -> str:
    limit = limit_in(verdict.said or "")
    which = "" if limit is None else f": {limit.name}"
    return f"a limit of the operating system was reached{which}; the disk is fine"


def _of_volume(ratio: float | None) -> str:
    return "" if ratio is None else f", {human_ratio(ratio)} of the space"


def _unknown(log_dir: LogDirMemory, verdict: Verdict) -> str:
    if line := causes.log_line(log_dir.event_detail):
        return f"cause unknown; the broker's log says: {shortened(line, SAID_CHARACTERS)}"
    if (kernel := causes.kernel_near(log_dir)) is not None:
        return f"cause unknown; the kernel's log says: {shortened(kernel.text, SAID_CHARACTERS)}"
    return "cause unknown, space was left" if verdict.decided_by == causes.SPACE_WAS_LEFT else "cause unknown"


def unknown(memory: BrokerMemory, path: str) -> str:
    """Say that the state of a directory is unknown, and what was in it if its broker no longer reports it."""
    log_dir, held = memory.log_dirs[path], ""
    if log_dir.left is not None and log_dir.replica_count:
        size = "" if log_dir.replica_bytes is None else f" ({human_bytes(log_dir.replica_bytes)})"
        were = counted(log_dir.replica_count, "replica was", "replicas were")
        held = f"; {were} in it{size} when last counted: check before its volume is deleted"
    waits = (True, "no failure was seen, but it is not monitored meanwhile")
    if log_dir.reason == NOT_CONFIGURED:
        waits = (False, "what is nowhere else is lost with the volume")
    return f"Broker {memory.broker} {path} is unknown ({log_dir.reason}){held}; {until_morning(waits)}"
