"""A broker's log: bytes to entries, entries to findings."""
