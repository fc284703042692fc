"""The judgements of the state machine, one short predicate for each rule; no state, no clock."""

from msgspec import Struct

from logdirwatch.detect.settings import Thresholds
from logdirwatch.detect.state.broker_state import BrokerMemory, LogDirMemory
from logdirwatch.detect.state.forecast import Grown
from logdirwatch.model.capabilities import leaves_zookeeper
from logdirwatch.model.records import PartitionHealth
from logdirwatch.model.times import GAP_POLLS
from logdirwatch.model.vocabulary import SPACE_STATUSES, Cause, LogDirStatus, MetadataMode, Severity

SILENCE_POLLS = 3
FULL_SAMPLE_POLLS = 2
GROWTH_SMOOTHING = 0.3
BACK_STRETCH = 1.5

SPACE_SEVERITY = {
    LogDirStatus.FILLING: Severity.WARNING,
    LogDirStatus.CRITICAL: Severity.CRITICAL,
    LogDirStatus.SATURATED: Severity.PAGE,
}


def used_ratio(total_bytes: int | None, usable_bytes: int | None) -> float | None:
    """Return ``1 - usable / total``, or None when Kafka did not report both (KIP-827)."""
    if not total_bytes or usable_bytes is None:
        return None
    return 1.0 - usable_bytes / total_bytes


class Room(Struct, frozen=True):
    """The input for a directory's level; None when unknown, which decides nothing.

    ``missing_bytes`` are those that running moves will add and that do not fit. ``is_held_by_ratio``: the present level
    was reached by used space or inodes.
    """

    total_bytes: int
    usable_bytes: int
    full_in_ms: int | None = None
    missing_bytes: int | None = None
    used_inodes_ratio: float | None = None
    is_held_by_ratio: bool = True


def judged_level(thresholds: Thresholds, room: Room, *, on_the_way_back: bool = False) -> tuple[LogDirStatus, str]:
    """Return the worst level of a directory's space, inodes, moves and forecast, and which of them decided.

    On the way back every threshold is one step lower (hysteresis), but for a level that only the forecast or moves
    decided the ratios are not: it falls with what decided it.
    """
    back = thresholds.back_ratio if on_the_way_back and room.is_held_by_ratio else 0.0
    by_space = level(thresholds, room.total_bytes, room.usable_bytes, lowered_by=back), "space"
    if room.full_in_ms is None and not room.missing_bytes and room.used_inodes_ratio is None:
        return by_space
    stretched = BACK_STRETCH if on_the_way_back else 1.0
    asked = [
        by_space,
        (_level_by_forecast(thresholds, room.full_in_ms, stretched), "forecast"),
        (LogDirStatus.CRITICAL if room.missing_bytes else LogDirStatus.ONLINE, "moves_do_not_fit"),
        (_level_by_inodes(thresholds, room.used_inodes_ratio, back), "inodes"),
    ]
    return max(asked, key=lambda answer: answer[0].rank)


def is_by_ratio(thresholds: Thresholds, before: LogDirStatus, now: LogDirStatus, room: Room) -> bool:
    """Tell whether used space or inodes reached the threshold of the level ``now``, or hold it on the way back.

    So does a level that only earlier samples still ask for, once nothing of this one does.
    """
    if now is LogDirStatus.ONLINE:
        return False
    if _level_by_ratio(thresholds, room, 0.0).rank >= now.rank:
        return True
    if before not in SPACE_STATUSES or now.rank > before.rank or not room.is_held_by_ratio:
        return False
    if now is before or _level_by_ratio(thresholds, room, thresholds.back_ratio).rank >= now.rank:
        return True
    asked, _ = judged_level(thresholds, room, on_the_way_back=True)
    return asked.rank < now.rank


def _level_by_ratio(thresholds: Thresholds, room: Room, lowered_by: float) -> LogDirStatus:
    by_space = level(thresholds, room.total_bytes, room.usable_bytes, lowered_by=lowered_by)
    by_inodes = _level_by_inodes(thresholds, room.used_inodes_ratio, lowered_by)
    return max(by_space, by_inodes, key=lambda status: status.rank)


def _level_by_forecast(thresholds: Thresholds, full_in_ms: int | None, stretched: float) -> LogDirStatus:
    if full_in_ms is None:
        return LogDirStatus.ONLINE
    if full_in_ms < thresholds.critical_within_ms * stretched:
        return LogDirStatus.CRITICAL
    return LogDirStatus.FILLING if full_in_ms < thresholds.filling_within_ms * stretched else LogDirStatus.ONLINE


def _level_by_inodes(thresholds: Thresholds, used_ratio: float | None, lowered_by: float) -> LogDirStatus:
    """Return the level by inodes: without any no segment can be created, however much space is left."""
    if used_ratio is None:
        return LogDirStatus.ONLINE
    if used_ratio >= thresholds.saturated_ratio - lowered_by:
        return LogDirStatus.SATURATED
    return LogDirStatus.CRITICAL if used_ratio >= thresholds.critical_ratio - lowered_by else LogDirStatus.ONLINE


def levels(thresholds: Thresholds, total_bytes: int) -> tuple[float, float]:
    """Return the used ratios from which a directory of that size is critical and saturated."""
    critical, saturated = thresholds.critical_ratio, thresholds.saturated_ratio
    if total_bytes > thresholds.large_from_bytes:
        critical = max(critical, 1.0 - thresholds.large_critical_free_bytes / total_bytes)
        saturated = max(saturated, 1.0 - thresholds.large_saturated_free_bytes / total_bytes)
    return critical, saturated


def level(thresholds: Thresholds, total_bytes: int, usable_bytes: int, *, lowered_by: float = 0.0) -> LogDirStatus:
    """Return the level of a used ratio; ``lowered_by`` moves every threshold down by that much.

    A directory above ``large_from_bytes`` is judged by free bytes if that threshold is reached later than the ratio.
    """
    ratio = 1.0 - usable_bytes / total_bytes
    critical, saturated = levels(thresholds, total_bytes)
    if ratio >= saturated - lowered_by:
        return LogDirStatus.SATURATED
    if ratio >= critical - lowered_by:
        return LogDirStatus.CRITICAL
    if ratio >= thresholds.filling_ratio - lowered_by:
        return LogDirStatus.FILLING
    return LogDirStatus.ONLINE


def proposed_level(thresholds: Thresholds, current: LogDirStatus, room: Room) -> LogDirStatus:
    """Return the level of one sample: up at the thresholds, down only one step below them."""
    up, _ = judged_level(thresholds, room)
    if up is current or up.rank > current.rank:
        return up
    down, _ = judged_level(thresholds, room, on_the_way_back=True)
    return down if down.rank < current.rank else current


def debounced_level(current: LogDirStatus, proposals: list[LogDirStatus], samples: int) -> LogDirStatus:
    """Return the level that the last ``samples`` proposals agree on."""
    recent = proposals[-samples:]
    if len(recent) < samples or recent.count(current) == samples:
        return current
    ranks = [proposal.rank for proposal in recent]
    if min(ranks) > current.rank:
        return SPACE_STATUSES[min(ranks)]
    if max(ranks) < current.rank:
        return SPACE_STATUSES[max(ranks)]
    return current


def is_gap(memory: LogDirMemory, at_ms: int, interval_ms: int) -> bool:
    """Tell whether the last sample is so old that the next one decides alone."""
    return memory.sample_at_ms is None or at_ms - memory.sample_at_ms > GAP_POLLS * interval_ms


def growth(before: float | None, grown: Grown, interval_ms: int) -> float:
    """Return the smoothed growth in bytes per second; a growth over several polls has the weight of that many."""
    now = grown.own_bytes / grown.in_ms * 1000
    if before is None:
        return now
    return before + growth_weight(grown.in_ms, interval_ms) * (now - before)


def growth_weight(in_ms: int, interval_ms: int) -> float:
    """Return the weight of the newest growth, which took ``in_ms``, against all before."""
    weight: float = 1 - (1 - GROWTH_SMOOTHING) ** (in_ms / max(interval_ms, 1))
    return weight


def offline_cause(memory: LogDirMemory, thresholds: Thresholds, at_ms: int) -> tuple[Cause, str]:
    """Return the cause of a directory's failure at ``at_ms`` according to its free bytes, and which rule decided.

    Stock Kafka treats a full disk like any other I/O error (Kafka 4.3.1 ``LogDirFailureChannel``), so the free bytes
    seen before the failure indicate a full one, as in KIP-928. Free space says nothing about the disk.
    """
    if memory.sample_at_ms is None or memory.total_bytes is None or memory.usable_bytes is None:
        return Cause.UNKNOWN, "no_sample_before"
    age_ms = at_ms - memory.sample_at_ms
    reserve_bytes = thresholds.reserve_of(memory.total_bytes)
    is_recent = age_ms <= FULL_SAMPLE_POLLS * memory.interval_ms
    if is_recent and memory.usable_bytes <= reserve_bytes:
        return Cause.FULL, "usable_under_reserve"
    grown_bytes = max(0.0, memory.growth_bytes_per_s or 0.0) * age_ms / 1000
    if memory.usable_bytes - grown_bytes <= 0:
        return Cause.FULL, "growth_reached_zero"
    if is_recent:
        return Cause.UNKNOWN, "space_was_left"
    return Cause.UNKNOWN, "sample_too_old"


def halts_broker(memory: BrokerMemory, path: str) -> str | None:
    """Return why the broker halts when this directory fails, None if it continues without it.

    Kafka 4.3.1 halts with the directory of its metadata log and with its last one (``ReplicaManager`` and
    ``LogManager.handleLogDirFailure``). With ZooKeeper there is no metadata log; while such a broker migrates to KRaft
    it halts with any directory (``ReplicaManager`` of 3.7.2 and 3.9.1).
    """
    if has_metadata_log(memory, path):
        return "metadata_dir"
    others = [log_dir.status for other, log_dir in memory.log_dirs.items() if other != path]
    if all(status is LogDirStatus.OFFLINE for status in others):
        return "last_dir"
    known = (log_dir.is_metadata_dir for log_dir in memory.log_dirs.values())
    return "migration" if leaves_zookeeper(memory.metadata_mode, known) else None


def has_metadata_log(memory: BrokerMemory, path: str) -> bool:
    """Tell whether the broker's metadata log is known to lie in a directory; a broker with ZooKeeper has none."""
    return bool(memory.log_dirs[path].is_metadata_dir) and memory.metadata_mode is not MetadataMode.ZOOKEEPER


def offline_severity(partitions: PartitionHealth | None) -> Severity:
    """Return ``page`` when a partition of the broker has no leader or too few in-sync replicas, else ``critical``."""
    if partitions is not None and (partitions.leaderless or partitions.under_min_isr):
        return Severity.PAGE
    return Severity.CRITICAL
