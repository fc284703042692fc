"""What the queries that write tables could not read, handed from their batches to whoever tells of it."""

import threading
from collections import defaultdict
from collections.abc import Sequence

from logdirwatch.model.evidence.stream import RejectedRows


class Rejects:
    """Rejected rows by query, noted by its batches and taken by another thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._found: defaultdict[str, list[RejectedRows]] = defaultdict(list)

    def note(self, query: str, found: Sequence[RejectedRows]) -> None:
        """Take note of what a batch could not read."""
        with self._lock:
            self._found[query].extend(found)

    def take(self, query: str) -> list[RejectedRows]:
        """Return what was noted since the last call."""
        with self._lock:
            return self._found.pop(query, [])
