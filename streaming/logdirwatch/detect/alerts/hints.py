"""Parts of the sentences of alerts: what else is known that tells what to do next."""

from collections.abc import Iterator, Sequence

from logdirwatch.detect.state.broker_state import BrokerMemory, LogDirMemory, RemoteCopies
from logdirwatch.text.units import human_bytes
from logdirwatch.text.words import counted, some_of, utc

_NAMED = 3
_LAG_MATTERS_RATIO = 0.01
"""Of what a broker's directories hold: segments that were just closed always wait for a moment."""


def growth(memory: BrokerMemory, log_dir: LogDirMemory, *, takes_new: bool | None) -> Iterator[str]:
    """Yield what goes on filling a directory whatever its producers do."""
    if memory.dead_cleaner_threads:
        yield dead_cleaner(memory.dead_cleaner_threads, "the broker's")
    if (given_up := uncleanable(log_dir)) is not None:
        yield given_up
    if memory.remote_copies is not None:
        yield remote_copies(memory.remote_copies)
    if (lag_bytes := memory.remote_copy_lag_bytes) and lag_bytes >= _LAG_MATTERS_RATIO * _used_bytes(memory):
        yield f"{human_bytes(lag_bytes)} on this broker wait for their copy in remote storage, and stay until then"
    if takes_new and len(memory.log_dirs) > 1:
        cordon = ": cordon it" if log_dir.is_cordoned is not None else ""
        yield f"Kafka may put the broker's next new replica here{cordon}"


def kinds_of_growth(memory: BrokerMemory, log_dir: LogDirMemory) -> list[str]:
    """Return what goes on filling a directory, by name: news for an alert that is open, also when it ends."""
    found = {
        "dead_cleaner": bool(memory.dead_cleaner_threads),
        "remote_copies": memory.remote_copies is not None,
        "uncleanable": uncleanable(log_dir) is not None,
    }
    return [kind for kind, holds in found.items() if holds]


def uncleanable(log_dir: LogDirMemory) -> str | None:
    """Say that partitions of a directory are compacted no more, None while all of them are."""
    named, counted = sorted(log_dir.uncleanable), log_dir.uncleanable_count
    if not named and not counted and not log_dir.uncleanable_bytes:
        return None
    which = some_of(named, _NAMED) if named else "partitions"
    if counted is not None and counted > len(named):
        count = "1 partition" if counted == 1 else f"{counted} partitions"
        which = f"{count} ({which} and more)" if named else count
    much = f" with {human_bytes(log_dir.uncleanable_bytes)} to clean" if log_dir.uncleanable_bytes else ""
    return f"its log cleaner gave up on {which}{much}"


def remote_copies(found: RemoteCopies) -> str:
    """Say that what should be copied away stays."""
    why = f" ({found.text})" if found.text else ""
    return f"copies to remote storage fail (since {utc(found.since_ms)}), so local segments stay on the disk{why}"


def _used_bytes(memory: BrokerMemory) -> int:
    return sum((log_dir.total_bytes or 0) - (log_dir.usable_bytes or 0) for log_dir in memory.log_dirs.values())


def dead_cleaner(threads: int, whose: str = "its") -> str:
    """Say that compaction stands still, or is slower than it should be."""
    count = "a thread" if threads == 1 else f"{threads} threads"
    return f"{count} of {whose} log cleaner died: compacted topics may grow without end"


def hurt(topics: Sequence[str] | None, groups: Sequence[str] | None) -> str:
    """Say whose clients are hurt, as a part of a sentence; nothing while nobody is, or nobody knows."""
    told = [("topics", topics), ("consumer groups", groups)]
    named = [f"{what} {some_of(names, _NAMED)}" for what, names in told if names]
    return f"; hurt: {'; '.join(named)}" if named else ""


def catching_up(memory: BrokerMemory) -> str:
    """Say how many of a broker's replicas have still to catch up now that it serves them again."""
    left = None if memory.partitions is None else memory.partitions.out_of_sync
    if not left:
        return ""
    return f". {counted(left, 'replica')} still catching up: do not restart another broker yet"
