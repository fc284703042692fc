"""Logdirwatch's own queries and heartbeats."""
