"""Rejected records of the queries that write tables, passed from their batches to the reporter."""

import threading
from collections import defaultdict
from collections.abc import Sequence

from logdirwatch.model.evidence.stream import RejectedRows


class Rejects:
    """Rejected rows by query, recorded by its batches and taken by another thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._found: defaultdict[str, list[RejectedRows]] = defaultdict(list)

    def note(self, query: str, found: Sequence[RejectedRows]) -> None:
        """Record the rejected rows of a batch."""
        with self._lock:
            self._found[query].extend(found)

    def take(self, query: str) -> list[RejectedRows]:
        """Return what was recorded since the last call."""
        with self._lock:
            return self._found.pop(query, [])
