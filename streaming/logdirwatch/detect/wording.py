"""The sentences of alerts: what happened, how bad, and whether it can wait until morning."""

from logdirwatch.detect.memory import BrokerMemory, LogDirMemory
from logdirwatch.detect.rules import used_ratio
from logdirwatch.model.records import PartitionHealth
from logdirwatch.model.vocabulary import Cause, LogDirStatus

_MIB = 1 << 20
_GIB = 1 << 30
NIGHT_S = 12 * 3600

_CAUSE_TEXT = {
    Cause.FULL: "the disk is full",
    Cause.FAILED: "the disk or file system failed while space was left",
    Cause.UNKNOWN: "failed or full, not known yet",
}


def size(value: int | float | None) -> str:
    """Return bytes for people, in GiB or MiB."""
    if value is None:
        return "an unknown size"
    return f"{value / _GIB:.1f} GiB" if value >= _GIB else f"{value / _MIB:.1f} MiB"


def space(memory: BrokerMemory, path: str, log_dir: LogDirMemory) -> str:
    """Say how full a directory is and how long it has left at its present growth."""
    ratio = used_ratio(log_dir.total_bytes, log_dir.usable_bytes)
    percent = "an unknown share" if ratio is None else f"{ratio:.1%}"
    text = f"Broker {memory.broker} {path} is {log_dir.status}: {percent} of {size(log_dir.total_bytes)} used"
    left_s = _seconds_left(log_dir)
    if left_s is not None:
        text += f", full in about {_duration(left_s)} at {size(log_dir.growth_bytes_per_s)}/s"
    return f"{text}; {_waits_for_space(log_dir, left_s)}"


def offline(memory: BrokerMemory, path: str, log_dir: LogDirMemory) -> str:
    """Say that a directory went offline, why, and what hangs on it."""
    cause = _CAUSE_TEXT.get(log_dir.cause or Cause.UNKNOWN, str(log_dir.cause))
    count = "an unknown number of" if log_dir.replica_count is None else str(log_dir.replica_count)
    return (
        f"Broker {memory.broker} {path} is offline ({cause}); {count} replicas are lost there until a restart; "
        f"{_waits_for_partitions(memory.partitions)}"
    )


def unconfirmed(memory: BrokerMemory) -> str:
    """Say that a broker reported a failure and no directory followed."""
    return f"Broker {memory.broker} reported LogDirFailure, but no log directory turned offline; nothing to do"


def merged(memory: BrokerMemory) -> str:
    """Say that another alert already speaks of this failure."""
    return f"Broker {memory.broker} reported LogDirFailure for a log directory whose alert is open already"


def suspect(memory: BrokerMemory, path: str, error_code: int) -> str:
    """Say that a directory answered with an error that is not the one of an offline directory."""
    return (
        f"Broker {memory.broker} {path} cannot be asked (error {error_code}), though Kafka does not call it offline; "
        "can wait until morning: no, because a file system that cannot be asked may be failing"
    )


def unknown(memory: BrokerMemory, path: str, reason: str) -> str:
    """Say that nothing is known of a directory."""
    return (
        f"Broker {memory.broker} {path} is unknown ({reason}); "
        "can wait until morning: yes, because no failure was seen, but nobody watches it meanwhile"
    )


def broker_unknown(memory: BrokerMemory) -> str:
    """Say that a broker does not answer and the controller has not given it up."""
    return (
        f"Broker {memory.broker} is unknown ({memory.reason}); "
        "can wait until morning: no, because nobody sees its disks"
    )


def broker_offline(memory: BrokerMemory) -> str:
    """Say that the controller gave a broker up, and in what state its directories were seen last."""
    worst = max(
        ((path, log_dir) for path, log_dir in memory.log_dirs.items() if log_dir.last_status is not None),
        key=lambda item: (item[1].last_status or LogDirStatus.UNKNOWN).rank,
        default=None,
    )
    text = f"Broker {memory.broker} is offline ({memory.reason})"
    if worst is not None and worst[1].last_status is not LogDirStatus.ONLINE:
        ratio = used_ratio(worst[1].total_bytes, worst[1].usable_bytes)
        kind = "metadata directory" if worst[1].is_metadata_dir else "directory"
        share = "" if ratio is None else f" at {ratio:.1%}"
        text += f"; last seen: {kind} {worst[0]} {worst[1].last_status}{share}"
    return f"{text}; {_waits_for_partitions(memory.partitions)}"


def resolved(memory: BrokerMemory, path: str | None, reason: str) -> str:
    """Say that an alert is over and why."""
    place = f"Broker {memory.broker}" + (f" {path}" if path else "")
    return f"{place}: resolved, {reason}"


def _seconds_left(log_dir: LogDirMemory) -> float | None:
    if not log_dir.growth_bytes_per_s or log_dir.growth_bytes_per_s <= 0 or log_dir.usable_bytes is None:
        return None
    return log_dir.usable_bytes / log_dir.growth_bytes_per_s


def _duration(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s"
    if seconds < 7200:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.0f} h"


def _waits_for_space(log_dir: LogDirMemory, left_s: float | None) -> str:
    if log_dir.status is LogDirStatus.SATURATED:
        return "can wait until morning: no, because the next write may take the directory offline"
    if log_dir.growth_bytes_per_s is None:
        return "can wait until morning: no, because its growth is not known yet"
    if left_s is None:
        return "can wait until morning: yes, because it does not grow"
    if left_s < NIGHT_S:
        return "can wait until morning: no, because it will be full before"
    return "can wait until morning: yes, because space is left at its present growth"


def _waits_for_partitions(partitions: PartitionHealth | None) -> str:
    if partitions is None:
        return "can wait until morning: no, because the state of its partitions is not known"
    if partitions.leaderless or partitions.under_min_isr:
        return "can wait until morning: no, because partitions have no leader or too few in-sync replicas"
    return "can wait until morning: yes, because every partition still has a leader and enough in-sync replicas"
