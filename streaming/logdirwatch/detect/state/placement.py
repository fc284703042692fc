"""Where Kafka places the next new replica of a broker, which may fill a directory."""

from collections.abc import Mapping
from typing import Protocol

from logdirwatch.model.vocabulary import SPACE_STATUSES, LogDirStatus


class Counted(Protocol):
    """A log directory and its contents; None when unknown."""

    @property
    def status(self) -> str:
        """Its status."""

    @property
    def replica_count(self) -> int | None:
        """The replicas in it at the last scan, copies in progress left out."""

    @property
    def future_bytes(self) -> int | None:
        """The bytes of copies in progress."""

    @property
    def is_cordoned(self) -> bool | None:
        """Whether it gets no new replicas; None before Kafka 4.3."""


def next_log_dirs(log_dirs: Mapping[str, Counted]) -> list[str] | None:
    """Return which of a broker's directories may get its next new replica; None when unknown.

    Kafka chooses the one with the fewest logs, however full, of those that are online and not cordoned (Kafka 4.3.1
    ``LogManager.nextLogDirs``, KIP-1066). It counts copies within the broker as well, of which only the bytes are
    known here: so while there are any, the answer is unknown.
    """
    serving = {path: log_dir for path, log_dir in log_dirs.items() if log_dir.status != LogDirStatus.OFFLINE}
    if any(log_dir.status not in SPACE_STATUSES or log_dir.future_bytes != 0 for log_dir in serving.values()):
        return None
    counts = {path: log_dir.replica_count for path, log_dir in serving.items() if not log_dir.is_cordoned}
    known = [count for count in counts.values() if count is not None]
    if len(known) < len(counts):
        return None
    return sorted(path for path, count in counts.items() if count == min(known))
