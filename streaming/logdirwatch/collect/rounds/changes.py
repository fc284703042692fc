"""What changed in a broker's directories between two polls of the same collector. Pure.

::

    (not seen) --any--> remembered, no event          a collector that starts tells no news
    healthy  --error 56--> failed     LogDirFailure
    failed   --no error--> healthy    LogDirRecovered
    above the reserve --usable bytes under it--> below    LogDirSaturated

Any other answer (a timeout, another error code) is no news: what was remembered stays.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

from logdirwatch.collect.kafka.answers import LogDirAnswer
from logdirwatch.model.vocabulary import KAFKA_STORAGE_ERROR, POLLED_FAILURE, EventName

ReserveOf = Callable[[str, int], int]


@dataclass(frozen=True)
class Seen:
    """What the last poll with an answer reported about a directory; None if none did yet."""

    is_failed: bool | None = None
    is_saturated: bool | None = None


@dataclass(frozen=True)
class Change:
    """One event to send, with its text."""

    event: EventName
    log_dir: LogDirAnswer
    detail: str


def changes(
    seen: Mapping[str, Seen], log_dirs: Iterable[LogDirAnswer], reserve_of: ReserveOf
) -> tuple[dict[str, Seen], list[Change]]:
    """Return the new memory after one good answer, and the events that follow.

    ``reserve_of(path, total_bytes)`` is the number of free bytes below which a directory counts as full.
    """
    after = dict(seen)
    events: list[Change] = []
    for log_dir in log_dirs:
        before = seen.get(log_dir.path, Seen())
        now = _now(before, log_dir, reserve_of)
        after[log_dir.path] = now
        events += _events(before, now, log_dir)
    return after, events


def _now(before: Seen, log_dir: LogDirAnswer, reserve_of: ReserveOf) -> Seen:
    if log_dir.error_code == KAFKA_STORAGE_ERROR:
        return replace(before, is_failed=True)
    if log_dir.error_code != 0:
        return before
    if log_dir.total_bytes is None or log_dir.usable_bytes is None:
        return replace(before, is_failed=False)
    return Seen(is_failed=False, is_saturated=log_dir.usable_bytes < reserve_of(log_dir.path, log_dir.total_bytes))


def _events(before: Seen, now: Seen, log_dir: LogDirAnswer) -> Iterable[Change]:
    if before.is_failed is False and now.is_failed:
        yield Change(EventName.LOG_DIR_FAILURE, log_dir, POLLED_FAILURE)
    if before.is_failed and now.is_failed is False:
        yield Change(EventName.LOG_DIR_RECOVERED, log_dir, "DescribeLogDirs answers without an error again")
    if before.is_saturated is False and now.is_saturated:
        detail = f"{log_dir.usable_bytes} of {log_dir.total_bytes} bytes are usable, less than the reserve"
        yield Change(EventName.LOG_DIR_SATURATED, log_dir, detail)
