"""Additional parts of alert texts that help to decide what to do next."""

from collections.abc import Iterator, Sequence

from logdirwatch.detect.state.broker_state import BrokerMemory, LogDirMemory, RemoteCopies, TaskFailure
from logdirwatch.model.broker_tasks import ALTER_LOG_DIRS, DEAD_CLEANER, UNCLEANABLE, task_of
from logdirwatch.text.units import human_bytes
from logdirwatch.text.words import counted, some_of, utc

_NAMED = 3
_LAG_MATTERS_RATIO = 0.01
"""A share of the bytes in a broker's directories: just closed segments always wait for a moment."""


def growth(memory: BrokerMemory, log_dir: LogDirMemory, *, takes_new: bool | None) -> Iterator[str]:
    """Yield what keeps filling a directory independent of its producers."""
    if memory.dead_cleaner_threads:
        yield dead_cleaner(memory.dead_cleaner_threads, "the broker's")
    if (given_up := uncleanable(log_dir)) is not None:
        yield given_up
    if memory.remote_copies is not None:
        yield remote_copies(memory.remote_copies)
    yield from (task(name, failure) for name, failure in _keeping_bytes(memory))
    if (lag_bytes := memory.remote_copy_lag_bytes) and lag_bytes >= _LAG_MATTERS_RATIO * _used_bytes(memory):
        yield f"{human_bytes(lag_bytes)} on this broker wait to be copied to remote storage, and stay until then"
    if takes_new and len(memory.log_dirs) > 1:
        cordon = ": cordon it" if log_dir.is_cordoned is not None else ""
        yield f"Kafka may put the broker's next new replica here{cordon}"


def kinds_of_growth(memory: BrokerMemory, log_dir: LogDirMemory) -> list[str]:
    """Return what keeps filling a directory, by name: a change makes a revision of an open alert due."""
    found = {
        DEAD_CLEANER: bool(memory.dead_cleaner_threads),
        "remote_copies": memory.remote_copies is not None,
        UNCLEANABLE: uncleanable(log_dir) is not None,
    }
    return [*(kind for kind, holds in found.items() if holds), *(name for name, _ in _keeping_bytes(memory))]


def _keeping_bytes(memory: BrokerMemory) -> list[tuple[str, TaskFailure]]:
    return [(name, failure) for name, failure in sorted(memory.tasks.items()) if task_of(name).keeps_bytes]


def task(name: str, failure: TaskFailure) -> str:
    """Say that a task of the broker fails or a thread of it died, what stays undone, and the line that says so."""
    known = task_of(name)
    if not known.is_task:
        return f"{known.undone} (since {utc(failure.since_ms)}; {failure.text})"
    what = f"the broker's task {name} fails" if known.repeats else f"the broker's thread {name} died"
    return f"{what} (since {utc(failure.since_ms)}), so {known.undone}: {failure.text}"


def dead_copies(memory: BrokerMemory) -> str:
    """Say that a thread which copies replicas between a broker's directories died; empty if none did."""
    dead = [(name, failure) for name, failure in sorted(memory.tasks.items()) if name.startswith(ALTER_LOG_DIRS)]
    return "".join(f"; {task(name, failure)}; only a restart of the broker starts it again" for name, failure in dead)


def uncleanable(log_dir: LogDirMemory) -> str | None:
    """Say that partitions of a directory are no longer compacted, None while all of them are."""
    named, counted = sorted(log_dir.uncleanable), log_dir.uncleanable_count
    if not named and not counted and not log_dir.uncleanable_bytes:
        return None
    which = some_of(named, _NAMED) if named else "partitions"
    if counted is not None and counted > len(named):
        count = "1 partition" if counted == 1 else f"{counted} partitions"
        which = f"{count} ({', '.join(named[:_NAMED])} among them)" if named else count
    much = f" with {human_bytes(log_dir.uncleanable_bytes)} to clean" if log_dir.uncleanable_bytes else ""
    return f"its log cleaner gave up on {which}{much}"


def remote_copies(found: RemoteCopies) -> str:
    """Say that segments cannot be copied to remote storage."""
    why = f" ({found.text})" if found.text else ""
    return f"copies to remote storage fail (since {utc(found.since_ms)}), so local segments stay on the disk{why}"


def _used_bytes(memory: BrokerMemory) -> int:
    return sum((log_dir.total_bytes or 0) - (log_dir.usable_bytes or 0) for log_dir in memory.log_dirs.values())


def dead_cleaner(threads: int, whose: str = "its") -> str:
    """Say that compaction has stopped, or is slower than it should be."""
    count = "a thread" if threads == 1 else f"{threads} threads"
    return f"{count} of {whose} log cleaner died: compacted topics may grow indefinitely"


def hurt(topics: Sequence[str] | None, groups: Sequence[str] | None) -> str:
    """Name the impacted topics and consumer groups, as a part of a sentence; empty if none are, or they are unknown."""
    told = [("topics", topics), ("consumer groups", groups)]
    named = [f"{what} {some_of(names, _NAMED)}" for what, names in told if names]
    return f"; impacted: {'; '.join(named)}" if named else ""


def catching_up(memory: BrokerMemory) -> str:
    """Say how many of a broker's replicas are still catching up after its return."""
    left = None if memory.partitions is None else memory.partitions.out_of_sync
    if not left:
        return ""
    return f". {counted(left, 'replica')} still catching up: do not restart another broker yet"
