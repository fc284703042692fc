"""Monitors the queries of the stream: what they have read, what waits, what was lost, what was rejected."""
